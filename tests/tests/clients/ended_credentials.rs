//! Credentials that are good when a request comes and not any more when its turn does.

use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_tests::stateless_client::{STATELESS, introduced};
use mcpproxy_tests::{
    Client, Fixture, HttpClient, Product, StdioClient, decode, eventually, within,
};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// A server that works on one call at a time was busy: what waited for it was sent after its token was revoked.
#[tokio::test]
async fn a_call_that_waited_in_the_queue_was_made_after_its_token_was_revoked() {
    let tool = |name: &str| {
        format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":true}}}}"#
        )
    };
    let busy = Fixture::new(PROGRAMS)
        .tools(&["hold", "late", "next"].map(tool))
        .gate("hold");
    let entry = busy.entry_with(&json!({ "max_concurrent": 1, "timeout": "5m" }));
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": { "busy": entry } })).await;
    product.settle().await;
    let made = product
        .run(&["token", "create", "agent", "-o", "json"])
        .await
        .json();
    let mut command = product.home.command();
    let token = made["token"].as_str().expect("a token is shown once");
    command.arg("stdio").env("MCPPROXY_TOKEN", token);

    let (holder, agent) = (product.stdio().await, StdioClient::start(command).await);
    send(&holder, "hold").await;
    eventually("the server is busy", async || {
        (busy.ledger().len() == 1).then_some(())
    })
    .await;
    send(&agent, "late").await;
    // A ping that is sent behind the call is answered when the call waits.
    agent
        .send_line(r#"{"jsonrpc":"2.0","id":"read","method":"ping"}"#)
        .await;
    assert_eq!(decode(&agent.read_line().await)["id"], "read");
    assert_eq!(product.run(&["token", "revoke", "agent"]).await.code, 0);
    busy.open_gate("hold");
    let answer = decode(&within("the call is refused", agent.read_line()).await);
    assert_eq!(answer["id"], "late", "{answer}");
    assert!(
        answer.to_string().contains("not valid any more"),
        "{answer}"
    );
    let next = product.connect().await;
    next.call_allowed("read", "busy:next", &json!({})).await;
    let called: Vec<String> = busy.ledger();
    assert!(
        !called.iter().any(|line| line.starts_with("late")),
        "{called:?}"
    );
}

/// Prompts, resources and completions were asked for although their token was revoked while they waited.
#[tokio::test]
async fn what_waited_for_a_server_was_read_after_its_token_was_revoked() {
    let hold =
        r#"{"name":"hold","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
    let reading = [
        ("prompts/get", json!({ "name": "busy__p" })),
        ("resources/read", json!({ "uri": "x:y" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "busy__p" }, "argument": { "name": "a", "value": "b" } }),
        ),
    ];
    let busy = Fixture::new(PROGRAMS)
        .tools(&[hold])
        .gate("hold")
        .answer("prompts/list", r#"{"prompts":[{"name":"p"}]}"#)
        .answer("prompts/get", r#"{"messages":[]}"#)
        .answer(
            "resources/list",
            r#"{"resources":[{"uri":"x:y","name":"y"}]}"#,
        )
        .answer("resources/read", r#"{"contents":[]}"#)
        .answer("completion/complete", r#"{"completion":{"values":[]}}"#);
    let entry = busy.entry_with(&json!({ "max_concurrent": 1, "timeout": "5m" }));
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": { "busy": entry } })).await;
    product.settle().await;
    let made = product
        .run(&["token", "create", "agent", "-o", "json"])
        .await;
    let made = made.json();
    let token = made["token"].as_str().expect("a token is shown once");
    let mut command = product.home.command();
    command.arg("stdio").env("MCPPROXY_TOKEN", token);
    let (holder, agent) = (product.stdio().await, StdioClient::start(command).await);
    for method in ["prompts/list", "resources/list"] {
        let listed = agent.request(method, &json!({})).await;
        assert!(listed["result"].is_object(), "{listed}");
    }
    send(&holder, "hold").await;
    eventually("the server is busy", async || {
        (busy.ledger().len() == 1).then_some(())
    })
    .await;
    for (method, params) in &reading {
        let message = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
        agent.send_line(&message.to_string()).await;
    }
    agent
        .send_line(r#"{"jsonrpc":"2.0","id":"read","method":"ping"}"#)
        .await;
    assert_eq!(decode(&agent.read_line().await)["id"], "read");
    assert_eq!(product.run(&["token", "revoke", "agent"]).await.code, 0);
    busy.open_gate("hold");
    for _ in &reading {
        let answer = within("the request is refused", agent.read_line()).await;
        assert!(answer.contains("not valid any more"), "{answer}");
    }
    assert_eq!(busy.ledger().len(), 1, "{:?}", busy.ledger());
}

/// Calls a tool of the busy server, without waiting for its answer.
async fn send(client: &StdioClient, tool: &str) {
    let arguments = json!({ "name": format!("busy:{tool}"), "args": {}, "intent": { "operation_type": "read" } });
    let params = json!({ "name": "call_tool_read", "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params });
    client.send_line(&message.to_string()).await;
}

/// Streams that were opened without a credential stayed open after the operator left such callers nothing.
#[tokio::test]
async fn streams_without_a_credential_outlived_the_right_to_open_them() {
    for left in ["read", "none"] {
        let product = Product::start(PROGRAMS, &json!({ "anonymous": "full" })).await;
        let streams = [of_session(&product).await, of_request(&product).await];
        for stream in &streams {
            assert_eq!(stream.status(), StatusCode::OK);
        }
        product.home.write_config(&json!({ "anonymous": left }));
        for stream in streams {
            let rest = within("the stream ends", stream.into_body().collect()).await;
            assert!(rest.is_ok(), "{left}: in order, not broken off");
        }
    }
}

/// Stream of a session, at the endpoint whose lists change.
async fn of_session(product: &Product) -> Response<Incoming> {
    let session = product.connect_to("/all").await;
    let accept = [("accept", "text/event-stream")];
    session.open(Method::GET, &accept, String::new()).await
}

/// Stream that a request without a session opens.
async fn of_request(product: &Product) -> Response<Incoming> {
    let method = "subscriptions/listen";
    let wanted: Value = introduced(&json!({ "notifications": { "toolsListChanged": true } }));
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": wanted });
    let client = HttpClient::without_session(&product.url("/all"));
    let headers = [
        ("mcp-protocol-version", STATELESS),
        ("mcp-method", method),
        ("accept", "text/event-stream"),
    ];
    client.open(Method::POST, &headers, body.to_string()).await
}
