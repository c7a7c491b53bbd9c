//! Whoever listens is told when other tools are offered.

use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_tests::{Client, Fixture, HttpClient, Product, decode, within};
use serde_json::{Value, json};

use crate::endpoint_all::{PROGRAMS, READS, WRITES};

const TURN: &str =
    r#"{"name":"turn","description":"Turn","inputSchema":{},"annotations":{"readOnlyHint":false}}"#;

#[tokio::test]
async fn a_session_is_told_when_a_server_has_other_tools() {
    for (path, prefix, is_announced) in [
        ("/all", "srv__", true),
        ("/all", "srv__", false),
        ("/s/srv", "", true),
        ("/s/srv", "", false),
    ] {
        let fixture = Fixture::new(PROGRAMS).tools(&[READS, TURN]).on_call(
            "turn",
            &[WRITES, TURN],
            is_announced,
        );
        let fixture = if is_announced {
            fixture.list_changed()
        } else {
            fixture
        };
        let config = json!({ "mcpServers": { "srv": fixture.entry() } });
        let product = Product::start(PROGRAMS, &config).await;
        product.settle().await;
        let client = product.connect_to(path).await;
        let mut stream = Stream::of_session(&client).await;
        let look = format!("{prefix}look");
        assert!(client.tool_names().await.contains(&look));
        client.call(&format!("{prefix}turn"), &json!({})).await;
        if !is_announced {
            // What is not announced shows when the server is next asked.
            client.call(&format!("{prefix}put"), &json!({})).await;
        }
        assert_eq!(stream.next().await, changed());
        let after = client.tool_names().await;
        assert!(!after.contains(&look), "{after:?}");
        assert!(after.contains(&format!("{prefix}put")), "{after:?}");
    }
}

#[tokio::test]
async fn a_server_that_tells_of_no_change_is_asked_again_where_it_is_offered_alone() {
    let fixture =
        Fixture::new(PROGRAMS)
            .tools(&[READS, TURN])
            .on_call("turn", &[WRITES, TURN], false);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect_to("/s/srv").await;
    assert_eq!(client.tool_names().await, ["look", "turn"]);
    client.call("turn", &json!({})).await;
    assert_eq!(client.tool_names().await, ["put", "turn"]);
}

