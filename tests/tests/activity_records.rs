//! What goes on record of everything that can happen.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use mcpproxy_tests::{Client, Fixture, Home, HttpClient, Product, Programs, eventually, programs};
use serde_json::{Value, json};

const PROGRAMS: Programs = programs!();

const LOOK: &str = r#"{"name":"look","description":"Look at it","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"annotations":{"readOnlyHint":true}}"#;
const MAKE: &str = r#"{"name":"make","description":"Make it","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#;
const DROP: &str = r#"{"name":"drop","description":"Drop it","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#;
const ODD: &str = r#"{"name":"purge","description":"Purge it","inputSchema":{"type":"object"}}"#;
const FAILS: &str = r#"{"name":"fails","description":"Fails","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
const BREAKS: &str = r#"{"name":"breaks","description":"Breaks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
const WAITS: &str = r#"{"name":"waits","description":"Waits","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

fn fixture() -> Fixture {
    Fixture::new(PROGRAMS)
        .tools(&[LOOK, MAKE, DROP, ODD, FAILS, BREAKS, WAITS])
        .result(
            "fails",
            r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#,
        )
        .error("breaks", r#"{"code":-32000,"message":"no quota left"}"#)
        .gate("waits")
}

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": {
        "srv": fixture.entry(),
        "off": fixture.entry_with(&json!({ "enabled": false })),
        "held": fixture.entry_with(&json!({ "quarantined": true })),
        "gone": { "command": "/nonexistent/program" },
    } })
}

async fn start() -> (Fixture, Product, HttpClient) {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    product.settle().await;
    let client = product.connect().await;
    (fixture, product, client)
}

/// Calls through a variant and gives the record of it.
async fn call(product: &Product, client: &HttpClient, variant: &str, arguments: &Value) -> Value {
    let result = client.call(variant, arguments).await;
    record_of(product, &result).await
}

/// The record that the ids in a result name.
async fn record_of(product: &Product, result: &Value) -> Value {
    let meta = &result["_meta"];
    let id = meta["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"));
    let record = product.record(id).await;
    assert_eq!(record["request_id"], meta["dev.mcpproxy/request_id"]);
    record
}

fn named(name: &str, operation: &str) -> Value {
    json!({ "name": name, "intent": { "operation_type": operation } })
}

#[tokio::test]
async fn every_refusal_is_a_blocked_decision_with_its_code() {
    let (fixture, product, client) = start().await;
    let read = "call_tool_read";
    let mut long = named("srv:look", "read");
    long["intent"]["reason"] = json!("x".repeat(1_001));
    let mut classed = named("srv:look", "read");
    classed["intent"]["data_sensitivity"] = json!("secret");
    let mut wrong = named("srv:look", "read");
    wrong["args"] = json!({ "n": "one" });
    let cases = [
        (read, json!({ "name": "srv:look" }), "MISSING_INTENT"),
        (
            read,
            json!({ "name": "srv:look", "intent": {} }),
            "MISSING_OPERATION_TYPE",
        ),
        (read, named("srv:look", "peek"), "INVALID_OPERATION_TYPE"),
        (read, named("srv:look", "write"), "INTENT_MISMATCH"),
        (read, named("srv:drop", "read"), "SERVER_MISMATCH"),
        (read, classed, "INVALID_SENSITIVITY"),
        (read, long, "REASON_TOO_LONG"),
        (read, wrong, "INVALID_ARGUMENTS"),
        (read, named("look", "read"), "INVALID_TOOL_NAME"),
        (read, named("serv:look", "read"), "UNKNOWN_SERVER"),
        (read, named("srv:lok", "read"), "UNKNOWN_TOOL"),
        (read, named("off:look", "read"), "TOOL_DISABLED"),
        (read, named("held:look", "read"), "SERVER_QUARANTINED"),
        (read, json!({ "nam": "srv:look" }), "INVALID_ARGUMENTS"),
    ];
    for (variant, arguments, code) in cases {
        let record = call(&product, &client, variant, &arguments).await;
        assert_eq!(record["type"], "policy_decision", "{code}: {record}");
        assert_eq!(record["status"], "blocked", "{code}");
        assert_eq!(record["error"]["code"], code, "{record}");
        assert!(!record["error"]["message"].as_str().unwrap().is_empty());
        assert_eq!(record["intent_type"], "read", "{code}");
        assert_eq!(record["tool_variant"], variant);
    }
    assert!(fixture.ledger().is_empty(), "none of them was made");
    let listed = product.get("/activity?status=blocked&limit=100").await;
    assert_eq!(listed["activities"].as_array().unwrap().len(), 14);
}

