//! Sessions over HTTP, the forms of an answer, and requests that share an id.

use http::{Method, StatusCode};
use http_body_util::BodyExt;
use mcpproxy_tests::{
    Client, Fixture, Home, HttpClient, HttpResponse, Product, StdioClient, decode, eventually,
    within,
};
use serde_json::{Value, json};

use crate::PROGRAMS;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

const TOOLS: [&str; 2] = [
    r#"{"name":"slow","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"fast","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
];

#[tokio::test]
async fn two_requests_with_the_same_id_over_http_each_get_their_own_answer() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).gate("slow");
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let client = product.connect().await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.exchange(call("slow")).await }
    });
    wait_for_call(&fixture).await;
    check_answer(&client.exchange(call("fast")).await, "fast {}");
    fixture.open_gate("slow");
    check_answer(&within("the slow answer", slow).await.unwrap(), "slow {}");
}

#[tokio::test]
async fn two_requests_with_the_same_id_over_stdio_each_get_their_own_answer() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).gate("slow");
    let home = Home::new(PROGRAMS, &config(&fixture));
    check_same_id(&fixture, &home.stdio().await).await;
}

#[tokio::test]
async fn two_requests_with_the_same_id_relayed_to_the_gateway_each_get_their_own_answer() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).gate("slow");
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    check_same_id(&fixture, &product.stdio().await).await;
}

async fn check_same_id(fixture: &Fixture, client: &StdioClient) {
    client.send_line(&call("slow")).await;
    wait_for_call(fixture).await;
    client.send_line(&call("fast")).await;
    check_answer(&client.read_line().await, "fast {}");
    fixture.open_gate("slow");
    check_answer(&client.read_line().await, "slow {}");
}

#[tokio::test]
async fn messages_belong_to_a_session_that_is_open() {
    let product = gateway().await;
    let client = product.connect().await;
    assert_eq!(
        client.post(&[], PING.to_owned()).await.status,
        StatusCode::OK
    );

    let nobody = client.clone().with_session(None);
    let stranger = client
        .clone()
        .with_session(Some("00000000-0000-4000-8000-000000000000"));
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let missing = nobody.send(method.clone(), &[], PING.to_owned()).await;
        check_rpc_error(&missing, StatusCode::BAD_REQUEST);
        let unknown = stranger.send(method, &[], PING.to_owned()).await;
        check_rpc_error(&unknown, StatusCode::NOT_FOUND);
    }

    let other = product.connect().await;
    assert_ne!(other.session_id(), client.session_id());
    let ended = client.send(Method::DELETE, &[], String::new()).await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    check_rpc_error(
        &client.post(&[], PING.to_owned()).await,
        StatusCode::NOT_FOUND,
    );
    let again = client.send(Method::DELETE, &[], String::new()).await;
    check_rpc_error(&again, StatusCode::NOT_FOUND);
    assert_eq!(
        other.post(&[], PING.to_owned()).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_stream_opens_and_ends_with_its_session() {
    let product = gateway().await;
    let client = product.connect().await;
    let accept = [("accept", "text/event-stream")];
    let stream = client.open(Method::GET, &accept, String::new()).await;
    assert_eq!(stream.status(), StatusCode::OK);
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let ended = client.send(Method::DELETE, &[], String::new()).await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    within("the stream ends", stream.into_body().collect())
        .await
        .unwrap();
}

#[tokio::test]
async fn the_form_of_an_answer_is_what_the_client_accepts() {
    let product = gateway().await;
    let client = product.connect().await;
    for (accept, content_type) in [
        ("application/json", "application/json"),
        ("application/json, text/event-stream", "application/json"),
        (
            "text/event-stream, application/json;q=0.5",
            "application/json",
        ),
        ("*/*", "application/json"),
        ("", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("TEXT/*", "text/event-stream"),
    ] {
        let answer = client.post(&[("accept", accept)], PING.to_owned()).await;
        assert_eq!(answer.status, StatusCode::OK, "{accept}: {answer:?}");
        assert_eq!(answer.headers["content-type"], content_type, "{accept}");
        let message = match content_type {
            "text/event-stream" => event_data(&answer.body),
            _ => answer.body,
        };
        assert_eq!(decode(&message)["result"], json!({}), "{accept}");
    }
    let notification =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    let answer = client.post(&[], notification.to_owned()).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::ACCEPTED, "")
    );
}

#[tokio::test]
async fn headers_that_cannot_be_served_are_refused() {
    let product = gateway().await;
    let client = product.connect().await;
    for (name, value, status) in [
        ("content-type", "text/plain", 415),
        ("content-type", "application/jsonx", 415),
        ("content-type", "", 415),
        ("accept", "text/html", 406),
        ("accept", "image/*", 406),
        ("mcp-protocol-version", "1999-01-01", 400),
        ("mcp-protocol-version", "latest", 400),
    ] {
        let answer = client.post(&[(name, value)], PING.to_owned()).await;
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(answer.status, status, "{name}: {value}");
        check_rpc_error(&answer, status);
    }
    for (name, value) in [
        ("content-type", "Application/JSON; charset=utf-8"),
        ("mcp-protocol-version", "2024-11-05"),
        ("mcp-protocol-version", "2025-03-26"),
        ("mcp-protocol-version", "2025-06-18"),
        ("mcp-protocol-version", "2025-11-25"),
    ] {
        let answer = client.post(&[(name, value)], PING.to_owned()).await;
        assert_eq!(answer.status, StatusCode::OK, "{name}: {value}");
    }
    let html = client
        .send(
            Method::GET,
            &[("accept", "application/json")],
            String::new(),
        )
        .await;
    check_rpc_error(&html, StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test]
async fn a_session_outlives_its_connections_and_many_can_be_open() {
    let product = gateway().await;
    let mut clients = Vec::new();
    for _ in 0..50 {
        clients.push(product.connect().await);
    }
    for client in clients {
        // A new connection, the same session.
        let again =
            HttpClient::without_session(&product.endpoint()).with_session(client.session_id());
        assert_eq!(again.request("ping", &json!({})).await["result"], json!({}));
    }
}

async fn gateway() -> Product {
    Product::start(PROGRAMS, &json!({})).await
}

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": { "srv": fixture.entry() } })
}

/// A read call of a tool, always with the same id.
fn call(tool: &str) -> String {
    let arguments =
        json!({ "name": format!("srv:{tool}"), "intent": { "operation_type": "read" } });
    let params = json!({ "name": "call_tool_read", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 42, "method": "tools/call", "params": params }).to_string()
}

/// Waits until the server has got a call, so that it is in flight.
async fn wait_for_call(fixture: &Fixture) {
    eventually("the slow call is in flight", async || {
        (!fixture.ledger().is_empty()).then_some(())
    })
    .await;
}

#[track_caller]
fn check_answer(answer: &str, text: &str) {
    let answer = decode(answer);
    assert_eq!(answer["id"], 42, "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], text, "{answer}");
}

#[track_caller]
fn check_rpc_error(answer: &HttpResponse, status: StatusCode) {
    assert_eq!(answer.status, status, "{answer:?}");
    let error = &answer.json()["error"];
    assert!(
        error["code"].is_i64() && error["message"].is_string(),
        "{answer:?}"
    );
}

fn event_data(body: &str) -> String {
    body.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .collect()
}
