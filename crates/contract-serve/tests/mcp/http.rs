//! Streamable HTTP on a real socket, message by message.

use hyper::StatusCode;
use mcpproxy_contract_serve::{self as mcp, ServeError};
use serde_json::{Value, json};

use crate::support::{Server, call, send, within};
use crate::tools::{self, Event};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CORRELATION: &str = "019a0000-0000-7000-8000-000000000001";

async fn server() -> Server {
    Server::start(|http| http).await
}

/// Begins a session and gives its id.
async fn session(server: &Server) -> String {
    let reply = server.initialize("test-agent", "3.2.1").await;
    reply.header("mcp-session-id").to_owned()
}

#[tokio::test]
async fn a_session_begins_lists_and_calls() {
    let server = server().await;
    let begun = server.initialize("test-agent", "3.2.1").await;
    assert_eq!(begun.status, StatusCode::OK);
    let result = &begun.json()["result"];
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"]["name"], "cards");
    let session = [("mcp-session-id", begun.header("mcp-session-id"))];
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(
        server.post(&session, &ready).await.status,
        StatusCode::ACCEPTED
    );

    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let listed = server.post(&session, &list).await.json();
    let tools = listed["result"]["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), tools::service().registry().get_all().count());
    assert_eq!(
        tools[0]["_meta"]["dev.mcpproxy/definition"]["name"],
        "get-card"
    );

    let reply = server
        .post(
            &session,
            &call(&json!(3), "get-card", &json!({ "card": "one" })),
        )
        .await;
    assert_eq!(reply.structured()["data"]["front"], "one");
    assert_eq!(
        reply.json()["result"].get("resultType"),
        None,
        "of a later revision"
    );
}

#[tokio::test]
async fn the_context_comes_from_session_and_headers() {
    let server = server().await;
    let session = session(&server).await;
    let traceparent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("traceparent", traceparent.as_str()),
        ("x-correlation-id", CORRELATION),
    ];
    let reply = server
        .post(&headers, &call(&json!(1), "show-context", &json!({})))
        .await;
    let seen = &reply.structured()["data"];
    assert_eq!(seen["agent"], "test-agent");
    assert_eq!(seen["version"], "3.2.1");
    assert_eq!(seen["user"], "");
    assert_eq!(seen["session"], session.as_str());
    assert_eq!(seen["trace"], TRACE);
    assert_eq!(seen["correlation"], CORRELATION);

    // Without a session nobody has said who calls, and rmcp must not say it is itself.
    let reply = server
        .post(&[], &call(&json!(1), "show-context", &json!({})))
        .await;
    let seen = &reply.structured()["data"];
    assert_eq!(
        (&seen["agent"], &seen["version"]),
        (&json!("unknown"), &json!("0.0.0"))
    );
    assert_eq!(seen["session"], "");
    assert_ne!(seen["correlation"], CORRELATION);
}

#[tokio::test]
async fn a_request_of_the_newest_revision_says_itself_who_calls() {
    let server = server().await;
    let mut message = call(&json!(1), "show-context", &json!({}));
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "new-agent", "version": "9.0.0" },
        "traceparent": format!("00-{TRACE}-b7ad6b7169203331-01"),
    });
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "show-context"),
        ("mcp-session-id", "of an earlier life"),
    ];
    let reply = server.post(&headers, &message).await;
    assert_eq!(reply.json()["result"]["resultType"], "complete");
    let seen = &reply.structured()["data"];
    assert_eq!(
        (&seen["agent"], &seen["version"]),
        (&json!("new-agent"), &json!("9.0.0"))
    );
    assert_eq!(seen["trace"], TRACE);
    assert_eq!(seen["session"], "");
    assert_eq!(seen["metadata"], json!({}));
}

#[tokio::test]
async fn calls_with_one_id_in_one_session_get_their_own_answers() {
    let mut server = server().await;
    let session = session(&server).await;
    let headers = [("mcp-session-id", session.as_str())];
    let slow_call = call(&json!(1), "wait-long", &json!({}));
    let (address, slow_headers) = (server.address, headers);
    let slow = send(
        address,
        "POST",
        "/mcp",
        &slow_headers,
        slow_call.to_string(),
    );
    let quick = async {
        assert_eq!(within(server.events.recv()).await, Some(Event::Began));
        let reply = server
            .post(
                &headers,
                &call(&json!(1), "get-card", &json!({ "card": "one" })),
            )
            .await;
        server.release.notify_one();
        reply
    };
    let (slow, quick) = within(async { tokio::join!(slow, quick) }).await;
    assert_eq!(quick.structured()["data"]["front"], "one");
    assert_eq!(slow.structured()["data"]["front"], "released");
}

