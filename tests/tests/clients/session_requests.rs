//! Requests of a session: calling one off, and several in one list.

use http::StatusCode;
use mcpproxy_tests::{
    Client, Fixture, Home, HttpClient, Product, StdioClient, decode, eventually, within,
};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 2] = [
    r#"{"name":"slow","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"fast","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
];

#[tokio::test]
async fn a_call_of_a_session_can_be_called_off() {
    let (fixture, product) = gateway().await;
    let client = product.connect().await;
    let other = product.connect().await;
    let slow = send(&client, call(1, "slow"));
    wait_for_calls(&fixture, 1).await;
    // Neither another id nor another session is meant.
    for (from, id) in [
        (&client, json!(2)),
        (&client, json!("1")),
        (&other, json!(1)),
    ] {
        assert_eq!(
            from.post(&[], cancel(&id)).await.status,
            StatusCode::ACCEPTED
        );
    }
    assert!(!slow.is_finished());
    client.post(&[], cancel(&json!(1))).await;
    let (status, body) = within("the request ends", slow).await.unwrap();
    assert_eq!((status, &*body), (StatusCode::ACCEPTED, ""));
    let record = eventually("the call is in doubt", async || {
        let page = product.get("/activity?tool=slow&status=in_doubt").await;
        let record = page["activities"][0].clone();
        record["duration_ms"].is_number().then_some(record)
    })
    .await;
    assert_eq!(record["error"]["code"], "CALLER_GONE", "{record}");
    fixture.open_gate("slow");
    check_answer(&client.exchange(call(1, "fast")).await, "fast {}");
}

#[tokio::test]
async fn of_two_requests_with_the_same_id_none_is_called_off() {
    let (fixture, product) = gateway().await;
    let client = product.connect().await;
    let both = [
        send(&client, call(1, "slow")),
        send(&client, call(1, "slow")),
    ];
    wait_for_calls(&fixture, 2).await;
    client.post(&[], cancel(&json!(1))).await;
    fixture.open_gate("slow");
    for slow in both {
        let (status, body) = within("the slow answer", slow).await.unwrap();
        assert_eq!(status, StatusCode::OK);
        check_answer(&body, "slow {}");
    }
}

#[tokio::test]
async fn a_call_over_stdio_can_be_called_off() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    check_calling_off(&fixture, home.stdio().await).await;
    let listed = home
        .run(&["activity", "list", "--status", "in_doubt", "-o", "json"])
        .await;
    assert!(listed.stdout.contains("CALLER_GONE"), "{listed:?}");
}

#[tokio::test]
async fn a_call_through_a_running_gateway_can_be_called_off() {
    let (fixture, product) = gateway().await;
    check_calling_off(&fixture, product.stdio().await).await;
    eventually("the call is in doubt", async || {
        let page = product.get("/activity?tool=slow&status=in_doubt").await;
        page["activities"][0]["duration_ms"]
            .is_number()
            .then_some(())
    })
    .await;
}

async fn check_calling_off(fixture: &Fixture, client: StdioClient) {
    client.send_line(&call(1, "slow")).await;
    wait_for_calls(fixture, 1).await;
    client.send_line(&cancel(&json!(1))).await;
    client.send_line(&call(2, "fast")).await;
    let answer = client.read_line().await;
    assert_eq!(decode(&answer)["id"], 2, "{answer}");
    fixture.open_gate("slow");
    let answer = client.exchange(call(3, "fast")).await;
    check_answer(&answer, "fast {}");
    assert_eq!(client.finish().await, 0);
}

