//! Revision 2026-07-28 over HTTP, beside the revisions with sessions: requests that stand for themselves.

use http::{Method, StatusCode};
use http_body_util::BodyExt;
use mcpproxy_tests::stateless_client::{STATELESS, introduced, introduction};
use mcpproxy_tests::{
    Client, Fixture, HttpClient, HttpResponse, Product, StatelessClient, decode, eventually, within,
};
use serde_json::{Value, json};

use crate::PROGRAMS;

const WITH_SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// What an upstream of another kind may say: it must reach no client of a session, and no other one twice.
const RESULT: &str = r#"{"content":[{"type":"text","text":"done"}],"resultType":"complete"}"#;

#[tokio::test]
async fn every_revision_is_served_at_the_same_endpoint() {
    let tool = r#"{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
    let fixture = Fixture::new(PROGRAMS).tools(&[tool]).result("look", RESULT);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let stateless = StatelessClient::new(&product.endpoint());
    for revision in WITH_SESSIONS {
        let session = open_session(&product, revision).await;
        let listed = session.request("tools/list", &json!({})).await;
        let members: Vec<&String> = listed["result"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["tools"], "{revision}");
        let called = session.call("call_tool_read", &look()).await;
        assert_eq!(called["content"][0]["text"], "done", "{called}");
        assert!(called.get("resultType").is_none(), "{revision}: {called}");
        let unknown = session.post(&[], message("unknown/method")).await;
        check_error(&unknown, StatusCode::OK, -32601);
        let discover = session.post(&[], message("server/discover")).await;
        check_error(&discover, StatusCode::OK, -32601);
        check_stateless(&stateless).await;
    }
}

#[tokio::test]
async fn discovery_tells_what_is_there() {
    let product = gateway().await;
    let client = StatelessClient::new(&product.endpoint());
    let answer = client.ask("server/discover", &json!({})).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.headers.get("mcp-session-id").is_none());
    let result = &answer.json()["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"], json!([STATELESS]));
    let offered = json!({
        "tools": {}, "prompts": {}, "resources": { "subscribe": true }, "completions": {},
    });
    assert_eq!(result["capabilities"], offered);
    assert!(
        result["instructions"]
            .as_str()
            .unwrap()
            .contains("retrieve_tools")
    );
    // They name the servers that this caller may use.
    assert!(
        (1..=60_000).contains(&result["ttlMs"].as_u64().unwrap()),
        "{result}"
    );
    assert_eq!(result["cacheScope"], "private");
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "mcpproxy");
    assert!(server["version"].is_string());
}

#[tokio::test]
async fn a_request_has_to_introduce_itself() {
    let product = gateway().await;
    let client = StatelessClient::new(&product.endpoint());
    let meta = |change: &dyn Fn(&mut Value)| {
        let mut meta = introduction();
        change(&mut meta);
        json!({ "_meta": meta })
    };
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let without = |key: &'static str| meta(&|meta| drop(meta.as_object_mut().unwrap().remove(key)));
    let with = |key: &'static str, value: Value| meta(&|meta| meta[key] = value.clone());
    for (named, params, code) in [
        (STATELESS, json!({}), -32602),
        (STATELESS, json!({ "_meta": null }), -32602),
        (STATELESS, json!({ "_meta": 5 }), -32602),
        (STATELESS, without(version), -32602),
        (STATELESS, without(capabilities), -32602),
        (STATELESS, with(capabilities, json!("all")), -32602),
        (STATELESS, with(version, json!("2027-01-01")), -32020),
        (STATELESS, with(version, json!("2025-11-25")), -32020),
        ("", with(version, json!(STATELESS)), -32020),
        ("2025-11-25", with(version, json!(STATELESS)), -32020),
        ("2025-11-25", with(version, json!("2025-11-25")), -32022),
        ("2027-01-01", with(version, json!("2027-01-01")), -32022),
        ("v999", with(version, json!("v999")), -32022),
        ("2027-01-01", json!({}), -32022),
    ] {
        for method in ["tools/list", "server/discover"] {
            let headers = [("mcp-protocol-version", named)];
            let answer = client.ask_with(&headers, method, &params).await;
            let error = check_error(&answer, StatusCode::BAD_REQUEST, code);
            assert_eq!(answer.json()["id"], 7, "{answer:?}");
            if code == -32022 {
                assert_eq!(error["data"]["supported"], json!([STATELESS]));
                assert_eq!(error["data"]["requested"], named);
            }
        }
    }
    let nameless = without("io.modelcontextprotocol/clientInfo");
    let answer = client.ask_with(&[], "tools/list", &nameless).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
}

