//! `/metrics` of the gateway: the services of the contract inside it, and what any server breaks of the contract.

use http::Method;
use mcpproxy_tests::{Client, Home, HttpClient, HttpResponse, Product};
use serde_json::json;

use crate::PROGRAMS;
use crate::service::{query, service};

async fn scrape(product: &Product, headers: &[(&str, &str)]) -> HttpResponse {
    let url = format!("http://{}/metrics", product.address());
    let client = HttpClient::without_session(&url);
    client.send(Method::GET, headers, String::new()).await
}

fn has(metrics: &HttpResponse, line: &str) {
    let text = &metrics.body;
    assert!(
        text.lines().any(|one| one == line),
        "{line}\nis not in\n{text}"
    );
}

#[tokio::test]
async fn obs_4_metrics_of_the_services_inside_were_served_nowhere() {
    let product = Product::start_in(Home::new(PROGRAMS, &json!({})), &["--demo"]).await;
    product.settle().await;
    let client = product.connect().await;
    let read = async |variant: &str, tool: &str, args| client.call_as(variant, tool, &args).await;
    read("read", "cards:list-decks", json!({})).await;
    read("write", "mcpproxy:list-servers", json!({})).await;
    // Refused by the gateway, so the services do not see them.
    read("read", "cards:list-decks", json!({ "limit": "many" })).await;
    read("read", "cards:create-deck", json!({})).await;
    read("read", "cards:no-such-tool", json!({})).await;
    read("write", "mcpproxy:restart-server", json!({ "server": "x" })).await;
    // At the endpoints that have the tools under their own names as well.
    let direct = product.connect_to("/s/cards").await;
    direct.call("list-decks", &json!({ "limit": "many" })).await;
    for (path, name, arguments) in [
        ("/s/cards", "list-decks", json!([])),
        ("/s/cards", "no-such-tool", json!({})),
        ("/all", "cards__no-such-tool", json!({})),
    ] {
        let client = product.connect_to(path).await;
        let params = json!({ "name": name, "arguments": arguments });
        client.request("tools/call", &params).await;
    }

    let metrics = scrape(&product, &[]).await;
    assert_eq!(metrics.status, 200, "{}", metrics.body);
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(metrics.headers["content-type"], format);
    for line in [
        r#"mcp_tool_executions_total{server="cards",tool="list-decks"} 1"#,
        r#"mcp_tool_executions_total{server="mcpproxy",tool="list-servers"} 1"#,
        r#"mcp_tool_execution_seconds_count{server="cards",tool="list-decks"} 1"#,
        r#"mcp_tool_abandoned_total{server="cards",tool="list-decks"} 0"#,
        r#"mcp_tool_refused_total{server="cards",tool="list-decks",code="INVALID_ARGUMENTS"} 3"#,
        r#"mcp_tool_refused_total{server="cards",tool="create-deck",code="SERVER_MISMATCH"} 1"#,
        r#"mcp_tool_refused_total{server="cards",tool="unknown",code="UNKNOWN_TOOL"} 3"#,
        r#"mcp_tool_refused_total{server="mcpproxy",tool="restart-server",code="FORBIDDEN"} 1"#,
    ] {
        has(&metrics, line);
    }
    assert!(!metrics.body.contains("no-such-tool"), "{}", metrics.body);
    assert!(metrics.body.ends_with("# EOF\n"), "{}", metrics.body);
}

#[tokio::test]
async fn what_servers_break_of_the_contract_was_counted_nowhere() {
    let fixture = service(&[query("get-card", &json!({}))], &json!([]))
        .error("get-card", r#"{"code":-32000,"message":"broken"}"#);
    let config = json!({ "mcpServers": { "py": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect().await;
    let args = json!({ "cardId": "card_1" });
    for _ in 0..2 {
        client.call_as("read", "py:get-card", &args).await;
    }
    let metrics = scrape(&product, &[]).await;
    has(
        &metrics,
        r#"mcp_contract_violations_total{server="py",rule="hints-present"} 2"#,
    );
    let ends = metrics.body.matches("# EOF").count();
    assert_eq!(ends, 1, "{}", metrics.body);
    assert!(metrics.body.ends_with("# EOF\n"), "{}", metrics.body);
}

#[tokio::test]
async fn metrics_need_no_key_on_this_machine_and_a_token_is_not_enough() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    let made = product.run(&["token", "create", "ci", "-o", "json"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    let token = made.json()["token"].as_str().unwrap_or_default().to_owned();
    let key = product.key();
    for (credential, status) in [
        ("", 200),
        (key.as_str(), 200),
        (token.as_str(), 403),
        ("wrong", 401),
    ] {
        let metrics = scrape(&product, &[("x-api-key", credential)]).await;
        assert_eq!(metrics.status, status, "{}", metrics.body);
    }
    let strange = scrape(&product, &[("host", "evil.example")]).await;
    assert_eq!(strange.status, 403, "{}", strange.body);
}

#[tokio::test]
async fn metrics_need_the_key_beyond_this_machine() {
    let home = Home::new(PROGRAMS, &json!({ "allow_plain_http": true }));
    let product = Product::start_in(home, &["--listen", "0.0.0.0:0"]).await;
    let key = product.key();
    for (credential, status) in [("", 401), (key.as_str(), 200)] {
        let metrics = scrape(&product, &[("x-api-key", credential)]).await;
        assert_eq!(metrics.status, status, "{}", metrics.body);
    }
}
