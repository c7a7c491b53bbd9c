//! (helper) A scripted service that announces the contract, and what every result of the contract has.

use mcpproxy_tests::Fixture;
use serde_json::{Value, json};

use crate::PROGRAMS;

/// Fields that agent hints always have.
const REQUIRED_HINTS: [&str; 11] = [
    "suggestedNextActions",
    "relatedResources",
    "confidence",
    "sourceQuality",
    "validityPeriod",
    "contextNeeded",
    "assumptions",
    "riskFactors",
    "dependencies",
    "estimatedImpact",
    "preferenceAlignment",
];

/// A query that announces the contract, with more in its definition.
pub(crate) fn query(name: &str, more: &Value) -> Value {
    tool(name, "query", &json!({ "readOnlyHint": true }), more)
}

/// A mutation that announces the contract, with more in its definition.
pub(crate) fn mutation(name: &str, more: &Value) -> Value {
    let annotations = json!({ "readOnlyHint": false, "destructiveHint": false });
    tool(name, "mutation", &annotations, more)
}

fn tool(name: &str, category: &str, annotations: &Value, more: &Value) -> Value {
    let description = format!(
        "Does what {name} says. Use when that is wanted. Returns a card. For example: learn a word."
    );
    let mut definition = json!({
        "name": name, "description": description, "version": "1.4.2", "permissions": [],
        "category": category, "responseTime": "fast", "cacheable": false, "idempotent": true,
        "examples": [{ "description": "A card", "params": { "cardId": "card_1" }, "expectedResult": { "id": "card_1" } }],
        "tags": ["cards"],
    });
    for (key, value) in more.as_object().expect("more is an object") {
        definition[key] = value.clone();
    }
    json!({
        "name": name, "description": description, "annotations": annotations,
        "inputSchema": {
            "type": "object",
            "properties": { "cardId": { "type": "string", "pattern": "^card_[0-9]+$", "description": "The id" } },
            "required": ["cardId"], "additionalProperties": false,
        },
        "_meta": { "dev.mcpproxy/definition": definition },
    })
}

/// A server with these tools, each of which answers as the contract wants it, with these suggestions.
pub(crate) fn service(tools: &[Value], suggestions: &Value) -> Fixture {
    let texts: Vec<String> = tools.iter().map(Value::to_string).collect();
    let answer = answer(suggestions);
    let fixture = Fixture::new(PROGRAMS).tools(&texts);
    tools.iter().fold(fixture, |fixture, tool| {
        fixture.result(tool["name"].as_str().expect("a name"), &answer)
    })
}

fn answer(suggestions: &Value) -> String {
    let structured = json!({
        "data": { "id": "card_1" },
        "agentHints": {
            "suggestedNextActions": suggestions, "relatedResources": [], "confidence": 0.9, "sourceQuality": "high",
            "validityPeriod": "short", "contextNeeded": [], "assumptions": [], "riskFactors": [], "dependencies": [],
            "estimatedImpact": { "benefit": 0.5, "effort": 0.5, "roi": 1.0 }, "preferenceAlignment": [],
            "reasoning": "confidence 0.9: match 0.90 (9 of 10).",
        },
        "metadata": {
            "toolVersion": "1.4.2", "timestamp": "2026-01-31T12:00:00Z", "executionTime": 1.5, "serviceVersion": "0.3.0",
        },
    });
    json!({ "content": [{ "type": "text", "text": "a card" }], "structuredContent": structured })
        .to_string()
}

/// Checks that an answer is an error of this code with everything that a result of the contract has.
#[track_caller]
pub(crate) fn check_whole(answer: &Value, code: &str) {
    let error = &answer["error"];
    assert_eq!(error["code"], code, "{answer}");
    assert!(error["message"].is_string(), "{answer}");
    assert!(error["category"].is_string(), "{answer}");
    assert!(error["retryable"].is_boolean(), "{answer}");
    assert!(error["details"].is_object(), "{answer}");
    assert!(error["request_id"].is_string(), "{answer}");
    for field in REQUIRED_HINTS {
        assert!(!answer["agentHints"][field].is_null(), "{field}: {answer}");
    }
    let confidence = answer["agentHints"]["confidence"].as_f64();
    assert!(
        confidence.is_some_and(|one| (0.0..=1.0).contains(&one)),
        "{answer}"
    );
    let metadata = &answer["metadata"];
    for field in ["toolVersion", "timestamp", "serviceVersion"] {
        assert!(metadata[field].is_string(), "{field}: {answer}");
    }
    assert!(metadata["executionTime"].is_number(), "{answer}");
    assert_eq!(metadata["correlationId"], error["request_id"], "{answer}");
    assert!(answer.get("data").is_none(), "{answer}");
}

/// Checks that a `CallToolResult` is a refusal with a whole result of the contract, whose text is the message alone.
#[track_caller]
pub(crate) fn check_refused(result: &Value, code: &str) {
    assert_eq!(result["isError"], true, "{result}");
    check_whole(&result["structuredContent"], code);
    let message = &result["structuredContent"]["error"]["message"];
    let text = json!([{ "type": "text", "text": message }]);
    assert_eq!(result["content"], text, "{result}");
}

/// Tools that an answer suggests, each with the action and the variant to call it with.
pub(crate) fn suggested(answer: &Value) -> Vec<[&str; 3]> {
    let actions = answer["agentHints"]["suggestedNextActions"].as_array();
    let actions = actions
        .unwrap_or_else(|| panic!("no actions: {answer}"))
        .iter();
    let fields = ["action", "tool", "call_with"];
    actions
        .map(|action| fields.map(|name| action[name].as_str().unwrap_or_default()))
        .collect()
}
