//! A gateway with servers in every state, for tests of what is recorded.

use mcpproxy_tests::{Client, Fixture, HttpClient, Product};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 9] = [
    r#"{"name":"look","description":"Looks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"put","description":"Puts","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#,
    r#"{"name":"burn","description":"Burns","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#,
    r#"{"name":"plain","description":"Does","inputSchema":{"type":"object"}}"#,
    r#"{"name":"few","description":"Takes few","inputSchema":{"type":"object","properties":{"count":{"type":"integer"}}},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"rare","description":"Rare","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"fail","description":"Fails","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"hang","description":"Hangs","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"regret","description":"Regrets","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#,
];

/// A gateway with servers in every state, and a client.
pub(crate) struct Stage {
    pub(crate) product: Product,
    pub(crate) client: HttpClient,
    pub(crate) fixture: Fixture,
}

impl Stage {
    /// With rules of intent, and `max_payload_bytes`.
    pub(crate) async fn start(rules: &Value) -> Self {
        let regret = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
        let off = TOOLS[0].replace("look", "off");
        let fixture = Fixture::new(PROGRAMS)
            .tools(&[&TOOLS[..], &[off.as_str()]].concat())
            .error("fail", r#"{"code":-32000,"message":"no quota left"}"#)
            .result("regret", regret)
            .hang_on("hang");
        let more = json!({ "timeout": "1s", "tools": {
            "off": { "enabled": false },
            "rare": { "rate_limit": { "max_calls": 1, "window_ms": 3_600_000 } },
        } });
        let mut rules = rules.clone();
        let activity = rules
            .as_object_mut()
            .expect("it is there")
            .remove("max_payload_bytes");
        let mut config = json!({
            "mcpServers": {
                "shelf": fixture.entry_with(&more),
                "gone": { "command": "/nowhere/at/all" },
                "held": fixture.entry_with(&json!({ "quarantined": true })),
                "out": fixture.entry_with(&json!({ "enabled": false })),
            },
            "intent_declaration": rules,
        });
        if let Some(limit) = activity {
            config["activity"] = json!({ "max_payload_bytes": limit });
        }
        let product = Product::start(PROGRAMS, &config).await;
        product.settle().await;
        let client = product.connect().await;
        Self {
            product,
            client,
            fixture,
        }
    }

    pub(crate) async fn call(&self, operation: &str, arguments: &Value) -> Value {
        self.client
            .call(&format!("call_tool_{operation}"), arguments)
            .await
    }

    /// The record that an answer names.
    pub(crate) async fn record(&self, result: &Value) -> Value {
        let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
        let id = id.unwrap_or_else(|| panic!("no record: {result}"));
        self.product.record(id).await
    }
}

/// What holds for the record of every call that came through a session.
#[track_caller]
pub(crate) fn check_call(record: &Value, operation: &str, client: &HttpClient) {
    let variant = format!("call_tool_{operation}");
    assert_eq!(record["tool_variant"], variant, "{record}");
    assert_eq!(record["metadata"]["tool_variant"], variant, "{record}");
    assert_eq!(record["intent_type"], operation, "{record}");
    assert!(record["session_id"].is_string(), "{record}");
    let on_the_wire = client.session_id().expect("it is there");
    assert_ne!(record["session_id"], on_the_wire, "{record}");
    assert_eq!(record["agent"], "mcpproxy-tests", "{record}");
    assert!(
        record["seq"].is_i64() && record["hash"].is_string(),
        "{record}"
    );
}