#[tokio::test]
async fn what_fails_at_the_server_is_a_call_with_an_error() {
    let (_fixture, product, client) = start().await;
    let read = "call_tool_read";
    for (name, code) in [
        ("srv:fails", "TOOL_ERROR"),
        ("srv:breaks", "UPSTREAM_ERROR"),
        ("gone:look", "UPSTREAM_UNAVAILABLE"),
    ] {
        let record = call(&product, &client, read, &named(name, "read")).await;
        assert_eq!(
            (&record["type"], &record["status"]),
            (&json!("tool_call"), &json!("error"))
        );
        assert_eq!(record["error"]["code"], code, "{record}");
    }
}

/// FR-031, FR-032: the intent as it was declared, and the variant.
#[tokio::test]
async fn fr_031_fr_032_the_intent_is_kept_as_it_was_declared() {
    let (_fixture, product, client) = start().await;
    let nested =
        json!({ "operation_type": "write", "data_sensitivity": "private", "reason": "asked to" });
    let flat = json!({
        "name": "srv:make", "intent_operation_type": "write",
        "intent_data_sensitivity": "private", "intent_reason": "asked to",
    });
    for arguments in [json!({ "name": "srv:make", "intent": nested }), flat] {
        let record = call(&product, &client, "call_tool_write", &arguments).await;
        assert_eq!(record["status"], "success");
        assert_eq!(record["intent"], nested);
        assert_eq!(record["metadata"]["intent"], nested);
        assert_eq!(record["metadata"]["tool_variant"], "call_tool_write");
        assert_eq!(record["data_sensitivity"], "private");
    }
    // What does not hold is kept as well, beside the operation of the variant.
    let record = call(
        &product,
        &client,
        "call_tool_read",
        &named("srv:drop", "destructive"),
    )
    .await;
    assert_eq!(record["intent_type"], "read");
    assert_eq!(record["intent"], json!({ "operation_type": "destructive" }));
    // What is not said is read as unknown, and not invented.
    let record = call(
        &product,
        &client,
        "call_tool_read",
        &named("srv:look", "read"),
    )
    .await;
    assert_eq!(record["data_sensitivity"], "unknown");
    assert_eq!(record["intent"], json!({ "operation_type": "read" }));
    let record = call(
        &product,
        &client,
        "call_tool_read",
        &json!({ "name": "srv:look" }),
    )
    .await;
    assert_eq!(record["intent"], Value::Null);
}

#[tokio::test]
async fn a_call_has_its_caller_its_payloads_and_its_warnings() {
    let fixture = fixture();
    let mut config = config(&fixture);
    config["activity"] = json!({ "max_payload_bytes": 1024 });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect().await;
    let mut arguments = named("srv:purge", "read");
    arguments["args"] = json!({ "text": "y".repeat(5_000) });
    let record = call(&product, &client, "call_tool_read", &arguments).await;
    assert_eq!(record["session_id"], json!(client.session_id()));
    assert!(record["agent"].is_string(), "{record}");
    assert_eq!(record["metadata"]["client"]["name"], record["agent"]);
    assert_eq!(
        record["warnings"][0]["code"], "UNANNOTATED_RISK",
        "{record}"
    );
    assert_eq!(record["arguments_size"], json!(5_011));
    assert_eq!(record["arguments_truncated"], json!(true));
    assert_eq!(record["arguments"].as_str().unwrap().len(), 1_024);
    assert_eq!(
        record["response_truncated"],
        json!(true),
        "the fixture echoes"
    );
    let record = call(
        &product,
        &client,
        "call_tool_read",
        &named("srv:look", "read"),
    )
    .await;
    assert_eq!(record["response_truncated"], json!(false));
    assert!(record["response"]["content"].is_array(), "{record}");
    assert!(record["duration_ms"].as_f64().unwrap() > 0.0);

    // A request that belongs to a trace.
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "call_tool_read", "arguments": named("srv:look", "read") } });
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let header = format!("00-{trace}-00f067aa0ba902b7-01");
    let answer = client
        .post(&[("traceparent", &header)], body.to_string())
        .await;
    let text = answer.body.trim();
    let json = text
        .lines()
        .find_map(|line| line.strip_prefix("data: "))
        .unwrap_or(text);
    let answer: Value = serde_json::from_str(json).unwrap();
    let record = record_of(&product, &answer["result"]).await;
    assert_eq!(record["trace_id"], trace);
}

