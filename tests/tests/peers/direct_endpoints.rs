//! Official clients list and call the tools of a real server, by their own names.

use mcpproxy_tests::peers::{Peers, Sdk};
use mcpproxy_tests::{Client, Product, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;

trials![
    python_sdk_2_lists_and_calls_offered_tools,
    python_sdk_1_lists_and_calls_offered_tools,
    typescript_sdk_2_lists_and_calls_offered_tools,
    typescript_sdk_1_lists_and_calls_offered_tools,
];

async fn python_sdk_2_lists_and_calls_offered_tools() {
    check(Sdk::Python2).await;
}

async fn python_sdk_1_lists_and_calls_offered_tools() {
    check(Sdk::Python1).await;
}

async fn typescript_sdk_2_lists_and_calls_offered_tools() {
    check(Sdk::TypeScript2).await;
}

async fn typescript_sdk_1_lists_and_calls_offered_tools() {
    check(Sdk::TypeScript1).await;
}

async fn check(sdk: Sdk) {
    let peers = Peers::find();
    let entry = json!({ "command": peers.program("mcp-server-everything"), "timeout": "60s" });
    let config = json!({ "mcpServers": { "everything": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    // This waits for the server.
    let own = product.connect_to("/s/everything").await.tool_names().await;
    assert!(own.len() > 5, "{own:?}");
    for (path, prefix) in [("/all", "everything__"), ("/s/everything", "")] {
        let call = |name: &str, arguments: Value| json!({ "op": "call_tool", "name": format!("{prefix}{name}"), "arguments": arguments });
        let steps = json!([
            { "op": "server_info" },
            { "op": "list_tools" },
            call("echo", json!({ "message": "round and round" })),
            call("get-sum", json!({ "a": 2, "b": 40 })),
            call("echo", json!({})),
        ]);
        let outcomes = peers
            .session_over_http(sdk, &product.url(path), &steps)
            .await;
        let result = |index: usize| {
            let outcome: &Value = &outcomes[index];
            let result = outcome.get("ok");
            result.unwrap_or_else(|| panic!("{sdk:?} at {path} did not take: {outcome}"))
        };
        assert_eq!(result(0)["serverInfo"]["name"], "mcpproxy");
        let tools = result(1)["tools"].as_array().expect("a list of tools");
        let listed: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str()?.strip_prefix(prefix))
            .filter(|name| !name.starts_with("mcpproxy__"))
            .collect();
        assert_eq!(listed, own, "{sdk:?} at {path}");
        let text = |index: usize| result(index)["content"][0]["text"].to_string();
        assert!(text(2).contains("round and round"), "{sdk:?}: {}", text(2));
        assert!(text(3).contains("42"), "{sdk:?}: {}", text(3));
        // At its own endpoint the server judges its arguments itself.
        let refused = result(4);
        assert_eq!(refused["isError"], true, "{sdk:?} at {path}: {refused}");
        let code = refused["structuredContent"]["error"]["code"].as_str();
        let expected = (path == "/all").then_some("INVALID_ARGUMENTS");
        assert_eq!(code, expected, "{sdk:?} at {path}: {refused}");
    }
}
