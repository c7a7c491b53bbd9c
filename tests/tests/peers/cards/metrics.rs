//! Metrics of the program alone, read by the official Prometheus client.

use mcpproxy_tests::peers::{Peers, Sdk};
use mcpproxy_tests::trials;
use serde_json::{Value, json};

use crate::cards::program::Cards;

trials![obs_4_the_official_prometheus_client_reads_the_metrics];

async fn obs_4_the_official_prometheus_client_reads_the_metrics() {
    let peers = Peers::find();
    let cards = Cards::start().await;
    let steps = json!([
        { "op": "call_tool", "name": "list-decks", "arguments": {} },
        { "op": "call_tool", "name": "list-decks", "arguments": { "limit": 0 } },
    ]);
    peers
        .session_over_http(Sdk::Python2, &cards.endpoint, &steps)
        .await;
    let url = cards.endpoint.replace("/mcp", "/metrics");
    let samples = peers.read_metrics(&url).await;
    let value = |name: &str, labels: Value| {
        let mut samples = samples.iter();
        let found = samples.find(|sample| sample["name"] == name && sample["labels"] == labels);
        found.unwrap_or_else(|| panic!("no {name} {labels}"))["value"].clone()
    };
    let tool = || json!({ "tool": "list-decks" });
    assert_eq!(value("mcp_tool_executions_total", tool()), 2.0);
    assert_eq!(value("mcp_tool_execution_seconds_count", tool()), 2.0);
    assert_eq!(value("mcp_tool_abandoned_total", tool()), 0.0);
    let invalid = json!({ "tool": "list-decks", "category": "validation" });
    assert_eq!(value("mcp_tool_errors_total", invalid), 1.0);
    let refused = json!({ "tool": "list-decks", "code": "INVALID_ARGUMENTS" });
    assert_eq!(value("mcp_tool_refused_total", refused), 1.0);
    let families = [
        ("mcp_tool_executions", "counter"),
        ("mcp_tool_execution_seconds", "histogram"),
        ("mcp_tool_cache_hits", "counter"),
        ("mcp_tool_cache_misses", "counter"),
    ];
    for (family, kind) in families {
        let mut samples = samples.iter();
        let is_there = samples.any(|sample| sample["family"] == family && sample["type"] == kind);
        assert!(is_there, "no {kind} {family}");
    }
}
