//! Context of a call: what a service of the contract knows of it, inside the gateway and behind it.

use http::StatusCode;
use mcpproxy_tests::{Client, Fixture, Home, HttpClient, Product, StatelessClient, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const FIRST_TOOL: &str = env!("CARGO_BIN_EXE_first-tool-under-test");

/// A service inside the gateway and one behind it, each with the arguments of a call that reads.
const INSIDE: &str = "cards:list-decks";
const BEHIND: &str = "language:detect-language";

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const CORRELATION: &str = "019a0000-0000-7000-8000-000000000001";

/// A tool that announces the contract, and one that does not.
const KEEPING: &str = r#"{"name":"get-card","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"dev.mcpproxy/definition":{"name":"get-card"}}}"#;
const PLAIN: &str =
    r#"{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

async fn start() -> Product {
    let config = json!({ "mcpServers": { "language": { "command": FIRST_TOOL } } });
    let product = Product::start_in(Home::new(PROGRAMS, &config), &["--demo"]).await;
    product.settle().await;
    product
}

fn call_of(tool: &str, meta: &Value) -> Value {
    let args = match tool {
        BEHIND => json!({ "text": "the cat and the dog" }),
        _ => json!({}),
    };
    json!({
        "name": "call_tool_read",
        "arguments": { "name": tool, "args": args, "intent": { "operation_type": "read" } },
        "_meta": meta,
    })
}

/// `CallToolResult` of a call with these headers and this `_meta`.
async fn call(client: &HttpClient, tool: &str, headers: &[(&str, &str)], meta: &Value) -> Value {
    let params = call_of(tool, meta);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let answer = client.post(headers, message.to_string()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.json()["result"].clone()
}

/// The trace of a result, which has to be the one of its record.
async fn trace_of(product: &Product, result: &Value) -> String {
    let trace = result["structuredContent"]["metadata"]["traceId"].as_str();
    let trace = trace.unwrap_or_else(|| panic!("no trace: {result}"));
    let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
    let record = product.record(id.expect("the call has an id")).await;
    assert_eq!(record["trace_id"], trace, "{record}");
    trace.to_owned()
}

#[tokio::test]
async fn res_trace_a_call_without_a_trace_had_one_in_its_result_that_no_record_knew() {
    let product = start().await;
    let client = product.connect().await;
    let stateless = StatelessClient::new(&product.endpoint());
    let mut seen = Vec::new();
    for tool in [INSIDE, BEHIND] {
        for _ in 0..2 {
            let result = call(&client, tool, &[], &json!({})).await;
            seen.push(trace_of(&product, &result).await);
        }
        let arguments = &call_of(tool, &json!({}))["arguments"];
        let result = stateless.call("call_tool_read", arguments).await;
        seen.push(trace_of(&product, &result).await);

        let mut arguments = arguments.clone();
        arguments["variant"] = json!("call_tool_read");
        let rest = product
            .ask(http::Method::POST, "/tools/call", arguments.to_string())
            .await;
        seen.push(trace_of(&product, &rest.json()).await);
    }
    assert!(seen.iter().all(|trace| trace.len() == 32), "{seen:?}");
    seen.sort_unstable();
    let all = seen.len();
    seen.dedup();
    assert_eq!(seen.len(), all, "each call is a trace of its own");
}

#[tokio::test]
async fn res_trace_a_trace_in_the_message_of_a_session_was_not_taken_over() {
    let product = start().await;
    let client = product.connect().await;
    let other = TRACEPARENT.replace("4bf9", "0af7");
    for tool in [INSIDE, BEHIND] {
        let header = [("traceparent", TRACEPARENT)];
        let result = call(&client, tool, &header, &json!({})).await;
        assert_eq!(trace_of(&product, &result).await, TRACE);

        // What the message says is nearer to the client than what its envelope says.
        let header = [("traceparent", other.as_str())];
        let meta = json!({ "traceparent": TRACEPARENT });
        let result = call(&client, tool, &header, &meta).await;
        assert_eq!(trace_of(&product, &result).await, TRACE);
    }
}

#[tokio::test]
async fn res_corr_the_correlation_id_of_a_client_was_ignored_behind_the_gateway() {
    let product = start().await;
    let client = product.connect().await;
    let correlation =
        |result: &Value| result["structuredContent"]["metadata"]["correlationId"].clone();
    for tool in [INSIDE, BEHIND] {
        let header = [("x-correlation-id", CORRELATION)];
        let result = call(&client, tool, &header, &json!({})).await;
        assert_eq!(correlation(&result), CORRELATION, "{result}");
        let meta = json!({ "dev.mcpproxy/correlationId": CORRELATION });
        let result = call(&client, tool, &[], &meta).await;
        assert_eq!(correlation(&result), CORRELATION, "{result}");

        // Without one, the service and the log speak of the same request.
        let result = call(&client, tool, &[], &json!({})).await;
        let request = &result["_meta"]["dev.mcpproxy/request_id"];
        assert_eq!(&correlation(&result), request, "{result}");
        let wrong = json!({ "dev.mcpproxy/correlationId": "not an id" });
        let result = call(&client, tool, &[], &wrong).await;
        let request = &result["_meta"]["dev.mcpproxy/request_id"];
        assert_eq!(&correlation(&result), request, "{result}");
    }
}

/// A gateway with a server of the contract and a plain one, both of which tell what they were sent.
async fn with_servers(revision: Option<&str>) -> (Product, Fixture, Fixture) {
    let answer =
        r#"{"content":[{"type":"text","text":"no card"}],"isError":true,"resultType":"complete"}"#;
    let server = |tool: &str, name: &str| {
        let fixture = Fixture::new(PROGRAMS).tools(&[tool]).meta_ledger();
        let fixture = fixture.result(name, answer);
        match revision {
            Some(revision) => fixture.revision(revision),
            None => fixture,
        }
    };
    let (keeping, plain) = (server(KEEPING, "get-card"), server(PLAIN, "look"));
    let config = json!({ "mcpServers": { "keeping": keeping.entry(), "plain": plain.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    (product, keeping, plain)
}

fn without_protocol(meta: &Value) -> Value {
    let Some(members) = meta.as_object() else {
        return Value::Null;
    };
    let ours = members.iter();
    let ours = ours.filter(|(name, _)| !name.starts_with("io.modelcontextprotocol/"));
    ours.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[tokio::test]
async fn ctx_user_id_was_always_absent_and_is_nothing_that_a_client_can_send() {
    let (product, keeping, plain) = with_servers(None).await;
    let made = product
        .run(&[
            "token",
            "create",
            "ci",
            "--unannotated",
            "--operations",
            "read,write",
            "-o",
            "json",
        ])
        .await;
    assert_eq!(made.code, 0, "{made:?}");
    let token = made.json()["token"].as_str().map(str::to_owned);
    let token = token.expect("the token is shown");
    let forged = json!({ "dev.mcpproxy/userId": "eve", "dev.mcpproxy/other": 1 });

    let agent = HttpClient::connect_as(&product.endpoint(), &token).await;
    let anonymous = product.connect().await;
    for client in [&agent, &anonymous] {
        call(client, "keeping:get-card", &[], &forged).await;
        call(client, "plain:look", &[], &forged).await;
    }
    let told: Vec<Value> = keeping
        .metas()
        .iter()
        .map(|meta| meta["dev.mcpproxy/userId"].clone())
        .collect();
    assert_eq!(told, [json!("ci"), Value::Null]);
    assert!(
        keeping
            .metas()
            .iter()
            .all(|meta| meta["dev.mcpproxy/other"].is_null())
    );
    assert_eq!(plain.metas(), [Value::Null, Value::Null]);
}

#[tokio::test]
async fn ctx_metadata_was_always_empty_and_is_for_servers_of_the_contract_alone() {
    for revision in [None, Some("2026-07-28")] {
        let (product, keeping, plain) = with_servers(revision).await;
        let client = product.connect().await;
        let mut meta = json!({
            "traceparent": TRACEPARENT,
            "dev.mcpproxy/correlationId": CORRELATION,
            "com.example/tenant": { "name": "north" },
        });
        for tool in ["keeping:get-card", "plain:look"] {
            call(&client, tool, &[], &meta).await;
        }
        let [told] = &keeping.metas()[..] else {
            panic!("one call: {:?}", keeping.ledger());
        };
        assert_eq!(without_protocol(told), meta);
        // The trace is of W3C and of no contract, so every server may go on with it.
        let [told] = &plain.metas()[..] else {
            panic!("one call: {:?}", plain.ledger());
        };
        assert_eq!(
            without_protocol(told),
            json!({ "traceparent": TRACEPARENT })
        );

        for number in 0..100 {
            meta[format!("n{number}")] = json!(number);
        }
        meta["large"] = json!("x".repeat(9_000));
        call(&client, "keeping:get-card", &[], &meta).await;
        let told = eventually("the second call is in the ledger", async || {
            keeping.metas().get(1).map(without_protocol)
        })
        .await;
        assert!(told["large"].is_null(), "{told}");
        let members = told.as_object().map(serde_json::Map::len);
        assert_eq!(
            members,
            Some(2 + 32),
            "trace, correlation id and 32 entries: {told}"
        );
    }
}
