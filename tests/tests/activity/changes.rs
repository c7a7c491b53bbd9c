//! What is recorded without being asked for: changes, starts and stops, calls that nobody saw the end of, and what is
//! removed when it is old.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use http::Method;
use mcpproxy_tests::{Client, Fixture, Home, HttpClient, Product, eventually};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::PROGRAMS;

const LOOK: &str = r#"{"name":"look","description":"Looks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

const PUT: &str = r#"{"name":"put","description":"Puts","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#;

#[tokio::test]
async fn changes_of_servers_are_on_record() {
    let (one, two) = (fixture(), fixture());
    let product = Product::start(PROGRAMS, &servers(&json!({ "one": one.entry() }))).await;
    product.settle().await;
    let gone = json!({ "command": "/nowhere/at/all" });
    let changed = one.entry_with(&json!({ "env": { "A": "b" } }));
    let steps = [
        (
            json!({ "one": one.entry(), "two": two.entry() }),
            vec!["two added", "two ready"],
        ),
        (
            json!({ "one": changed, "two": two.entry() }),
            vec!["one changed", "one ready"],
        ),
        (
            json!({ "one": changed, "two": two.entry_with(&json!({ "enabled": false })) }),
            vec!["two disabled"],
        ),
        (
            json!({ "one": changed, "two": two.entry() }),
            vec!["two enabled", "two ready"],
        ),
        (
            json!({ "one": changed, "two": two.entry_with(&json!({ "quarantined": true })) }),
            vec!["two quarantined"],
        ),
        (
            json!({ "one": changed, "two": two.entry() }),
            vec!["two approved", "two ready"],
        ),
        (
            json!({ "one": changed, "two": two.entry_with(&json!({ "tools": { "look": { "enabled": false } } })) }),
            vec!["two tools configured"],
        ),
        (
            json!({ "one": changed, "two": two.entry_with(&json!({ "check_arguments": "strict" })) }),
            vec!["two tools configured"],
        ),
        (
            json!({ "one": changed, "two": two.entry_with(&json!({ "check_arguments": "strict", "coerce": false })) }),
            vec!["two tools configured"],
        ),
        (json!({ "one": changed }), vec!["two removed"]),
        (
            json!({ "one": changed, "gone": gone }),
            vec!["gone added", "gone failed"],
        ),
    ];
    let mut expected = vec!["one added".to_owned(), "one ready".to_owned()];
    for (config, events) in steps {
        product.home.write_config(&servers(&config));
        expected.extend(events.iter().map(|event| (*event).to_owned()));
        eventually(&format!("{events:?} are on record"), async || {
            (server_changes(&product).await.len() >= expected.len()).then_some(())
        })
        .await;
        let found = server_changes(&product).await;
        assert_eq!(&found[..expected.len()], expected, "{events:?}");
    }
    let failed = product
        .get("/activity?type=server_change&status=error")
        .await;
    let failed = &failed["activities"][0];
    assert_eq!(failed["error"]["code"], "UPSTREAM_UNAVAILABLE", "{failed}");
    let reloads = product.get("/activity?type=config_change&limit=1000").await;
    let reloads = reloads["activities"].as_array().unwrap();
    assert_eq!(reloads.len(), 11);
    assert!(
        reloads
            .iter()
            .all(|one| one["metadata"]["event"] == "reloaded")
    );
}

