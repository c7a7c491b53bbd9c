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
        serde_json::to_string(&full(entry, 0.95, None)).unwrap(),
        format!(
            r#"{{"name":"s:t","server":"s","description":"Does it. Well.","inputSchema":{schema},"score":0.95,"annotations":{annotations},"call_with":"call_tool_read"}}"#
        )
    );
    assert_eq!(
        serde_json::to_string(&described(entry, None)).unwrap(),
        format!(
            r#"{{"name":"s:t","server":"s","title":"The T","description":"Does it. Well.","inputSchema":{schema},"outputSchema":{{"q":1.0}},"annotations":{annotations},"call_with":"call_tool_read","_meta":{{"k":[1]}}}}"#
        )
    );
    assert_eq!(
        serde_json::to_string(&compact(entry, 0.5, None)).unwrap(),
        r#"{"name":"s:t","score":0.5,"annotations":{"readOnlyHint":true},"effect":"read","call_with":"call_tool_read","signature":"t(b: string)","summary":"Does it."}"#
    );
    let plain = snapshot.find("s", "plain").unwrap();
    assert_eq!(plain.call_with(), Operation::Write);
    assert_eq!(
        serde_json::to_string(&described(plain, None)).unwrap(),
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
    let announced = entry.deprecation();
    assert_eq!(json!(full(entry, 0.5, announced))["deprecated"], expected);
    assert_eq!(json!(described(entry, announced))["deprecated"], expected);
    let line = json!(compact(entry, 0.5, announced));
    assert_eq!(line["deprecated"], expected);
    assert_eq!(line["signature"], "find-cards() !deprecated→search-cards");
    let other = snapshot.find("cards", "search-cards").unwrap();
    let line = json!(compact(other, 0.5, other.deprecation()));
    assert_eq!(line.get("deprecated"), None);
}

#[test]
fn a_deprecation_named_a_replacement_that_the_token_may_not_see() {
    let replaced = |name: &str, replacement: &str| {
        tool(
            &json!({"name": name, "inputSchema": {}, "_meta": {"dev.mcpproxy/definition":
            {"deprecated": {"since": "1.2.0", "replacement": replacement}}}}),
        )
    };
    let tools = vec![
        replaced("find-cards", "search-cards"),
        replaced("draw-card", "decks:draw"),
        replaced("lost-card", "gone"),
        named("search-cards", "", &Value::Null),
    ];
    let snapshot = catalog(vec![
        ("cards", tools),
        ("decks", vec![named("draw", "", &Value::Null)]),
    ]);
    let snapshot = snapshot.snapshot();
    let shown = |name: &str, rights: &Rights| {
        let entry = snapshot.find("cards", name).unwrap();
        let known = snapshot.deprecation_for(entry, rights);
        let line = json!(compact(entry, 0.5, known.as_ref()));
        (
            line["deprecated"].clone(),
            line["signature"].as_str().unwrap().to_owned(),
        )
    };
    let named_as = |replacement: &str| json!({"since": "1.2.0", "replacement": replacement});
    let whole = bounded(&["cards", "decks"], &[]);
    let part = bounded(
        &["cards"],
        &["cards:find-cards", "cards:draw-card", "cards:lost-card"],
    );
    for (name, replacement) in [
        ("find-cards", "cards:search-cards"),
        ("draw-card", "decks:draw"),
    ] {
        assert_eq!(shown(name, &whole).0, named_as(replacement), "{name}");
        assert_eq!(
            shown(name, &Rights::Administrator).0,
            named_as(replacement),
            "{name}"
        );
        let unnamed = (json!({"since": "1.2.0"}), format!("{name}() !deprecated"));
        assert_eq!(shown(name, &part), unnamed, "{name}");
    }
    // What is not there cannot be told from what is withheld.
    assert_eq!(shown("lost-card", &whole).0, json!({"since": "1.2.0"}));
}
