//! Spellings of configured secrets, and values of the configuration that are no secrets.

use mcpproxy_tests::{Client, Fixture, Product};
use serde_json::json;

use crate::PROGRAMS;

const LOOK: &str = r#"{"name":"look","description":"Looks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

/// `hunter2-Forever?` as programs write it.
const SPELLINGS: [&str; 7] = [
    "aHVudGVyMi1Gb3JldmVyPw==",
    "Basic dXNlcjpodW50ZXIyLUZvcmV2ZXI/",
    "dXNlcjpodW50ZXIyLUZvcmV2ZXI_",
    "eHg6aHVudGVyMi1Gb3JldmVyPzp6",
    "68756e746572322d466f72657665723f",
    "68756E746572322D466F72657665723F",
    "?q=hunter2-Forever%3f",
];

#[tokio::test]
async fn encoded_secrets_were_readable_in_records_and_regions_were_not() {
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK]);
    let env = json!({ "PASSWORD": "hunter2-Forever?", "AWS_REGION": "eu-west-1", "DATA_FILE": "/data/notes.db" });
    let config = json!({ "mcpServers": { "shelf": fixture.entry_with(&json!({ "env": env })) } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    for spelling in SPELLINGS {
        let note = format!("{spelling} in eu-west-1 of /data/notes.db");
        let intent = json!({ "operation_type": "read", "reason": note });
        let call = json!({ "name": "shelf:look", "args": { "note": note }, "intent": intent });
        let result = client.call("call_tool_read", &call).await;
        let id = result["_meta"]["dev.mcpproxy/activity_id"]
            .as_str()
            .unwrap();
        let record = product.record(id).await;
        let kept = record.to_string();
        assert!(!kept.contains(spelling), "{spelling}: {kept}");
        for part in ["unter2", "1bnRlcj", "VudGVy", "dW50ZX", "756e74", "756E74"] {
            assert!(!kept.contains(part), "{part} of {spelling}: {kept}");
        }
        let ordinary = kept.matches("in eu-west-1 of /data/notes.db").count();
        assert!(ordinary >= 3, "arguments, reason and response: {kept}");
    }
}
