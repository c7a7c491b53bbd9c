//! Servers that install themselves when they start, with the installers that people use.

use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Product, eventually, trials};
use serde_json::json;

use crate::PROGRAMS;

trials![npx_was_cut_off_while_it_installed_and_left_half_a_cache];

/// The version that the other tests have from the registry, so that it can be had.
const PACKAGE: &str = "@modelcontextprotocol/server-everything@2026.8.31";

async fn npx_was_cut_off_while_it_installed_and_left_half_a_cache() {
    let _registry_was_reached = Peers::find();
    let cache = tempfile::tempdir().expect("a temporary folder can be made");
    // Much less than an installation takes where it is slow, and more than npx is ever without a sign of life.
    let entry = json!({
        "command": "npx", "args": ["-y", PACKAGE], "start_timeout": "30s",
        "env": { "npm_config_cache": cache.path() },
    });
    let config = json!({ "mcpServers": { "everything": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    eventually("the server is installed", async || {
        let status = product.status().await;
        let mut servers = status["servers"].as_array()?.iter();
        let server = servers.find(|server| server["name"] == "everything")?;
        assert_ne!(server["state"], "failed", "{server}");
        (server["state"] == "ready").then_some(())
    })
    .await;
    let log = product.home.data_dir().join("logs/everything.log");
    let log = std::fs::read_to_string(log).expect("the server has a log");
    assert_eq!(log.matches(" attempt ").count(), 1, "one start: {log}");
    assert!(cache.path().join("_npx").is_dir(), "it was installed here");
}
