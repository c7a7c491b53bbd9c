use mcpproxy_catalog::{Catalog, Operator};
use mcpproxy_wire::{ListedKind, Offerings, ToolDefinition};

use super::*;

fn result(text: &'static str) -> CallResult {
    CallResult::parse(Json::parse(text).unwrap()).unwrap()
}

#[test]
fn data_is_not_read_and_all_else_is() {
    let table = [
        (r#"{"data":null}"#, json!({ "data": null })),
        (
            r#"{"data":{"n":1e400},"agentHints":{"confidence":1},"zeta":1}"#,
            json!({ "data": true, "agentHints": { "confidence": 1 } }),
        ),
        (
            r#"{"error":{"code":"A"},"metadata":[]}"#,
            json!({ "error": { "code": "A" }, "metadata": [] }),
        ),
        ("{}", json!({})),
        ("[1]", Value::Null),
    ];
    for (structured, expected) in table {
        assert_eq!(outline(Some(&Json::parse(structured).unwrap())), expected);
    }
    assert_eq!(outline(None), Value::Null);
}

#[test]
fn a_refusal_names_what_is_broken_and_what_may_have_happened() {
    let catalog = Catalog::new();
    catalog.configure([("cards".to_owned(), Operator::default())].into());
    let tool = json!({ "name": "add-card", "inputSchema": {} });
    let tools = vec![ToolDefinition::parse(&Json::of(&tool)).unwrap()];
    catalog.replace("cards", Offerings::default().with(ListedKind::Tool, tools));
    let snapshot = catalog.snapshot();
    let entry = snapshot.find("cards", "add-card").unwrap();
    let answer = result(
        r#"{"content":[{"type":"text","text":"no\nroom"}],"structuredContent":{},"isError":true}"#,
    );
    let found = check::result(&json!({}));
    let write = refusal(entry, Operation::Write, &answer, &found);
    assert_eq!(
        write.message,
        "Server 'cards' broke the tool contract that 'cards:add-card' announces: \
         the result has neither data nor error; it must have exactly one of the two; the result has no agentHints; \
         the result has no metadata. The call was sent and may have taken effect; check before repeating it."
    );
    assert_eq!(write.details["upstream_message"], "no room");
    assert_eq!(
        write.details["contract_violations"][1]["rule"],
        "hints-present"
    );
    assert!(!write.retryable);
    let read = refusal(entry, Operation::Read, &answer, &found);
    assert!(
        read.message.ends_with("as a read it is safe to repeat."),
        "{}",
        read.message
    );
}

#[test]
fn messages_are_short_and_on_one_line() {
    let violation = |message: String| ContractViolation {
        tool: String::new(),
        rule: Rule::HintsForm,
        message,
    };
    let many: Vec<ContractViolation> = (0..5)
        .map(|number| violation(format!("m{number}\n")))
        .collect();
    assert_eq!(named(&many, 3), "m0 ; m1 ; m2 ; and 2 more");
    let long = named(&[violation("é".repeat(10_000))], 3);
    assert_eq!(long.chars().count(), TEXT_LIMIT + 1);
}
