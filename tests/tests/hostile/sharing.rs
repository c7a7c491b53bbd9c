//! Callers that take what others need: the places of a server, and calls beyond a limit.

use http::Method;
use mcpproxy_tests::conversation::{Conversation, Door, Speaks};
use mcpproxy_tests::{Fixture, HttpClient, Product, StdioClient, decode, eventually};
use serde_json::json;

use crate::PROGRAMS;

/// Calls that an agent has waiting beyond those that the server works on.
const WAITING: usize = 20;

#[tokio::test]
async fn one_agents_slow_calls_held_all_places_of_a_server() {
    let names: Vec<String> = (0..2 + WAITING)
        .map(|number| format!("hold_{number}"))
        .collect();
    let tools = names.iter().map(String::as_str).chain(["quick"]);
    let tools: Vec<String> = tools
        .map(|name| format!(r#"{{"name":"{name}","description":"Holds a place","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":true}}}}"#))
        .collect();
    let gated = |fixture: Fixture, name: &String| fixture.gate(name);
    let fixture = names
        .iter()
        .fold(Fixture::new(PROGRAMS).tools(&tools), gated);
    let entry = fixture.entry_with(&json!({ "max_concurrent": 2, "timeout": "5m" }));
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": { "shared": entry } })).await;
    product.settle().await;

    let (greedy, other) = (product.stdio().await, product.stdio().await);
    for name in &names {
        send(&greedy, name).await;
    }
    await_read(&greedy).await;
    executed(&fixture, 2).await;
    send(&other, "quick").await;
    await_read(&other).await;

    // One place at a time gets free, until the other agent has had its turn.
    let mut ended = 0;
    let is_quick = |line: &String| line.starts_with("quick");
    while !fixture.ledger().iter().any(is_quick) {
        let working = fixture.ledger()[ended].clone();
        fixture.open_gate(
            working
                .split(' ')
                .next()
                .expect("a line begins with the tool"),
        );
        ended += 1;
        executed(&fixture, 2 + ended).await;
    }
    assert!(ended < WAITING / 2, "{:?}", fixture.ledger());
}

/// Calls a tool, without waiting for its answer.
async fn send(client: &StdioClient, tool: &str) {
    let arguments = json!({ "name": format!("shared:{tool}"), "args": {}, "intent": { "operation_type": "read" } });
    let params = json!({ "name": "call_tool_read", "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params });
    client.send_line(&message.to_string()).await;
}

/// Waits until all that a client sent is read: a ping that is sent behind it is answered at once.
async fn await_read(client: &StdioClient) {
    let ping = json!({ "jsonrpc": "2.0", "id": "read", "method": "ping" });
    client.send_line(&ping.to_string()).await;
    let answer = decode(&client.read_line().await);
    assert_eq!(answer["id"], "read", "{answer}");
}

/// Waits until the server has begun so many calls.
async fn executed(fixture: &Fixture, count: usize) {
    eventually("the server works on the next call", async || {
        (fixture.ledger().len() >= count).then_some(())
    })
    .await;
}

/// A caller chooses its name, its session, and whether it has one.
#[tokio::test]
async fn a_rate_limit_was_evaded_with_another_name_and_another_session() {
    let tool = r#"{"name":"rare","description":"Rare","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#;
    let fixture = Fixture::new(PROGRAMS).tools(&[tool]);
    let limit = json!({ "max_calls": 2, "window_ms": 86_400_000 });
    let entry = fixture.entry_with(&json!({ "tools": { "rare": { "rate_limit": limit } } }));
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": { "shelf": entry } })).await;
    product.settle().await;
    for number in 0..10 {
        for speaks in [Speaks::Session, Speaks::Stateless] {
            let door = Door::Http(product.endpoint());
            let name = format!("agent-{number}");
            let client = Conversation::open(door, speaks, &name, Some("shelf")).await;
            client.call("rare", &json!({})).await.answer().await;
        }
    }
    assert_eq!(
        fixture.ledger().len(),
        2,
        "all of one address count together"
    );
    // The administrator is another caller, however often it comes.
    let body = json!({ "variant": "write", "name": "shelf:rare", "intent": { "operation_type": "write" } });
    for _ in 0..3 {
        product
            .ask(Method::POST, "/tools/call", body.to_string())
            .await;
    }
    assert_eq!(fixture.ledger().len(), 4);
}

#[tokio::test]
async fn the_limit_of_a_built_in_tool_was_counted_by_the_name_of_the_client() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    let client = HttpClient::without_session(&product.rest("/tools/call"));
    let (key, mut refused) = (product.key(), 0);
    let body = json!({
        "variant": "destructive", "name": "mcpproxy:restart-server", "args": { "server": "nobody" },
        "intent": { "operation_type": "destructive" },
    });
    for number in 0..12 {
        let name = format!("agent-{number}/1");
        let headers = [("x-api-key", &*key), ("user-agent", &name)];
        let answer = client.send(Method::POST, &headers, body.to_string()).await;
        refused += usize::from(answer.body.contains("RATE_LIMITED"));
    }
    assert_eq!(
        refused, 2,
        "ten calls a minute, whatever the client is called"
    );
}
