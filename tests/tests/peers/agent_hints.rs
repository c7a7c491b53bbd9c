//! Hints that the gateway makes of what it saw a foreign server do.

use mcpproxy_tests::agent_hints::{check_suggestion, hints, suggestion};
use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Client, Product, trials};
use serde_json::json;

use crate::PROGRAMS;

trials![a_real_server_gets_hints_whose_confidence_follows_its_outcomes];

/// How often a pattern is repeated; with two calls each, that is 200 calls.
const ROUNDS: usize = 100;

async fn a_real_server_gets_hints_whose_confidence_follows_its_outcomes() {
    let peers = Peers::find();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let there = folder.path().join("there.txt");
    std::fs::write(&there, "text").expect("a file can be written");
    let missing = json!({ "path": folder.path().join("missing.txt") });
    let there = json!({ "path": there });
    let listed = json!({ "path": folder.path() });
    let entry = json!({
        "command": peers.program("mcp-server-filesystem"), "args": [folder.path()], "timeout": "60s",
    });
    let config = json!({ "mcpServers": { "files": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let (list, read) = ("files:list_directory", "files:read_text_file");
    for _ in 0..ROUNDS {
        client.call_allowed("read", list, &listed).await;
        let answer = client.call_allowed("read", read, &there).await;
        assert_ne!(answer["isError"], true, "{answer}");
    }
    let clear = suggestion(&hints(&client.call_allowed("read", list, &listed).await))
        .expect("the tool that followed is suggested");
    check_suggestion(&clear, read);
    for _ in 0..ROUNDS / 2 {
        let answer = client.call_allowed("read", read, &missing).await;
        assert_eq!(answer["isError"], true, "{answer}");
        client.call_allowed("read", list, &listed).await;
    }
    let mixed = suggestion(&hints(&client.call_allowed("read", list, &listed).await));
    let mixed = mixed.expect("it still works more often than not");
    assert!(
        mixed["confidence"].as_f64() < clear["confidence"].as_f64(),
        "{clear} {mixed}"
    );
}