#[tokio::test]
async fn searches_are_on_record_with_what_was_asked_and_found() {
    let (_fixture, product, client) = start().await;
    client
        .call(
            "retrieve_tools",
            &json!({ "query": "look at it", "limit": 1 }),
        )
        .await;
    client
        .call(
            "describe_tool",
            &json!({ "names": ["srv:make", "srv:nothing"] }),
        )
        .await;
    client.call("retrieve_tools", &json!({ "limit": 1 })).await;
    let records = eventually("all searches are on record", async || {
        let list = product.get("/activity?type=discovery").await;
        let list = list["activities"].as_array().unwrap().clone();
        (list.len() == 3).then_some(list)
    })
    .await;
    let [refused, described, found] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(found["tool_name"], "retrieve_tools");
    assert_eq!(found["arguments"]["query"], "look at it");
    assert_eq!(found["response"]["tools"], json!(["srv:look"]));
    assert_eq!(
        described["arguments"]["names"],
        json!(["srv:make", "srv:nothing"])
    );
    assert_eq!(described["response"]["tools"], json!(["srv:make"]));
    assert_eq!(refused["status"], "blocked");
    assert_eq!(refused["error"]["code"], "INVALID_ARGUMENTS");
}

/// The records of a kind, oldest first, as soon as `is_there` holds.
async fn noted(product: &Product, kind: &str, is_there: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    eventually(&format!("the records of {kind} are there"), async || {
        let list = product
            .get(&format!("/activity?type={kind}&limit=100"))
            .await;
        let mut list = list["activities"].as_array().unwrap().clone();
        list.reverse();
        is_there(&list).then_some(list)
    })
    .await
}

fn has(list: &[Value], server: &str, event: &str) -> bool {
    list.iter()
        .any(|record| record["server_name"] == server && record["metadata"]["event"] == event)
}

#[tokio::test]
async fn changes_of_servers_tools_and_configuration_are_on_record() {
    let fixture = fixture().list_changed().on_call(
        "make",
        &[LOOK, DROP, MAKE.replace("Make it", "Make more").as_str()],
        true,
    );
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let servers = noted(&product, "server_change", |list| {
        has(list, "srv", "ready") && has(list, "gone", "failed")
    })
    .await;
    assert!(has(&servers, "srv", "added") && has(&servers, "off", "added"));
    let failed = servers
        .iter()
        .find(|record| record["metadata"]["event"] == "failed");
    assert_eq!(failed.unwrap()["status"], "error");

    let client = product.connect().await;
    client
        .call("call_tool_write", &named("srv:make", "write"))
        .await;
    let tools = noted(&product, "tool_change", |list| !list.is_empty()).await;
    assert_eq!(tools[0]["server_name"], "srv");
    assert_eq!(tools[0]["metadata"]["changed"], json!(["make"]));
    assert_eq!(
        tools[0]["metadata"]["removed"],
        json!(["breaks", "fails", "purge", "waits"])
    );

    let mut changed = config(&fixture);
    changed["mcpServers"]
        .as_object_mut()
        .unwrap()
        .remove("gone");
    changed["mcpServers"]["off"]["enabled"] = json!(true);
    changed["mcpServers"]["held"]["quarantined"] = json!(false);
    changed["mcpServers"]["srv"]["timeout"] = json!("20s");
    product.home.write_config(&changed);
    noted(&product, "server_change", |list| {
        has(list, "gone", "removed")
            && has(list, "off", "enabled")
            && has(list, "held", "approved")
            && has(list, "srv", "changed")
    })
    .await;
    product
        .home
        .write_config_text("{ \"activity\": { \"durability\": \"sometimes\" } }");
    let configuration = noted(&product, "config_change", |list| list.len() == 2).await;
    assert_eq!(configuration[0]["metadata"]["event"], "reloaded");
    assert_eq!(configuration[1]["status"], "error");
    let message = configuration[1]["error"]["message"].as_str().unwrap();
    assert!(message.contains("sometimes"), "{message}");
}

