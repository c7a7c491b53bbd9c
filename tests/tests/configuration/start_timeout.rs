//! How long a server may take to start is a setting of the server.

use std::process::Command;

use mcpproxy_tests::{Client, Fixture, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 1] = [
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
];

/// Becomes the server once somebody writes to the pipe of its first argument, and does nothing before.
const WHEN_TOLD: &str = r#"read line < "$0"; exec "$@""#;

#[tokio::test]
async fn a_server_may_take_as_long_to_start_as_its_setting_says() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let folder = tempfile::tempdir().unwrap();
    let gate = |start_timeout: &str| folder.path().join(start_timeout);
    let server = fixture.entry();
    let entry = |start_timeout: &str| {
        let gate = gate(start_timeout);
        let made = Command::new("mkfifo").arg(&gate).status();
        assert!(made.is_ok_and(|status| status.success()));
        json!({
            "command": "sh",
            "args": ["-c", WHEN_TOLD, gate, server["command"], server["args"][0]],
            "protocol": "legacy",
            "start_timeout": start_timeout,
        })
    };
    let servers = json!({ "hurried": entry("200ms"), "patient": entry("30m") });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;

    let reason = eventually("the hurried server is given up", async || {
        let hurried = server_status(&product, "hurried").await;
        hurried["reason"].as_str().map(str::to_owned)
    })
    .await;
    assert_eq!(
        reason,
        "it did not answer initialize and showed no sign of life for 200 ms: no output, no processor time; raise its start_timeout if it needs longer"
    );
    assert_eq!(
        server_status(&product, "patient").await["state"],
        "starting"
    );

    std::fs::write(gate("30m"), "go\n").unwrap();
    eventually("the patient server has come up", async || {
        let patient = server_status(&product, "patient").await;
        (patient["state"] == "ready").then_some(())
    })
    .await;
    let client = product.connect().await;
    let call = json!({ "name": "patient:look", "intent": { "operation_type": "read" } });
    let result = client.call("call_tool_read", &call).await;
    assert_ne!(result["isError"], true, "{result}");
}

async fn server_status(product: &Product, name: &str) -> Value {
    let status = product.get("/status").await;
    let servers = status["servers"].as_array().cloned().unwrap_or_default();
    let found = servers.into_iter().find(|server| server["name"] == name);
    found.unwrap_or_default()
}
