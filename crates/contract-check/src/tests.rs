//! Good documents have nothing wrong with them, and every rule has bad ones.

mod checklist;
mod definition;
mod result;

use serde_json::{Value, json};

use mcpproxy_contract::{ContractViolation, Rule};

/// A tool that keeps every rule.
fn good_tool() -> Value {
    let description = "Reads one card by its id. Use when you know the id and need the text. \
                       Returns the card with both sides. For example: show the answer of a card.";
    json!({
        "name": "get-card",
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {
                "cardId": { "type": "string", "pattern": "^card_[0-9]+$", "description": "The id of the card" },
                "side": { "enum": ["front", "back"], "description": "Only this side" },
            },
            "required": ["cardId"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true },
        "_meta": { "dev.mcpproxy/definition": {
            "name": "get-card",
            "description": description,
            "version": "1.0.0",
            "permissions": ["cards:read"],
            "category": "query",
            "responseTime": "fast",
            "cacheable": true,
            "cacheTTL": 3600,
            "idempotent": true,
            "examples": [{
                "description": "Get a card by its id",
                "params": { "cardId": "card_123" },
                "expectedResult": { "id": "card_123" },
            }],
            "tags": ["cards", "content"],
        }},
    })
}

/// A result that keeps every rule.
fn good_result() -> Value {
    json!({
        "data": { "id": "card_123" },
        "agentHints": {
            "suggestedNextActions": [{ "action": "review-card", "priority": "high", "confidence": 0.92 }],
            "relatedResources": [{ "type": "deck", "id": "deck_456", "label": "Math", "relevance": 1.0 }],
            "confidence": 0.95,
            "sourceQuality": "high",
            "validityPeriod": "short",
            "contextNeeded": [],
            "assumptions": ["the review was attentive"],
            "riskFactors": [{ "type": "user-experience", "severity": "low", "description": "fatigue", "probability": 0.2, "impact": 0.1 }],
            "dependencies": [{ "action": "adjust-difficulty", "dependsOn": ["review-card"], "type": "recommended" }],
            "estimatedImpact": { "benefit": 0.85, "effort": 0.2, "roi": 4.25 },
            "preferenceAlignment": [{ "action": "review-card", "preference": "continuous learning", "alignment": "strong", "score": 0.9 }],
            "reasoning": "confidence 0.95: completeness 1.00 (1 of 1).",
        },
        "metadata": {
            "toolVersion": "1.0.0",
            "timestamp": "2026-01-31T12:00:00.123Z",
            "executionTime": 1.5,
            "serviceVersion": "0.3.0",
        },
    })
}

/// The document with one place replaced, or removed.
fn with(mut document: Value, pointer: &str, value: Option<Value>) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
    // What names a key with a slash in it is written as JSON Pointer wants it.
    let key = key.replace("~1", "/");
    let parent = document.pointer_mut(parent).expect("the place exists");
    match (parent, value) {
        (Value::Object(fields), Some(value)) => {
            fields.insert(key, value);
        }
        (Value::Object(fields), None) => {
            fields.remove(&key).expect("what is removed was there");
        }
        (Value::Array(items), Some(value)) => {
            let index: usize = key.parse().expect("an index");
            items[index] = value;
        }
        (parent, _) => panic!("{parent} has no parts"),
    }
    document
}

#[track_caller]
fn expect_rule(found: &[ContractViolation], rule: Rule, part: &str) {
    assert!(
        found
            .iter()
            .any(|one| one.rule == rule && one.message.contains(part)),
        "no violation of {rule:?} with {part:?} in {found:#?}"
    );
    assert!(
        found.iter().all(|one| one.rule == rule),
        "more than {rule:?} in {found:#?}"
    );
}