#[tokio::test]
async fn starts_and_stops_are_on_record_and_commands_have_chains_of_their_own() {
    let fixture = fixture();
    let mut product = Product::start(PROGRAMS, &config(&fixture)).await;
    assert_eq!(product.stop().await, 0);
    let home = product.into_home();
    let ran = home.run(&["call", "tool-read", "srv:look"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let client = home.stdio().await;
    client
        .call("call_tool_write", &named("srv:make", "write"))
        .await;
    let ran = home.run(&["call", "tool-read", "srv:look"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    drop(client);
    let product = Product::start_in(home, &[]).await;
    let system = noted(&product, "system", |list| list.len() == 3).await;
    let events: Vec<&Value> = system
        .iter()
        .map(|record| &record["metadata"]["event"])
        .collect();
    assert_eq!(events, ["start", "stop", "start"]);
    let calls = noted(&product, "tool_call", |list| list.len() == 3).await;
    assert_eq!(calls[0]["agent"], "mcpproxy-cli");
    assert_ne!(calls[0]["chain"], system[0]["chain"]);
    // While the client on stdio was there, its chain was taken.
    assert_ne!(calls[1]["chain"], calls[2]["chain"]);
    let verdict = product.get("/activity/verify").await;
    assert_eq!(verdict["ok"], json!(true), "{verdict}");
    assert_eq!(verdict["chains"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_slow_read_that_nobody_saw_the_end_of_is_in_doubt() {
    let fixture = fixture();
    let mut product = Product::start(PROGRAMS, &config(&fixture)).await;
    product.settle().await;
    let endpoint = product.endpoint();
    let waiting = tokio::spawn(async move {
        let client = HttpClient::connect(&endpoint).await;
        client
            .call("call_tool_read", &named("srv:waits", "read"))
            .await
    });
    // Under way for a while, so on record although it only reads.
    noted(&product, "tool_call", |list| list.len() == 1).await;
    let status = product.status().await;
    assert_eq!(
        status["activity"]["in_doubt"],
        json!(0),
        "it is under way: {status}"
    );
    product.kill().await;
    waiting.abort();
    let product = Product::start_in(product.into_home(), &[]).await;
    let calls = noted(&product, "tool_call", |list| list.len() == 1).await;
    assert_eq!(calls[0]["status"], "in_doubt");
    assert_eq!(calls[0]["duration_ms"], Value::Null);
    assert_eq!(product.status().await["activity"]["in_doubt"], json!(1));
    let listed = product
        .run(&["activity", "list", "--status", "in_doubt", "-o", "json"])
        .await;
    assert_eq!(listed.json()["activities"][0]["id"], calls[0]["id"]);
}

#[tokio::test]
async fn a_caller_that_leaves_in_the_middle_leaves_a_call_in_doubt() {
    let (fixture, product, _client) = start().await;
    let endpoint = product.endpoint();
    let leaving = tokio::spawn(async move {
        let client = HttpClient::connect(&endpoint).await;
        client
            .call("call_tool_read", &named("srv:waits", "read"))
            .await
    });
    noted(&product, "tool_call", |list| list.len() == 1).await;
    leaving.abort();
    let calls = noted(&product, "tool_call", |list| !list[0]["error"].is_null()).await;
    assert_eq!(calls[0]["status"], "in_doubt");
    assert_eq!(calls[0]["error"]["code"], "CALLER_GONE");
    fixture.open_gate("waits");
}

#[tokio::test]
async fn only_so_many_records_are_kept_and_the_rest_is_still_proven() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    let mut product = Product::start_in(home, &[]).await;
    product.settle().await;
    let client = product.connect().await;
    for _ in 0..40 {
        client
            .call("call_tool_write", &named("srv:make", "write"))
            .await;
    }
    product.stop().await;
    let home = product.into_home();
    let mut limited = config(&fixture);
    limited["activity"] = json!({ "max_records": 20 });
    home.write_config(&limited);
    let product = Product::start_in(home, &[]).await;
    eventually("old records are removed", async || {
        let summary = product.get("/activity/summary").await;
        (summary["total"].as_u64().unwrap() < 35).then_some(())
    })
    .await;
    let verdict = product.get("/activity/verify").await;
    assert_eq!(verdict["ok"], json!(true), "{verdict}");
    assert!(verdict["chains"][0]["pruned_through"].as_i64().unwrap() > 0);
    let system = noted(&product, "system", |list| list.len() >= 2).await;
    assert!(
        system
            .iter()
            .any(|record| record["metadata"]["event"] == "checkpoint")
    );
}
