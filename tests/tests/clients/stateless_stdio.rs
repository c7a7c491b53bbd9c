//! Both protocols over standard input and output, in the program itself and through a running gateway.

use mcpproxy_tests::stateless_client::{STATELESS, introduced};
use mcpproxy_tests::{Client, Fixture, Home, Product, StdioClient, decode, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 2] = [
    r#"{"name":"slow","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"fast","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
];

#[tokio::test]
async fn requests_stand_for_themselves_over_stdio() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    check_stateless(&fixture, silent(&home)).await;
}

#[tokio::test]
async fn requests_stand_for_themselves_through_a_running_gateway() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    check_stateless(&fixture, silent(&product.home)).await;
}

#[tokio::test]
async fn a_client_may_ask_in_the_new_way_and_go_on_in_the_old_one() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    let home = Home::new(PROGRAMS, &json!({}));
    for client in [silent(&home), silent(&product.home)] {
        let found = ask(&client, "server/discover", json!({})).await;
        assert_eq!(found["result"]["supportedVersions"], json!([STATELESS]));
        open_session(&client, "2025-06-18").await;
        let listed = client.request("tools/list", &json!({})).await;
        assert!(listed["result"].get("resultType").is_none(), "{listed}");
        assert_eq!(
            client.request("ping", &json!({})).await["result"],
            json!({})
        );
        // Each message is still taken for what it says of itself.
        let listed = ask(&client, "tools/list", json!({})).await;
        assert_eq!(listed["result"]["resultType"], "complete");
        assert_eq!(client.finish().await, 0);
    }
}

#[tokio::test]
async fn a_client_that_chose_the_new_way_has_to_keep_to_it() {
    let home = Home::new(PROGRAMS, &json!({}));
    let client = silent(&home);
    let listed = ask(&client, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["resultType"], "complete");
    let bare = client.request("tools/list", &json!({})).await;
    assert_eq!(bare["error"]["code"], -32602, "{bare}");
    assert_eq!(client.finish().await, 0);
}

async fn check_stateless(fixture: &Fixture, client: StdioClient) {
    let listed = ask(&client, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    let called = ask(&client, "tools/call", call("fast")).await;
    assert_eq!(
        called["result"]["content"][0]["text"], "fast {}",
        "{called}"
    );
    assert_eq!(called["result"]["resultType"], "complete");
    for method in ["ping", "unknown/method"] {
        let refused = ask(&client, method, json!({})).await;
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
    }
    let mut other = introduced(&json!({}));
    other["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let refused = client.request("tools/list", &other).await;
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert_eq!(refused["error"]["data"]["supported"], json!([STATELESS]));
    let mut other = introduced(&json!({}));
    other["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Value::Null;
    let refused = client.request("tools/list", &other).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");

    check_listening(&client).await;
    check_calling_off(fixture, &client).await;
    client.send_line(&listen("last")).await;
    let opened = decode(&client.read_line().await);
    assert_eq!(opened["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(client.finish().await, 0);
}

/// A stream of changes stays open beside other requests, and ends without an answer when it is called off.
async fn check_listening(client: &StdioClient) {
    client.send_line(&listen("s")).await;
    let opened = decode(&client.read_line().await);
    let key = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(opened["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(opened["params"]["_meta"][key], "s", "{opened}");
    let listed = ask(client, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["resultType"], "complete");
    client.send_line(&cancel(&json!("s"))).await;
    let listed = ask(client, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["resultType"], "complete");
}

async fn check_calling_off(fixture: &Fixture, client: &StdioClient) {
    let params = introduced(&call("slow"));
    let slow = json!({ "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params });
    client.send_line(&slow.to_string()).await;
    eventually("the slow call is in flight", async || {
        let is_there = fixture.ledger().iter().any(|line| line.starts_with("slow"));
        is_there.then_some(())
    })
    .await;
    client.send_line(&cancel(&json!("slow"))).await;
    // Lines are heard in their order, so whoever is answered now comes after it.
    let listed = ask(client, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    fixture.open_gate("slow");
    // Had the call still been there, its answer could come here or later; each line is checked.
    for _ in 0..3 {
        let called = ask(client, "tools/call", call("fast")).await;
        assert_eq!(
            called["result"]["content"][0]["text"], "fast {}",
            "{called}"
        );
    }
}

/// A client that has not said hello.
fn silent(home: &Home) -> StdioClient {
    let mut command = home.command();
    command.arg("stdio");
    StdioClient::start_silent(command)
}

async fn open_session(client: &StdioClient, revision: &str) {
    let params = json!({ "protocolVersion": revision, "capabilities": {} });
    let answer = client.request("initialize", &params).await;
    assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
}

async fn ask(client: &StdioClient, method: &str, params: Value) -> Value {
    client.request(method, &introduced(&params)).await
}

fn fixture() -> Fixture {
    Fixture::new(PROGRAMS).tools(&TOOLS).gate("slow")
}

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": { "srv": fixture.entry() } })
}

fn call(tool: &str) -> Value {
    let arguments =
        json!({ "name": format!("srv:{tool}"), "intent": { "operation_type": "read" } });
    json!({ "name": "call_tool_read", "arguments": arguments })
}

fn listen(id: &str) -> String {
    let params = introduced(&json!({ "notifications": { "toolsListChanged": true } }));
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params })
        .to_string()
}

fn cancel(id: &Value) -> String {
    let params = json!({ "requestId": id });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()
}
