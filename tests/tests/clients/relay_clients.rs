//! What a client over HTTP gets to read when a server says something during its call, and what it
//! has to say for that.

use http::StatusCode;
use mcpproxy_tests::{HttpClient, HttpResponse, Product, decode};
use serde_json::{Value, json};

use crate::PROGRAMS;

const SERVER_PROGRAM: &str = env!("CARGO_BIN_EXE_conformance-server");

const STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

#[tokio::test]
async fn an_answer_is_a_stream_only_if_something_comes_before_it() {
    let product = gateway().await;
    let client = connect(&product, "2025-11-25").await;
    let silent = client
        .post(&[], call(1, "test_simple_text", &json!({})))
        .await;
    assert_eq!(kind(&silent), JSON);

    let told = client
        .post(&[], call(2, "test_tool_with_logging", &json!({})))
        .await;
    assert_eq!(kind(&told), STREAM);
    let messages = messages(&told);
    let (answer, logged) = messages.split_last().expect("there is an answer");
    assert_eq!(logged.len(), 3, "{messages:?}");
    for message in logged {
        assert_eq!(message["method"], "notifications/message");
        assert_eq!(message["params"]["level"], "info");
    }
    assert_eq!(answer["id"], 2);
    assert!(answer["result"]["content"].is_array(), "{answer}");
}

#[tokio::test]
async fn a_session_sets_the_level_of_its_log_messages() {
    let product = gateway().await;
    let (client, other) = (
        connect(&product, "2025-11-25").await,
        connect(&product, "2025-11-25").await,
    );
    let set = |level: Value| request(1, "logging/setLevel", &json!({ "level": level }));
    let answer = client.post(&[], set(json!("loud"))).await.json();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = client.post(&[], set(json!("warning"))).await.json();
    assert_eq!(answer["result"], json!({}));

    let logging = || call(2, "test_tool_with_logging", &json!({}));
    assert_eq!(kind(&client.post(&[], logging()).await), JSON);
    assert_eq!(kind(&other.post(&[], logging()).await), STREAM);
}

#[tokio::test]
async fn a_client_that_reads_no_streams_is_told_and_asked_nothing() {
    let product = gateway().await;
    let client = connect(&product, "2025-11-25").await;
    let plain = [("accept", JSON)];
    for (tool, arguments) in [
        ("test_tool_with_logging", json!({})),
        ("test_tool_with_progress", json!({})),
        ("test_elicitation", json!({ "message": "Who?" })),
    ] {
        let answer = client.post(&plain, call(3, tool, &arguments)).await;
        assert_eq!(answer.status, StatusCode::OK, "{tool}");
        assert_eq!(kind(&answer), JSON, "{tool}");
        let asked = answer.body.contains("did not declare 'elicitation'");
        assert_eq!(asked, tool == "test_elicitation", "{}", answer.body);
    }
}

#[tokio::test]
async fn a_call_in_a_list_is_told_and_asked_nothing() {
    let product = gateway().await;
    let client = connect(&product, "2025-03-26").await;
    let list = [
        call(1, "test_tool_with_progress", &json!({})),
        call(2, "test_elicitation", &json!({ "message": "Who?" })),
    ];
    let answer = client.post(&[], format!("[{}]", list.join(","))).await;
    assert_eq!(kind(&answer), JSON);
    let answers = answer.json();
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
    let refused = "did not declare 'elicitation'";
    assert!(answers[1].to_string().contains(refused), "{answers}");
}

/// A gateway with one server of sessions.
async fn gateway() -> Product {
    let server = json!({ "command": SERVER_PROGRAM, "args": ["--stdio", "--protocol", "session"], "trust": "auto" });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": { "whole": server } })).await;
    product.settle().await;
    product
}

/// A client that can be asked everything, at the endpoint of the server.
async fn connect(product: &Product, revision: &str) -> HttpClient {
    let client = HttpClient::without_session(&format!("{}/s/whole", product.endpoint()));
    let hello = json!({
        "protocolVersion": revision,
        "capabilities": { "elicitation": {}, "sampling": {}, "roots": {} },
        "clientInfo": { "name": "c", "version": "1" },
    });
    let answer = client.post(&[], request(0, "initialize", &hello)).await;
    let offered = answer.json()["result"]["capabilities"]["logging"].clone();
    assert_eq!(offered, json!({}), "{}", answer.body);
    let id = answer.headers["mcp-session-id"]
        .to_str()
        .expect("the id is text")
        .to_owned();
    client.with_session(Some(&id))
}

fn call(id: u64, tool: &str, arguments: &Value) -> String {
    let params =
        json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "far" } });
    request(id, "tools/call", &params)
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn kind(answer: &HttpResponse) -> &str {
    answer.headers["content-type"]
        .to_str()
        .expect("the type is text")
}

/// The messages of a stream.
fn messages(answer: &HttpResponse) -> Vec<Value> {
    let data = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    data.map(decode).collect()
}