#[tokio::test]
async fn what_breaks_costs_one_call() {
    let server = server().await;
    let broken = server
        .post(&[], &call(&json!(1), "break-down", &json!({})))
        .await;
    assert_eq!(broken.structured()["error"]["code"], "INTERNAL");
    let in_a_rule = server
        .post(
            &[],
            &call(&json!(1), "break-rule", &json!({ "value": "y" })),
        )
        .await;
    assert_eq!(in_a_rule.structured()["error"]["code"], "INTERNAL");
    let unknown = server
        .post(&[], &call(&json!(1), "get-cart", &json!({})))
        .await;
    assert_eq!(unknown.json()["error"]["code"], -32602);
    for body in ["", "{", "[]", "null", "{\"jsonrpc\":\"2.0\"}", "\u{0}"] {
        let reply = server.send("POST", "/mcp", body.to_owned()).await;
        assert!(reply.status.is_client_error(), "{body}: {reply:?}");
    }
    let reply = server
        .post(&[], &call(&json!(1), "get-card", &json!({ "card": "one" })))
        .await;
    assert_eq!(reply.structured()["data"]["front"], "one");
}

#[tokio::test]
async fn a_message_has_a_size_a_place_and_a_known_session() {
    let server = server().await;
    let large = "x".repeat(5 * 1024 * 1024);
    assert_eq!(
        server.send("POST", "/mcp", large).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    let elsewhere = server.send("POST", "/", String::new()).await;
    assert_eq!(elsewhere.status, StatusCode::NOT_FOUND);
    assert!(elsewhere.text.contains("/mcp"));
    let reading = server.send("GET", "/mcp", String::new()).await;
    assert_eq!(reading.status, StatusCode::METHOD_NOT_ALLOWED);
    let foreign = [("mcp-session-id", "0af76519-16cd")];
    let reply = server
        .post(&foreign, &call(&json!(1), "show-context", &json!({})))
        .await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_web_page_cannot_call_under_another_name_or_from_another_place() {
    let server = server().await;
    let message = call(&json!(1), "show-context", &json!({}));
    for (header, value, expected) in [
        ("host", "evil.example", StatusCode::FORBIDDEN),
        ("origin", "http://evil.example", StatusCode::FORBIDDEN),
        ("origin", "null", StatusCode::FORBIDDEN),
        ("host", "localhost:1234", StatusCode::OK),
        ("origin", "http://localhost:3000", StatusCode::OK),
        ("origin", "http://[::1]:3000", StatusCode::OK),
    ] {
        let reply = server.post(&[(header, value)], &message).await;
        assert_eq!(reply.status, expected, "{header}: {value}");
    }
    let named = |http: mcp::Http| {
        http.hosts(["cards.example"])
            .origins(["https://app.example:443"])
    };
    let server = Server::start(named).await;
    let headers = [("host", "cards.example"), ("origin", "https://app.example")];
    assert_eq!(server.post(&headers, &message).await.status, StatusCode::OK);
    assert_eq!(
        server.post(&[], &message).await.status,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn nothing_is_served_to_everybody() {
    let refused = mcp::serve_http(tools::service(), "0.0.0.0:0").await;
    let error = refused.expect_err("nothing says who may call");
    assert!(matches!(error, ServeError::Unprotected(_)));
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0")
        .await
        .expect("a free port");
    let refused = mcp::http(tools::service())
        .run(listener, std::future::pending())
        .await;
    assert!(matches!(refused, Err(ServeError::Unprotected(_))));
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = taken.local_addr().expect("an address");
    let refused = mcp::serve_http(tools::service(), address).await;
    assert!(matches!(refused, Err(ServeError::Listen(_))));
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_call_with_it() {
    let mut server = server().await;
    let message = call(&json!(1), "wait-long", &json!({})).to_string();
    let asked = tokio::spawn(async move {
        send(server.address, "POST", "/mcp", &[], message).await;
    });
    assert_eq!(within(server.events.recv()).await, Some(Event::Began));
    asked.abort();
    assert_eq!(within(server.events.recv()).await, Some(Event::Ended));
}

#[tokio::test]
async fn a_notification_cancels_the_call_of_its_own_session() {
    let mut server = server().await;
    let (own, other) = (session(&server).await, session(&server).await);
    let cancel = |id: Value| {
        let params = json!({ "requestId": id, "reason": "no longer needed" });
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
    };
    let headers = [("mcp-session-id", own.as_str())];
    let message = call(&json!("a"), "wait-long", &json!({})).to_string();
    let asked = send(server.address, "POST", "/mcp", &headers, message);
    let cancelled = async {
        assert_eq!(within(server.events.recv()).await, Some(Event::Began));
        let elsewhere = [("mcp-session-id", other.as_str())];
        server.post(&elsewhere, &cancel(json!("a"))).await;
        server.post(&headers, &cancel(json!("b"))).await;
        assert!(
            server.events.try_recv().is_err(),
            "neither was meant for this call"
        );
        let reply = server.post(&headers, &cancel(json!("a"))).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED);
        assert_eq!(within(server.events.recv()).await, Some(Event::Ended));
    };
    let (asked, ()) = within(async { tokio::join!(asked, cancelled) }).await;
    assert_eq!(
        (asked.status, asked.text.as_str()),
        (StatusCode::ACCEPTED, "")
    );
}

#[tokio::test]
async fn a_call_in_flight_comes_to_its_end_when_the_server_stops() {
    let mut server = server().await;
    let (address, release) = (server.address, std::sync::Arc::clone(&server.release));
    let message = call(&json!(1), "wait-long", &json!({})).to_string();
    let asked = tokio::spawn(async move { send(address, "POST", "/mcp", &[], message).await });
    assert_eq!(within(server.events.recv()).await, Some(Event::Began));
    let stopped = server.stop();
    release.notify_one();
    let reply = within(asked).await.expect("no panic");
    assert_eq!(reply.structured()["data"]["front"], "released");
    stopped.await.expect("an end in order");
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn obs_4_metrics_are_served_for_prometheus() {
    let server = server().await;
    let card = json!({ "card": "one" });
    server.post(&[], &call(&json!(1), "get-card", &card)).await;
    let metrics = server.send("GET", "/metrics", String::new()).await;
    assert_eq!(metrics.status, StatusCode::OK);
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(metrics.header("content-type"), format);
    let counted = r#"mcp_tool_executions_total{tool="get-card"} 1"#;
    assert!(metrics.text.contains(counted), "{}", metrics.text);
    assert!(metrics.text.ends_with("# EOF\n"), "{}", metrics.text);

    let posted = server.send("POST", "/metrics", String::new()).await;
    assert_eq!(posted.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn metrics_are_not_for_pages_of_others() {
    let ask = async |server: &Server, host: &str| {
        let headers = [("host", host)];
        let asked = send(server.address, "GET", "/metrics", &headers, String::new());
        within(asked).await.status.as_u16()
    };
    let own = server().await;
    for (host, status) in [
        ("localhost", 200),
        ("LOCALHOST:80", 200),
        ("[::1]:8080", 200),
        ("127.0.0.1", 200),
        ("evil.example", 403),
        ("localhost.evil.example:80", 403),
    ] {
        assert_eq!(ask(&own, host).await, status, "{host}");
    }
    let named = Server::start(|http| http.hosts(["cards.example"])).await;
    for (host, status) in [("cards.example:80", 200), ("localhost", 403)] {
        assert_eq!(ask(&named, host).await, status, "{host}");
    }
}

#[tokio::test]
async fn ctx_user_id_is_taken_from_a_gateway_and_kept_from_metadata() {
    let server = server().await;
    let mut message = call(&json!(1), "show-context", &json!({}));
    message["params"]["_meta"] = json!({ "dev.mcpproxy/userId": "ann", "tenant": "north" });
    let reply = server.post(&[], &message).await;
    let seen = &reply.structured()["data"];
    assert_eq!(seen["user"], "ann");
    assert_eq!(seen["metadata"], json!({ "tenant": "north" }));
}