#[tokio::test]
async fn a_session_is_told_of_servers_and_of_the_operators_word() {
    let first = Fixture::new(PROGRAMS).tools(&[READS]);
    let second = Fixture::new(PROGRAMS).tools(&[WRITES]);
    let config = json!({ "mcpServers": { "first": first.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let all = product.connect_to("/all").await;
    let one = product.connect_to("/s/first").await;
    let (mut of_all, mut of_one) = (
        Stream::of_session(&all).await,
        Stream::of_session(&one).await,
    );
    let both = json!({ "first": first.entry(), "second": second.entry() });
    product.home.write_config(&json!({ "mcpServers": both }));
    let put = "second__put".to_owned();
    while !all.tool_names().await.contains(&put) {
        assert_eq!(of_all.next().await, changed());
    }
    let off = json!({ "tools": { "look": { "enabled": false } } });
    let config = json!({ "first": first.entry_with(&off) });
    product.home.write_config(&json!({ "mcpServers": config }));
    // To the one endpoint nothing happened before: another server is not its concern.
    assert_eq!(of_one.next().await, changed());
    assert!(one.tool_names().await.is_empty());
    while all.tool_names().await.contains(&put) {
        assert_eq!(of_all.next().await, changed());
    }
}

#[tokio::test]
async fn a_change_before_the_stream_was_opened_is_told_when_it_is() {
    let fixture = Fixture::new(PROGRAMS).tools(&[READS]);
    let config = json!({ "mcpServers": { "first": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect_to("/all").await;
    let look = "first__look".to_owned();
    assert!(client.tool_names().await.contains(&look));
    product.home.write_config(&json!({ "mcpServers": {} }));
    mcpproxy_tests::eventually("the server is gone", async || {
        (!client.tool_names().await.contains(&look)).then_some(())
    })
    .await;
    let mut stream = Stream::of_session(&client).await;
    assert_eq!(stream.next().await, changed());
}

#[tokio::test]
async fn endpoints_promise_what_they_announce() {
    let fixture = Fixture::new(PROGRAMS).tools(&[READS]);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    for (path, promised) in [("", false), ("/all", true), ("/s/srv", true)] {
        let client = HttpClient::without_session(&product.url(path));
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" },
        } });
        let answer = client.post(&[], hello.to_string()).await.json();
        let tools = &answer["result"]["capabilities"]["tools"];
        assert_eq!(tools["listChanged"] == true, promised, "{path}: {answer}");
    }
}

#[tokio::test]
async fn who_needs_no_session_is_told_of_what_it_asked_for() {
    let fixture = Fixture::new(PROGRAMS).tools(&[READS]);
    let config = json!({ "mcpServers": { "first": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let wanted = json!({ "toolsListChanged": true });
    for (path, wanted, promised) in [
        ("/all", &wanted, &wanted),
        ("/s/first", &wanted, &wanted),
        ("/all", &json!({}), &json!({})),
        ("", &wanted, &json!({})),
    ] {
        let mut stream = Stream::of_subscription(&product, path, wanted).await;
        let first = stream.next().await;
        let method = "notifications/subscriptions/acknowledged";
        assert_eq!(first["method"], method, "{path}: {first}");
        assert_eq!(first["params"]["notifications"], *promised, "{path}");
    }
    let mut all = Stream::of_subscription(&product, "/all", &wanted).await;
    let mut one = Stream::of_subscription(&product, "/s/first", &wanted).await;
    let off = json!({ "tools": { "look": { "enabled": false } } });
    let entry = fixture.entry_with(&off);
    let config = json!({ "mcpServers": { "first": entry } });
    for stream in [&mut all, &mut one] {
        stream.next().await;
    }
    product.home.write_config(&config);
    for stream in [&mut all, &mut one] {
        let told = stream.next().await;
        assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
        let id = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(*id, json!("s-1"), "{told}");
    }
    let request = by_itself("tools/list", &json!({}));
    let client = HttpClient::without_session(&product.url("/all"));
    let headers = headers_of("tools/list");
    let listed = client.post(&headers, request.to_string()).await.json();
    let result = &listed["result"];
    assert_eq!(result["cacheScope"], "private", "{listed}");
    assert_eq!(result["ttlMs"], 5000, "{listed}");
    assert!(!listed.to_string().contains("first__look"), "{listed}");
}

/// A request that stands for itself.
fn by_itself(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": "s-1", "method": method, "params": params })
}

fn headers_of(method: &str) -> [(&'static str, &str); 2] {
    [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ]
}

fn changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

/// A stream of messages from the gateway.
struct Stream {
    response: Response<Incoming>,
    buffer: String,
}

impl Stream {
    async fn of_session(client: &HttpClient) -> Self {
        let headers = [("accept", "text/event-stream"), ("content-type", "")];
        let response = client.open(Method::GET, &headers, String::new()).await;
        Self::of(response)
    }

    async fn of_subscription(product: &Product, path: &str, wanted: &Value) -> Self {
        let method = "subscriptions/listen";
        let request = by_itself(method, &json!({ "notifications": wanted }));
        let client = HttpClient::without_session(&product.url(path));
        let headers = headers_of(method);
        let response = client.open(Method::POST, &headers, request.to_string());
        Self::of(response.await)
    }

    fn of(response: Response<Incoming>) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        Self {
            response,
            buffer: String::new(),
        }
    }

    /// The next message; comments are passed over.
    async fn next(&mut self) -> Value {
        within("a message comes on the stream", async {
            loop {
                if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                    let data: Vec<&str> = event
                        .lines()
                        .filter_map(|line| line.strip_prefix("data:"))
                        .collect();
                    let (data, rest) = (data.join("\n"), rest.to_owned());
                    self.buffer = rest;
                    if !data.is_empty() {
                        return decode(&data);
                    }
                    continue;
                }
                let frame = self.response.frame().await.expect("the stream goes on");
                let data = frame.expect("the stream is whole").into_data();
                let data = data.expect("a stream has no trailers");
                self.buffer += std::str::from_utf8(&data).expect("the stream is UTF-8");
            }
        })
        .await
    }
}