#[tokio::test]
async fn changes_of_tools_are_on_record_with_their_names() {
    let other_look = LOOK.replace("Looks", "Looks twice");
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[LOOK, PUT])
        .list_changed()
        .on_call(
            "put",
            &[other_look, PUT.replace(r#""put""#, r#""push""#)],
            true,
        );
    let product = Product::start(PROGRAMS, &servers(&json!({ "shelf": fixture.entry() }))).await;
    product.settle().await;
    product
        .connect()
        .await
        .call_allowed("write", "shelf:put", &json!({}))
        .await;
    let record = eventually("the change is on record", async || {
        let page = product.get("/activity?type=tool_change").await;
        let records = page["activities"].as_array().unwrap();
        records.first().cloned()
    })
    .await;
    assert_eq!(record["server_name"], "shelf", "{record}");
    let metadata = &record["metadata"];
    assert_eq!(metadata["added"], json!(["push"]), "{record}");
    assert_eq!(metadata["removed"], json!(["put"]), "{record}");
    assert_eq!(metadata["changed"], json!(["look"]), "{record}");
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_is_on_record_without_its_secrets() {
    let secret = format!("quince-{}", Uuid::new_v4().simple());
    let fixture = fixture();
    let entry = fixture.entry_with(&json!({ "env": { "A": "${env:LEAK}" } }));
    let home = Home::new(PROGRAMS, &servers(&json!({ "shelf": entry })));
    let product = Product::start_with(home, &[], |command| {
        command.env("LEAK", &secret);
    })
    .await;
    for (text, said) in [
        (format!(r#"{{ "{secret}": 1 }}"#), "mcp_config.json:1:3"),
        (format!(r#"{{ "listen": "{secret}" }}"#), "listen"),
        (
            format!(r#"{{ "store": {{ "url": "{secret}" }} "#),
            "mcp_config.json:1:",
        ),
    ] {
        product.home.write_config_text(&text);
        let record = eventually(&format!("{said} is on record"), async || {
            let page = product.get("/activity?type=config_change").await;
            let record = &page["activities"][0];
            let message = record["error"]["message"].as_str().unwrap_or_default();
            message.contains(said).then(|| record.clone())
        })
        .await;
        assert_eq!(record["error"]["code"], "INVALID_CONFIGURATION", "{record}");
        assert_eq!(record["status"], "error", "{record}");
        assert_eq!(record["metadata"]["event"], "refused", "{record}");
        assert!(!record.to_string().contains(&secret), "{record}");
        let status = product.run(&["status", "-o", "json"]).await;
        assert!(!status.stdout.contains(&secret), "{status:?}");
    }
    assert!(!product.log().contains(&secret));
}

#[tokio::test]
async fn starts_and_stops_are_on_record_and_a_kill_leaves_no_stop() {
    let mut product = Product::start(PROGRAMS, &json!({})).await;
    assert_eq!(product.stop().await, 0);
    let mut product = Product::start_in(product.into_home(), &[]).await;
    product.kill().await;
    let product = Product::start_in(product.into_home(), &[]).await;
    let events = eventually("the last start is on record", async || {
        let page = product.get("/activity?type=system").await;
        let records = page["activities"].as_array().unwrap();
        let events: Vec<String> = records.iter().rev().map(event).collect();
        (events.len() >= 3).then_some(events)
    })
    .await;
    // What is written behind may be lost with a killed process, within its 100 milliseconds.
    let with_kill = ["start", "stop", "start", "start"];
    assert!(
        events == with_kill || events == with_kill[..3],
        "{events:?}"
    );
    verify(&product.home, 1).await;
}

#[tokio::test]
async fn commands_without_a_gateway_write_chains_of_their_own() {
    let fixture = fixture();
    let config = servers(&json!({ "shelf": fixture.entry() }));
    let mut product = Product::start(PROGRAMS, &config).await;
    product
        .connect()
        .await
        .call_allowed("write", "shelf:put", &json!({}))
        .await;
    assert_eq!(product.stop().await, 0);
    let home = product.into_home();
    let (first, second) = (home.stdio().await, home.stdio().await);
    // At the same time, each into its own chain.
    for client in [&first, &second] {
        client.call_allowed("write", "shelf:put", &json!({})).await;
        client.call_allowed("read", "shelf:look", &json!({})).await;
    }
    assert_eq!((first.finish().await, second.finish().await), (0, 0));
    let ran = home.run(&["call", "tool-write", "shelf:put"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let list = home
        .run(&["activity", "list", "--server", "shelf", "-o", "json"])
        .await
        .json();
    let calls = list["activities"].as_array().unwrap();
    let calls: Vec<&Value> = calls
        .iter()
        .filter(|one| one["type"] == "tool_call")
        .collect();
    assert_eq!(calls.len(), 6, "{list}");
    assert!(calls.iter().all(|one| one["status"] == "success"), "{list}");
    assert_eq!(calls[0]["agent"], "mcpproxy-cli", "{list}");
    let chain = |index: usize| calls[index]["chain"].as_str().unwrap();
    assert_ne!(chain(1), chain(3), "two sessions at once");
    assert_ne!(chain(5), chain(3), "the gateway's own");
    verify(&home, 3).await;
    let product = Product::start_in(home, &[]).await;
    let verdict = product.get("/activity/verify").await;
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test]
async fn calls_whose_end_nobody_saw_are_in_doubt_after_a_kill() {
    let fixture = fixture().gate("look").gate("put");
    let mut product =
        Product::start(PROGRAMS, &servers(&json!({ "shelf": fixture.entry() }))).await;
    product.settle().await;
    for operation in ["read", "write"] {
        let body = rest_call(operation);
        let client = HttpClient::without_session(&product.rest("/tools/call"));
        let key = product.key();
        tokio::spawn(async move {
            // Never answered.
            client
                .send(Method::POST, &[("x-api-key", &key)], body)
                .await
        });
    }
    // A read that takes its time is put on record while it is under way.
    eventually("both calls are on record", async || {
        let page = product.get("/activity?status=in_doubt").await;
        (page["activities"].as_array().unwrap().len() == 2).then_some(())
    })
    .await;
    let status = product.status().await;
    assert_eq!(
        status["activity"]["in_doubt"], 0,
        "they are under way: {status}"
    );
    product.kill().await;
    let product = Product::start_in(product.into_home(), &[]).await;
    let list = product
        .run(&["activity", "list", "--status", "in_doubt", "-o", "json"])
        .await
        .json();
    let records = list["activities"].as_array().unwrap();
    let mut tools: Vec<&str> = records
        .iter()
        .map(|one| one["tool_name"].as_str().unwrap())
        .collect();
    tools.sort_unstable();
    assert_eq!(tools, ["look", "put"], "{list}");
    assert!(
        records.iter().all(|one| one["duration_ms"].is_null()),
        "{list}"
    );
    assert_eq!(product.status().await["activity"]["in_doubt"], 2);
    verify(&product.home, 1).await;
}

#[tokio::test]
async fn calls_whose_caller_left_are_in_doubt() {
    let fixture = fixture().gate("look").gate("put");
    let product = Product::start(PROGRAMS, &servers(&json!({ "shelf": fixture.entry() }))).await;
    product.settle().await;
    for (operation, tool) in [("read", "look"), ("write", "put")] {
        let client = HttpClient::without_session(&product.rest("/tools/call"));
        let (key, body) = (product.key(), rest_call(operation));
        let call = tokio::spawn(async move {
            client
                .send(Method::POST, &[("x-api-key", &key)], body)
                .await
        });
        eventually("the call is at its server", async || {
            fixture
                .ledger()
                .iter()
                .any(|line| line.starts_with(tool))
                .then_some(())
        })
        .await;
        call.abort();
        let record = eventually("the call is in doubt", async || {
            let page = product
                .get(&format!("/activity?tool={tool}&status=in_doubt"))
                .await;
            let record = &page["activities"][0];
            record["duration_ms"].is_number().then(|| record.clone())
        })
        .await;
        assert_eq!(record["error"]["code"], "CALLER_GONE", "{record}");
        assert_eq!(record["type"], "tool_call", "{record}");
    }
    assert_eq!(product.status().await["activity"]["in_doubt"], 2);
    fixture.open_gate("look");
    fixture.open_gate("put");
    verify(&product.home, 1).await;
}

#[tokio::test]
async fn what_is_more_than_may_be_kept_is_removed_and_the_rest_can_still_be_proven() {
    let fixture = fixture();
    let mut config = servers(&json!({ "shelf": fixture.entry() }));
    let mut product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    for _ in 0..250 {
        client.call_allowed("write", "shelf:put", &json!({})).await;
    }
    assert_eq!(product.stop().await, 0);
    config["activity"] = json!({ "max_records": 40 });
    product.home.write_config(&config);
    for _ in 0..2 {
        // The gateway looks for old records when it starts.
        product = Product::start_in(product.into_home(), &[]).await;
        let kept = eventually("old records are removed", async || {
            let summary = product.get("/activity/summary").await;
            // What the gateway itself records meanwhile comes on top.
            summary["total"]
                .as_u64()
                .filter(|total| (40..60).contains(total))
        })
        .await;
        let verdict = product.get("/activity/verify").await;
        assert_eq!(verdict["ok"], true, "{verdict}");
        let list = product.get("/activity?limit=1000&type=tool_call").await;
        let calls = list["activities"].as_array().unwrap();
        assert!(!calls.is_empty() && (calls.len() as u64) < kept, "{list}");
        let client = product.connect().await;
        for _ in 0..60 {
            client.call_allowed("write", "shelf:put", &json!({})).await;
        }
        product.stop().await;
        verify(&product.home, 1).await;
    }
}

fn fixture() -> Fixture {
    Fixture::new(PROGRAMS).tools(&[LOOK, PUT])
}

fn servers(servers: &Value) -> Value {
    json!({ "mcpServers": servers })
}

fn rest_call(operation: &str) -> String {
    let tool = if operation == "read" { "look" } else { "put" };
    json!({
        "variant": format!("call_tool_{operation}"), "name": format!("shelf:{tool}"),
        "intent": { "operation_type": operation },
    })
    .to_string()
}

/// What happened to servers, in order.
/// What became of the servers of the configuration; the gateway's own starts with it and stays.
async fn server_changes(product: &Product) -> Vec<String> {
    let page = product.get("/activity?type=server_change&limit=1000").await;
    let records = page["activities"].as_array().unwrap().iter().rev();
    records
        .filter(|one| one["server_name"] != "mcpproxy")
        .map(|one| format!("{} {}", one["server_name"].as_str().unwrap(), event(one)))
        .collect()
}

fn event(record: &Value) -> String {
    let event = record["metadata"]["event"].as_str();
    event
        .unwrap_or_else(|| panic!("no event: {record}"))
        .to_owned()
}

/// Nothing was altered, in so many chains.
async fn verify(home: &Home, chains: usize) {
    let verdict = home.run(&["activity", "verify", "-o", "json"]).await;
    assert_eq!(verdict.code, 0, "{verdict:?}");
    let verdict = verdict.json();
    assert_eq!(verdict["ok"], true, "{verdict}");
    assert_eq!(
        verdict["chains"].as_array().unwrap().len(),
        chains,
        "{verdict}"
    );
}
