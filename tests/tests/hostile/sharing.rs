//! Callers that take what others need: the places of a server.

use mcpproxy_tests::{Fixture, Product, StdioClient, decode, eventually};
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