#[tokio::test]
async fn headers_have_to_repeat_the_message() {
    let product = gateway().await;
    let client = StatelessClient::new(&product.endpoint());
    let call = introduced(&json!({ "name": "retrieve_tools", "arguments": { "query": "x" } }));
    for (name, value, is_fine) in [
        ("mcp-method", "tools/call", true),
        ("mcp-method", "  tools/call ", true),
        ("mcp-method", "", false),
        ("mcp-method", "tools/list", false),
        ("mcp-method", "Tools/Call", false),
        ("mcp-name", "retrieve_tools", true),
        ("mcp-name", "=?base64?cmV0cmlldmVfdG9vbHM=?=", true),
        ("mcp-name", "", false),
        ("mcp-name", "describe_tool", false),
        ("mcp-name", "=?base64?cmV0cmlldmVfdG9vbHM?=", false),
        ("mcp-name", "=?base64?!!!!?=", false),
        // No tool here has a parameter that is mirrored, so such a header says nothing.
        ("mcp-param-query", "y", true),
        // There are no sessions to name.
        (
            "mcp-session-id",
            "00000000-0000-4000-8000-000000000000",
            true,
        ),
    ] {
        let answer = client.ask_with(&[(name, value)], "tools/call", &call).await;
        if is_fine {
            assert_eq!(answer.status, StatusCode::OK, "{name}: {value}: {answer:?}");
            assert_eq!(answer.json()["result"]["resultType"], "complete");
        } else {
            check_error(&answer, StatusCode::BAD_REQUEST, -32020);
        }
    }
    let twice = [
        ("mcp-name", "retrieve_tools"),
        ("mcp-name", "retrieve_tools"),
    ];
    let answer = client.ask_with(&twice, "tools/call", &call).await;
    check_error(&answer, StatusCode::BAD_REQUEST, -32020);
}

#[tokio::test]
async fn what_the_revision_does_not_have_is_not_there() {
    let product = gateway().await;
    let client = StatelessClient::new(&product.endpoint());
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "unknown/method",
    ] {
        let answer = client.ask(method, &json!({})).await;
        check_error(&answer, StatusCode::NOT_FOUND, -32601);
        assert_eq!(answer.json()["id"], 7);
    }
    let unknown = json!({ "name": "call_tool", "arguments": {} });
    check_error(
        &client.ask("tools/call", &unknown).await,
        StatusCode::OK,
        -32602,
    );

    let plain = HttpClient::without_session(&product.endpoint());
    let version = [("mcp-protocol-version", STATELESS)];
    for method in [Method::GET, Method::DELETE] {
        let answer = plain.send(method, &version, String::new()).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(answer.headers["allow"], "POST");
    }
    let told = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let answer = plain.post(&version, told.to_owned()).await;
    assert_eq!((answer.status, &*answer.body), (StatusCode::ACCEPTED, ""));
    let list = format!("[{}]", message("tools/list"));
    let answer = plain.post(&version, list).await;
    check_error(&answer, StatusCode::BAD_REQUEST, -32600);
}

#[tokio::test]
async fn a_stream_of_changes_is_opened_and_ends_in_order() {
    let mut product = gateway().await;
    let client = StatelessClient::new(&product.endpoint());
    let refused = client.ask("subscriptions/listen", &json!({})).await;
    check_error(&refused, StatusCode::BAD_REQUEST, -32602);

    let plain = HttpClient::without_session(&product.endpoint());
    let params = introduced(&json!({ "notifications": { "toolsListChanged": true } }));
    let body =
        json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params });
    let headers = [
        ("mcp-protocol-version", STATELESS),
        ("mcp-method", "subscriptions/listen"),
    ];
    let stream = plain.open(Method::POST, &headers, body.to_string()).await;
    assert_eq!(stream.status(), StatusCode::OK);
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut stream = stream.into_body();
    let first = within("the stream opens", stream.frame())
        .await
        .unwrap()
        .unwrap();
    let first = event(&first.into_data().unwrap());
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], json!({}));
    let key = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(first["params"]["_meta"][key], "s");

    product.stop().await;
    let rest = within("the stream ends", stream.collect()).await.unwrap();
    let last = event(&rest.to_bytes());
    assert_eq!(last["id"], "s");
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(last["result"]["_meta"][key], "s");
}

