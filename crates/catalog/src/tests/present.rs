//! How tools are shown.

use super::*;
use crate::present::{compact, described, full};

#[test]
fn presentations_have_their_fields_in_order_and_bytes_as_sent() {
    let sent = r#"{"name":"t","title":"The T","description":"Does it. Well.",
        "inputSchema":{"z":18446744073709551616,"properties":{"b":{"type":"string"}},"required":["b"]},
        "outputSchema":{"q":1.0},"annotations":{"x":1.50,"readOnlyHint":false},"_meta":{"k":[1]}}"#;
    let parsed = ToolDefinition::parse(&Json::parse(sent.to_owned()).unwrap()).unwrap();
    let catalog = catalog(vec![("s", vec![parsed, named("plain", "", &Value::Null)])]);
    configure(
        &catalog,
        "s",
        overrides(&json!({"readOnlyHint": true}), true),
    );
    let snapshot = catalog.snapshot();
    let entry = snapshot.find("s", "t").unwrap();
    let schema =
        r#"{"z":18446744073709551616,"properties":{"b":{"type":"string"}},"required":["b"]}"#;
    let annotations = r#"{"x":1.50,"readOnlyHint":true}"#;
    assert_eq!(
        serde_json::to_string(&full(entry, 0.95)).unwrap(),
        format!(
            r#"{{"name":"s:t","server":"s","description":"Does it. Well.","inputSchema":{schema},"score":0.95,"annotations":{annotations},"call_with":"call_tool_read"}}"#
        )
    );
    assert_eq!(
        serde_json::to_string(&described(entry)).unwrap(),
        format!(
            r#"{{"name":"s:t","server":"s","title":"The T","description":"Does it. Well.","inputSchema":{schema},"outputSchema":{{"q":1.0}},"annotations":{annotations},"call_with":"call_tool_read","_meta":{{"k":[1]}}}}"#
        )
    );
    assert_eq!(
        serde_json::to_string(&compact(entry, 0.5)).unwrap(),
        r#"{"name":"s:t","score":0.5,"call_with":"call_tool_read","signature":"t(b: string)","summary":"Does it."}"#
    );
    let plain = snapshot.find("s", "plain").unwrap();
    assert_eq!(plain.call_with(), Operation::Write);
    assert_eq!(
        serde_json::to_string(&described(plain)).unwrap(),
        r#"{"name":"s:plain","server":"s","description":"","inputSchema":{},"call_with":"call_tool_write"}"#
    );
}

#[test]
fn a_deprecated_tool_was_shown_like_any_other() {
    let sent = json!({"name": "find-cards", "description": "Finds cards.", "inputSchema": {},
        "_meta": {"dev.mcpproxy/definition": {"deprecated":
            {"since": "1.2.0", "replacement": "search-cards", "removalDate": "2027-06-01", "why": "slow"}}}});
    let catalog = catalog(vec![(
        "cards",
        vec![tool(&sent), named("search-cards", "", &Value::Null)],
    )]);
    let snapshot = catalog.snapshot();
    let entry = snapshot.find("cards", "find-cards").unwrap();
    let expected =
        json!({"since": "1.2.0", "replacement": "cards:search-cards", "removalDate": "2027-06-01"});
    assert_eq!(json!(full(entry, 0.5))["deprecated"], expected);
    assert_eq!(json!(described(entry))["deprecated"], expected);
    let line = json!(compact(entry, 0.5));
    assert_eq!(line["deprecated"], expected);
    assert_eq!(line["signature"], "find-cards() !deprecated→search-cards");
    let other = snapshot.find("cards", "search-cards").unwrap();
    assert_eq!(json!(compact(other, 0.5)).get("deprecated"), None);
}
