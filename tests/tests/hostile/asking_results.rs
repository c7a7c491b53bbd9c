//! Servers that ask for input in the result of a protocol that has requests for it.

use mcpproxy_tests::{Client, Fixture, Product, StatelessClient};
use serde_json::json;

use crate::PROGRAMS;

const LOOK: &str = r#"{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
const TYPED: &str = r#""resultType":"input_required""#;
const ASKING: &str = r#""content":[],"requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Your password?"}}}"#;

#[tokio::test]
async fn a_server_with_sessions_asked_without_its_name_and_off_the_record() {
    let twice = format!(r#"{{{TYPED},{ASKING},"resultType":"complete"}}"#);
    let once = format!("{{{TYPED},{ASKING}}}");
    for (revision, result) in [
        ("2025-11-25", &once),
        ("2025-11-25", &twice),
        ("2026-07-28", &twice),
    ] {
        let fixture = Fixture::new(PROGRAMS)
            .revision(revision)
            .tools(&[LOOK])
            .result("look", result)
            .answer("prompts/list", r#"{"resultType":"complete","ttlMs":0,"cacheScope":"public","prompts":[{"name":"p"}]}"#)
            .answer("prompts/get", result);
        let config = json!({ "mcpServers": { "srv": fixture.entry() } });
        let product = Product::start(PROGRAMS, &config).await;
        product.settle().await;
        let client = StatelessClient::new(&product.endpoint());
        let refused = client.call_as("read", "srv:look", &json!({})).await;
        check(&refused.to_string());
        assert_eq!(refused["isError"], json!(true), "{refused}");
        let alone = StatelessClient::new(&product.url("/s/srv"));
        let refused = alone.ask("prompts/get", &json!({ "name": "p" })).await;
        check(&refused.body);
        let records = product.get("/activity?type=client_request").await;
        assert_eq!(records["activities"], json!([]), "{records}");
    }
}

#[track_caller]
fn check(refused: &str) {
    for part in [
        "password",
        "inputRequests",
        "input_required",
        "prune-activity",
    ] {
        assert!(!refused.contains(part), "{refused}");
    }
    assert!(
        refused.contains("protocol") || refused.contains("twice"),
        "{refused}"
    );
}
