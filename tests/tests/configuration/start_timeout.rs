//! How long a server may take to start is a setting of the server.

use mcpproxy_tests::{Client, Fixture, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 1] = [
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
];

/// Becomes the server once the file of its first argument is there, and says nothing before.
const WHEN_TOLD: &str = r#"until test -e "$0"; do sleep 0.02; done; exec "$@""#;

#[tokio::test]
async fn a_server_may_take_as_long_to_start_as_its_setting_says() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    let server = fixture.entry();
    let entry = |start_timeout: &str| {
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
    assert!(
        reason.starts_with("it did not answer initialize within ")
            && reason.ends_with(" ms; raise its start_timeout if it needs longer"),
        "{reason}"
    );
    assert_eq!(
        server_status(&product, "patient").await["state"],
        "starting"
    );

    std::fs::write(&gate, "").unwrap();
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
