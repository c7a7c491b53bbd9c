//! What our own tests between the two protocols take for granted of the fixture.

use std::process::Command;

use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_tests::conformance::Server;
use mcpproxy_tests::stateless_client::{STATELESS, introduced};
use mcpproxy_tests::{
    HttpClient, HttpResponse, StatelessClient, StdioClient, decode, eventually, within,
};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_conformance-server");

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[tokio::test]
async fn a_server_of_the_session_era_does_not_know_how_to_be_discovered() {
    let server = Server::start(PROGRAM, "session").await;
    let answer = StatelessClient::new(server.endpoint())
        .ask("server/discover", &json!({}))
        .await;
    assert_eq!(answer.json()["error"]["code"], -32601, "{answer:?}");
    HttpClient::connect(server.endpoint()).await;

    let client = stdio("session");
    let params = introduced(&json!({}));
    let answer = exchange(&client, &request(1, "server/discover", &params)).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    initialize(&client).await;
}

#[tokio::test]
async fn a_server_of_the_stateless_era_refuses_sessions() {
    let server = Server::start(PROGRAM, "stateless").await;
    let old = HttpClient::without_session(server.endpoint());
    for message in [
        request(1, "initialize", &hello()),
        request(1, "tools/list", &json!({})),
    ] {
        let answer = old.post(&[], message.to_string()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{answer:?}");
        assert_eq!(answer.json()["error"]["code"], -32022, "{answer:?}");
    }
    let answer = StatelessClient::new(server.endpoint())
        .ask("server/discover", &json!({}))
        .await;
    let versions = &last_event(&answer)["result"]["supportedVersions"];
    assert_eq!(*versions, json!(["2026-07-28"]));

    let client = stdio("stateless");
    let answer = exchange(&client, &request(1, "initialize", &hello())).await;
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
}

#[tokio::test]
async fn a_session_is_asked_for_a_name_by_a_request() {
    let client = stdio("both");
    initialize(&client).await;
    for (answer, greeting) in outcomes() {
        let asked = exchange(&client, &call(2, "ask_name")).await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer });
        let result = exchange(&client, &reply).await;
        assert_eq!(text(&result), greeting, "{result}");
    }
}

#[tokio::test]
async fn without_a_session_the_call_is_repeated_with_the_name() {
    let server = Server::start(PROGRAM, "both").await;
    let client = StatelessClient::new(server.endpoint());
    let mut params = introduced(&json!({ "name": "ask_name", "arguments": {} }));
    let refused = client.ask_with(&[], "tools/call", &params).await;
    assert_eq!(last_event(&refused)["error"]["code"], -32021, "{refused:?}");

    params["_meta"][CAPABILITIES] = json!({ "elicitation": { "form": {} } });
    let asked = client.ask_with(&[], "tools/call", &params).await;
    let asked = last_event(&asked);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(
        asked["result"]["inputRequests"]["name"].is_object(),
        "{asked}"
    );
    for (answer, greeting) in outcomes() {
        params["inputResponses"] = json!({ "name": answer });
        let result = client.ask_with(&[], "tools/call", &params).await;
        assert_eq!(text(&last_event(&result)), greeting, "{result:?}");
    }
}

#[tokio::test]
async fn a_cancelled_call_is_counted() {
    let client = stdio("both");
    initialize(&client).await;
    let begun = json!({ "name": "wait", "arguments": {}, "_meta": { "progressToken": "begun" } });
    let notice = exchange(&client, &request(5, "tools/call", &begun)).await;
    assert_eq!(notice["params"]["progressToken"], "begun", "{notice}");
    assert_eq!(
        text(&exchange(&client, &call(6, "cancellations")).await),
        "0"
    );
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 },
    });
    client.send_line(&cancel.to_string()).await;
    eventually("the cancellation is counted", async || {
        let count = exchange(&client, &call(7, "cancellations")).await;
        (text(&count) == "1").then_some(())
    })
    .await;
}

#[tokio::test]
async fn without_a_session_a_client_that_goes_away_has_cancelled() {
    let server = Server::start(PROGRAM, "both").await;
    let mut params = introduced(&json!({ "name": "wait", "arguments": {} }));
    params["_meta"]["progressToken"] = json!("begun");
    let mut stream = open(&server, "tools/call", &params).await;
    let notice = next_event(&mut stream).await;
    assert_eq!(notice["params"]["progressToken"], "begun", "{notice}");
    drop(stream);
    let client = StatelessClient::new(server.endpoint());
    let params = json!({ "name": "cancellations", "arguments": {} });
    eventually("the cancellation is counted", async || {
        let count = client.ask("tools/call", &params).await;
        (text(&last_event(&count)) == "1").then_some(())
    })
    .await;
}