#[tokio::test]
async fn a_list_of_messages_is_answered_by_a_list_in_one_revision_only() {
    let (_fixture, product) = gateway().await;
    let list = list();
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let client = open_session(&product, revision).await;
        let answer = client.post(&[], list.clone()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{answer:?}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], -32600, "{answer:?}");
        assert!(error["message"].as_str().unwrap().contains("2025-03-26"));
    }
    let client = open_session(&product, "2025-03-26").await;
    let answer = client.post(&[], list).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    check_list(&answer.json());

    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let answer = client.post(&[], json!([told, told]).to_string()).await;
    assert_eq!((answer.status, &*answer.body), (StatusCode::ACCEPTED, ""));
    let many = vec![told; 101];
    for wrong in [json!([]), json!(many)] {
        let answer = client.post(&[], wrong.to_string()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert_eq!(answer.json()["error"]["code"], -32600);
    }
    let events = [("accept", "text/event-stream")];
    let answer = client.post(&events, format!("[{}]", call(1, "fast"))).await;
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    assert!(answer.body.contains(r#"data: [{"jsonrpc""#), "{answer:?}");
}

#[tokio::test]
async fn a_list_over_stdio_is_answered_by_a_list_in_one_revision_only() {
    let (_fixture, product) = gateway().await;
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    for home in [&home, &product.home] {
        for revision in ["2025-03-26", "2025-11-25"] {
            let mut command = home.command();
            command.arg("stdio");
            let client = StdioClient::start_silent(command);
            let params = json!({ "protocolVersion": revision, "capabilities": {} });
            client.request("initialize", &params).await;
            client.send_line(&list()).await;
            let answer = decode(&client.read_line().await);
            if revision == "2025-03-26" {
                check_list(&answer);
            } else {
                assert_eq!(answer["error"]["code"], -32600, "{answer}");
            }
            assert_eq!(client.finish().await, 0);
        }
    }
}

/// Two calls, two mistakes, something that cannot be in a list, and what wants no answer.
fn list() -> String {
    let parts = [
        call(1, "fast"),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        "7".to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"unknown"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#
            .to_owned(),
        call(1, "fast"),
    ];
    format!("[{}]", parts.join(","))
}

#[track_caller]
fn check_list(answer: &Value) {
    let found: Vec<(&Value, &Value)> = answer
        .as_array()
        .unwrap_or_else(|| panic!("no list: {answer}"))
        .iter()
        .map(|answer| {
            let text = &answer["result"]["content"][0]["text"];
            let told = if text.is_null() {
                &answer["error"]["code"]
            } else {
                text
            };
            (&answer["id"], told)
        })
        .collect();
    let (one, none, fast) = (json!(1), Value::Null, json!("fast {}"));
    let (invalid, unknown) = (json!(-32600), json!(-32601));
    assert_eq!(
        found,
        [
            (&one, &fast),
            (&none, &invalid),
            (&json!(2), &unknown),
            (&json!(3), &invalid),
            (&one, &fast),
        ],
        "{answer}"
    );
}

async fn gateway() -> (Fixture, Product) {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    (fixture, product)
}

async fn open_session(product: &Product, revision: &str) -> HttpClient {
    let client = HttpClient::without_session(&product.endpoint());
    let params = json!({ "protocolVersion": revision, "capabilities": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let answer = client.post(&[], body.to_string()).await;
    let id = answer.headers["mcp-session-id"]
        .to_str()
        .expect("the id is text")
        .to_owned();
    client.with_session(Some(&id))
}

/// Sends a message without waiting for its answer.
fn send(client: &HttpClient, message: String) -> tokio::task::JoinHandle<(StatusCode, String)> {
    let client = client.clone();
    tokio::spawn(async move {
        let answer = client.post(&[], message).await;
        (answer.status, answer.body)
    })
}

async fn wait_for_calls(fixture: &Fixture, count: usize) {
    eventually("the slow calls are in flight", async || {
        (fixture.ledger().len() >= count).then_some(())
    })
    .await;
}

fn fixture() -> Fixture {
    Fixture::new(PROGRAMS).tools(&TOOLS).gate("slow")
}

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": { "srv": fixture.entry() } })
}

fn call(id: u64, tool: &str) -> String {
    let arguments =
        json!({ "name": format!("srv:{tool}"), "intent": { "operation_type": "read" } });
    let params = json!({ "name": "call_tool_read", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

fn cancel(id: &Value) -> String {
    let params = json!({ "requestId": id });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()
}

#[track_caller]
fn check_answer(answer: &str, text: &str) {
    let answer = decode(answer);
    assert_eq!(answer["result"]["content"][0]["text"], text, "{answer}");
}