#[tokio::test]
async fn the_record_names_the_client_of_a_request() {
    let tool = r#"{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
    let fixture = Fixture::new(PROGRAMS).tools(&[tool]);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = StatelessClient::new(&product.endpoint());
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let mut params = introduced(&json!({ "name": "call_tool_read", "arguments": look() }));
    params["_meta"]["traceparent"] = json!(format!("00-{trace}-00f067aa0ba902b7-01"));
    let answer = client.ask_with(&[], "tools/call", &params).await.json();
    let id = answer["result"]["_meta"]["dev.mcpproxy/activity_id"].as_str();
    let record = product.record(id.unwrap()).await;
    assert_eq!(record["agent"], "mcpproxy-tests", "{record}");
    assert_eq!(record["metadata"]["client"]["version"], "2", "{record}");
    assert_eq!(record["trace_id"], trace, "{record}");
    assert!(record["session_id"].is_null(), "{record}");
}

#[tokio::test]
async fn a_client_that_hangs_up_calls_its_request_off() {
    let tool = r#"{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
    let fixture = Fixture::new(PROGRAMS).tools(&[tool]).gate("look");
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = StatelessClient::new(&product.endpoint());
    let params = json!({ "name": "call_tool_read", "arguments": look() });
    let call = tokio::spawn(async move { client.ask("tools/call", &params).await });
    eventually("the call is at its server", async || {
        (!fixture.ledger().is_empty()).then_some(())
    })
    .await;
    call.abort();
    let record = eventually("the call is in doubt", async || {
        let page = product.get("/activity?tool=look&status=in_doubt").await;
        let record = page["activities"][0].clone();
        record["duration_ms"].is_number().then_some(record)
    })
    .await;
    assert_eq!(record["error"]["code"], "CALLER_GONE", "{record}");
    fixture.open_gate("look");
}

async fn gateway() -> Product {
    Product::start(PROGRAMS, &json!({})).await
}

/// A client with a session in this revision, which the gateway has to agree to.
async fn open_session(product: &Product, revision: &str) -> HttpClient {
    let client = HttpClient::without_session(&product.endpoint());
    let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let answer = client.post(&[], body.to_string()).await;
    let result = &answer.json()["result"];
    assert_eq!(result["protocolVersion"], revision, "{answer:?}");
    assert!(result.get("resultType").is_none(), "{answer:?}");
    let id = answer.headers["mcp-session-id"]
        .to_str()
        .expect("the id is text")
        .to_owned();
    client.with_session(Some(&id))
}

async fn check_stateless(client: &StatelessClient) {
    let answer = client.ask("tools/list", &json!({})).await;
    let list = &answer.json()["result"];
    assert_eq!(list["resultType"], "complete", "{answer:?}");
    assert_eq!(list["cacheScope"], "public");
    assert!(list["ttlMs"].as_u64() > Some(0), "{list}");
    assert_eq!(list["tools"].as_array().map(Vec::len), Some(5));
    let params = json!({ "name": "call_tool_read", "arguments": look() });
    let answer = client.ask("tools/call", &params).await;
    assert_eq!(answer.body.matches("resultType").count(), 1, "{answer:?}");
    let called = &answer.json()["result"];
    assert_eq!(called["resultType"], "complete");
    assert_eq!(called["content"][0]["text"], "done", "{called}");
}

fn look() -> Value {
    json!({ "name": "srv:look", "intent": { "operation_type": "read" } })
}

fn message(method: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method }).to_string()
}

fn event(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).expect("an event is text");
    let data: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    decode(&data)
}

#[track_caller]
fn check_error(answer: &HttpResponse, status: StatusCode, code: i64) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    let error = answer.json()["error"].clone();
    assert_eq!(error["code"], code, "{answer:?}");
    assert!(error["message"].is_string(), "{answer:?}");
    error
}