#[tokio::test]
async fn without_a_session_who_listens_is_told_of_what_it_asked_for() {
    let server = Server::start(PROGRAM, "stateless").await;
    let wanted = json!({ "resourceSubscriptions": ["test://watched-resource"] });
    let params = introduced(&json!({ "notifications": wanted }));
    let mut stream = open(&server, "subscriptions/listen", &params).await;
    let opened = next_event(&mut stream).await;
    assert_eq!(opened["params"]["notifications"], wanted, "{opened}");
    let client = StatelessClient::new(server.endpoint());
    // Nobody asked for changes of tools, so the next notice is of the resource.
    for tool in ["add_tool", "touch_resource"] {
        client
            .ask("tools/call", &json!({ "name": tool, "arguments": {} }))
            .await;
    }
    let notice = next_event(&mut stream).await;
    assert_eq!(notice["method"], "notifications/resources/updated");
    assert_eq!(notice["params"]["uri"], "test://watched-resource");
}

#[tokio::test]
async fn a_session_is_told_of_changes() {
    let client = stdio("both");
    initialize(&client).await;
    let notices = call_and_hear(&client, 2, "add_tool").await;
    assert_eq!(notices, ["notifications/tools/list_changed"]);
    assert_eq!(
        text(&exchange(&client, &call(3, "added")).await),
        "This tool was added."
    );

    let watched = json!({ "uri": "test://watched-resource" });
    let subscribed = exchange(&client, &request(4, "resources/subscribe", &watched)).await;
    assert_eq!(subscribed["result"], json!({}));
    let notices = call_and_hear(&client, 5, "touch_resource").await;
    assert_eq!(notices, ["notifications/resources/updated"]);
    let read = exchange(&client, &request(6, "resources/read", &watched)).await;
    let contents = &read["result"]["contents"][0]["text"];
    assert_eq!(*contents, "Watched resource, revision 2.");
}

/// Calls a tool and reads until both its result and one notice are there, in whichever order they come.
async fn call_and_hear(client: &StdioClient, id: u32, tool: &str) -> Vec<String> {
    client.send_line(&call(id, tool).to_string()).await;
    let mut heard = Vec::new();
    for _ in 0..2 {
        let message = decode(&client.read_line().await);
        match message["method"].as_str() {
            Some(method) => heard.push(method.to_owned()),
            None => assert_eq!(message["id"], id, "{message}"),
        }
    }
    heard
}

/// Sends a request without a session whose answer is a stream.
async fn open(server: &Server, method: &str, params: &Value) -> Response<Incoming> {
    let headers = [
        ("mcp-protocol-version", STATELESS),
        ("mcp-method", method),
        ("mcp-name", params["name"].as_str().unwrap_or_default()),
    ];
    let body = request(7, method, params).to_string();
    HttpClient::without_session(server.endpoint())
        .open(Method::POST, &headers, body)
        .await
}

/// The next message of a stream; the server writes each event at once.
async fn next_event(stream: &mut Response<Incoming>) -> Value {
    loop {
        let frame = within("an event arrives", stream.body_mut().frame()).await;
        let frame = frame
            .expect("the stream goes on")
            .expect("the stream is whole");
        let text = String::from_utf8(frame.into_data().unwrap_or_default().to_vec());
        let text = text.expect("an event is UTF-8");
        if let Some(data) = text.lines().find_map(|line| line.strip_prefix("data: {")) {
            return decode(&format!("{{{data}"));
        }
    }
}

/// The answers a user can give, and what the tool makes of them.
fn outcomes() -> [(Value, &'static str); 3] {
    [
        (
            json!({ "action": "accept", "content": { "name": "Ada" } }),
            "hello Ada",
        ),
        (json!({ "action": "decline" }), "declined"),
        (json!({ "action": "cancel" }), "cancelled"),
    ]
}

fn stdio(protocol: &str) -> StdioClient {
    let mut command = Command::new(PROGRAM);
    command.args(["--stdio", "--protocol", protocol]);
    StdioClient::start_silent(command)
}

async fn initialize(client: &StdioClient) {
    let answer = exchange(client, &request(0, "initialize", &hello())).await;
    assert_eq!(
        answer["result"]["protocolVersion"], "2025-11-25",
        "{answer}"
    );
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client.send_line(&ready.to_string()).await;
}

async fn exchange(client: &StdioClient, message: &Value) -> Value {
    client.send_line(&message.to_string()).await;
    decode(&client.read_line().await)
}

fn hello() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "fixture-protocols", "version": "1" },
    })
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn call(id: u32, tool: &str) -> Value {
    request(id, "tools/call", &json!({ "name": tool, "arguments": {} }))
}

fn text(answer: &Value) -> &str {
    let text = &answer["result"]["content"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

/// The answer itself, whether it came as an event or alone.
fn last_event(answer: &HttpResponse) -> Value {
    let mut data = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    match data.next_back() {
        Some(data) => decode(data),
        None => answer.json(),
    }
}
