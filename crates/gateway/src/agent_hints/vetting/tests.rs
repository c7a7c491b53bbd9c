use mcpproxy_catalog::{Catalog, Operator};
use mcpproxy_policy::{AgentToken, TokenGrant};
use mcpproxy_wire::{ListedKind, Offerings, ToolDefinition};
use serde_json::json;

use super::*;

fn catalog() -> Catalog {
    let tool = |name: &str, annotations: Value| {
        let definition = json!({ "name": name, "inputSchema": {}, "annotations": annotations });
        ToolDefinition::parse(&Json::of(&definition)).unwrap()
    };
    let reads = json!({ "readOnlyHint": true });
    let catalog = Catalog::new();
    let disabled = Operator {
        enabled: false,
        ..Operator::default()
    };
    catalog.configure(
        [
            ("cards".to_owned(), Operator::default()),
            ("other".to_owned(), Operator::default()),
            ("off".to_owned(), disabled),
        ]
        .into(),
    );
    let tools = vec![
        tool("get-card", reads.clone()),
        tool("cards:odd", json!({ "destructiveHint": true })),
    ];
    catalog.replace("cards", Offerings::default().with(ListedKind::Tool, tools));
    let tools = vec![
        tool("get-card", json!({})),
        tool("only-here", reads.clone()),
    ];
    catalog.replace("other", Offerings::default().with(ListedKind::Tool, tools));
    catalog.replace(
        "off",
        Offerings::default().with(ListedKind::Tool, vec![tool("get-card", reads)]),
    );
    catalog
}

#[test]
fn an_action_is_a_tool_of_its_server_or_one_named_in_full() {
    let callable = |name: &str, call_with| Some((name.to_owned(), call_with));
    let table = [
        ("get-card", callable("cards:get-card", Operation::Read)),
        (
            "cards:get-card",
            callable("cards:get-card", Operation::Read),
        ),
        (
            "other:get-card",
            callable("other:get-card", Operation::Write),
        ),
        (
            "cards:odd",
            callable("cards:cards:odd", Operation::Destructive),
        ),
        ("only-here", None),
        ("off:get-card", None),
        ("gone:get-card", None),
        ("", None),
        (":", None),
    ];
    let snapshot = catalog().snapshot();
    for (action, expected) in table {
        assert_eq!(
            resolve(&snapshot, "cards", action, &Rights::Administrator),
            expected,
            "{action}"
        );
    }
}

fn decoded_hints(result: &CallResult) -> Value {
    hints_of(result).map_or(Value::Null, |(_, hints)| hints.to_value())
}

#[track_caller]
fn check(sent: &'static str, expected: &str, is_warned: bool) {
    let result = CallResult::parse(Json::parse(sent).unwrap()).unwrap();
    let hints = decoded_hints(&result);
    let (result, warning) = vetted(
        result,
        hints,
        "cards",
        &catalog().snapshot(),
        &Rights::Administrator,
    );
    assert_eq!(result.json().text(), expected);
    assert_eq!(warning.is_some(), is_warned);
}

#[test]
fn only_the_hints_of_a_result_change() {
    check(
        r#"{ "content":[{"n":1e400}], "structuredContent": {"data":{"big":18446744073709551617, "x":1.10},"agentHints":{ "confidence": 0.90, "suggestedNextActions":[{"action":"get-card","priority":"low"},{"action":"gone","priority":"low"}],"odd":[ 1e400 , {"a":1,"a":2}], "dependencies":[ ]},"metadata":{ }} ,"isError":false}"#,
        r#"{ "content":[{"n":1e400}], "structuredContent": {"data":{"big":18446744073709551617, "x":1.10},"agentHints":{"confidence":0.90,"suggestedNextActions":[{"action":"get-card","priority":"low","tool":"cards:get-card","call_with":"call_tool_read"}],"odd":[ 1e400 , {"a":1,"a":2}],"dependencies":[ ]},"metadata":{ }} ,"isError":false}"#,
        true,
    );
    for untouched in [
        r#"{"content":[ ]}"#,
        r#"{"structuredContent":{"agentHints": null}}"#,
        r#"{"structuredContent":{"agentHints":[ 1.0 ]}}"#,
        r#"{"structuredContent":[{"agentHints":{}}]}"#,
        r#"{"structuredContent":null}"#,
    ] {
        check(untouched, untouched, false);
    }
}

#[test]
fn a_key_given_twice_hides_nothing() {
    check(
        r#"{"structuredContent":{"agentHints":{"suggestedNextActions":[{"action":"gone","priority":"low"}]},"agentHints":{}}}"#,
        r#"{"structuredContent":{"agentHints":{},"agentHints":{}}}"#,
        false,
    );
    check(
        r#"{"structuredContent":{"agentHints":{"suggestedNextActions":[{"action":"gone","priority":"low"}],"suggestedNextActions":[]}}}"#,
        r#"{"structuredContent":{"agentHints":{"suggestedNextActions":[]}}}"#,
        false,
    );
    check(
        r#"{"structuredContent":{"agentHints":{"preferenceAlignment":[{"action":"gone","action":"get-card"}]}}}"#,
        r#"{"structuredContent":{"agentHints":{"preferenceAlignment":[{"action":"get-card"}]}}}"#,
        false,
    );
}

#[test]
fn res_action_names_of_tools_become_identifiers_in_kebab_case() {
    for (name, expected) in [
        ("create_issue", "create-issue"),
        ("get-card", "get-card"),
        ("listCards", "list-cards"),
        ("readURL", "read-url"),
        ("__a..b__", "a-b"),
        ("v2.Search Files", "v2-search-files"),
        ("Übersetze", "übersetze"),
        ("_", "call-tool"),
    ] {
        assert_eq!(kebab_case(name), expected);
    }
}

#[test]
fn the_text_of_a_built_in_service_named_steps_that_the_token_may_not_take() {
    let structured = json!({
        "data": { "id": 1.5 },
        "agentHints": {
            "suggestedNextActions": [
                { "action": "get-card", "priority": "low", "description": "Reads it" },
                { "action": "other:get-card", "priority": "high" },
                { "action": "gone", "priority": "high" },
            ],
            "warnings": [],
            "confidence": 0.5,
            "sourceQuality": "high",
            "validityPeriod": "short",
        },
    });
    let answer = json!({ "content": wire::content(&structured), "structuredContent": structured });
    let grant = TokenGrant {
        servers: Some(vec!["cards".to_owned()]),
        ..TokenGrant::default()
    };
    let token = Rights::Token(Arc::new(AgentToken {
        id: "t".into(),
        name: "t".into(),
        grant,
    }));
    let snapshot = catalog().snapshot();
    let vetted = |rights: &Rights| {
        let result = CallResult::parse(Json::of(&answer)).unwrap();
        let hints = decoded_hints(&result);
        vetted_own(result, hints, "cards", &snapshot, rights)
            .json()
            .to_value()
    };
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    let shown = vetted(&token);
    assert_eq!(
        text(&shown),
        "{\"id\":1.5}\n\nNext steps:\n- get-card (low): Reads it\n\nConfidence 0.5, source quality high, valid: short."
    );
    let named = shown.to_string();
    assert!(
        !named.contains("other:") && !named.contains("gone"),
        "{named}"
    );
    let all = text(&vetted(&Rights::Administrator));
    assert!(
        all.contains("other:get-card") && !all.contains("gone"),
        "{all}"
    );
}
