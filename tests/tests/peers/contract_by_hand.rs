//! A service in Python that announces the tool contract by hand, and breaks it.

use mcpproxy_tests::peers::{Edition, Peers};
use mcpproxy_tests::{Client, HttpClient, Product, eventually, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;

trials![
    every_fault_of_a_service_written_by_hand_is_found,
    what_a_service_written_by_hand_announces_is_enforced,
    a_service_that_breaks_what_it_published_is_told,
];

/// Calls with as many different answers that tell a typed-in confidence from a calculated one.
const CALLS: usize = 20;

fn config(peers: &Peers, edition: Edition) -> Value {
    json!({ "mcpServers": { "notes": peers.contract_by_hand(edition) } })
}

/// Messages of the warnings that a result has for what breaks the contract.
fn warned(result: &Value) -> Vec<&str> {
    let warnings = result["_meta"]["dev.mcpproxy/warnings"].as_array();
    let warnings = warnings.into_iter().flatten();
    let violated = warnings.filter(|warning| warning["code"] == "CONTRACT_VIOLATED");
    violated
        .filter_map(|warning| warning["message"].as_str())
        .collect()
}

async fn every_fault_of_a_service_written_by_hand_is_found() {
    let peers = Peers::find();
    let product = Product::start(PROGRAMS, &config(&peers, Edition::First)).await;
    product.settle().await;
    // The faults of the definitions are known a moment after they are listed.
    eventually("the definitions are looked at", async || {
        product.log().contains("removal-kept").then_some(())
    })
    .await;
    let client = product.connect().await;
    let note = json!({ "noteId": "note_1" });
    let read = async |tool: &str| {
        client
            .call_as("read", &format!("notes:{tool}"), &note)
            .await
    };

    for number in 1..=CALLS {
        let note = json!({ "noteId": format!("note_{number}") });
        let result = client.call_as("read", "notes:get-note", &note).await;
        let is_told = warned(&result)
            .iter()
            .any(|one| one.contains("confidence-calculated"));
        assert_eq!(is_told, number == CALLS, "{result}");
        assert_eq!(
            result["structuredContent"]["agentHints"]["confidence"],
            0.95
        );
    }
    for (tool, rule, value) in [
        (
            "rate-note",
            "hints-roi",
            "roi is 99, but benefit 0.85 / effort 0.2 is 4.25",
        ),
        ("miss-note", "hints-present", "the result has no agentHints"),
        ("drop-note", "data-not-null", "data is null"),
        ("trust-note", "hints-confidence", "it is 1.5"),
        ("peek-note", "query-pure", "a query changes nothing"),
        ("late-note", "deprecation-notice", "not after 1"),
    ] {
        let result = read(tool).await;
        let found = warned(&result);
        let is_told = |one: &&str| one.contains(&format!(": {rule}: ")) && one.contains(value);
        assert!(found.iter().any(is_told), "{tool}: {result}");
    }
    // Nothing of a result is corrected.
    let rated = read("rate-note").await;
    assert_eq!(
        rated["structuredContent"]["agentHints"]["estimatedImpact"]["roi"],
        99
    );
    assert_eq!(
        read("drop-note").await["structuredContent"]["data"],
        Value::Null
    );
    let missed = read("miss-note").await;
    assert_eq!(
        missed["structuredContent"]["error"]["code"], "NOT_FOUND",
        "{missed}"
    );
    let added = client
        .call_as("write", "notes:add-note", &json!({ "text": "a" }))
        .await;
    assert!(
        warned(&added)
            .iter()
            .any(|one| one.contains("never answered from a cache")),
        "{added}"
    );
    assert_eq!(
        added["structuredContent"]["data"]["id"], "note_1",
        "{added}"
    );

    check_report(&product).await;
    let status = product.status().await;
    let servers = status["servers"].as_array().expect("a list");
    let notes = servers.iter().find(|server| server["name"] == "notes");
    let contract = &notes.expect("it is configured")["contract"];
    let broken = contract["broken"].as_array().expect("a list");
    let rated = broken.iter().find(|one| one["rule"] == "hints-roi");
    assert!(
        rated.is_some_and(|one| one["count"].as_u64() >= Some(2)),
        "{contract}"
    );
    assert!(contract["violations"].as_u64() > Some(10), "{contract}");
    let page = product.run(&["status"]).await.stdout;
    assert!(
        page.contains("warning: notes breaks the tool contract"),
        "{page}"
    );
    let log = product.log();
    let told = log.matches("roi is 99").count();
    assert_eq!(told, 1, "each fault is told once: {log}");
}

async fn what_a_service_written_by_hand_announces_is_enforced() {
    let peers = Peers::find();
    let product = Product::start(PROGRAMS, &config(&peers, Edition::First)).await;
    product.settle().await;
    let made = product
        .run(&["token", "create", "reader", "-o", "json"])
        .await;
    let token = made.json()["token"]
        .as_str()
        .expect("it is shown")
        .to_owned();
    let reader = HttpClient::connect_as(&product.endpoint(), &token).await;
    let note = json!({ "noteId": "note_1" });
    let structured = |result: &Value| result["structuredContent"].clone();

    let first = reader.call_as("read", "notes:limit-note", &note).await;
    assert_eq!(structured(&first)["data"]["id"], "note_1", "{first}");
    let second = reader.call_as("read", "notes:limit-note", &note).await;
    let refused = &structured(&second);
    assert_eq!(refused["error"]["code"], "RATE_LIMITED", "{second}");
    assert!(
        refused["error"]["details"]["retry_after_ms"].is_u64(),
        "{second}"
    );

    let secret = reader.call_as("read", "notes:secret-note", &note).await;
    let forbidden = &structured(&secret);
    assert_eq!(forbidden["error"]["code"], "FORBIDDEN", "{secret}");
    assert!(
        secret["content"][0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("notes:secret")),
        "{secret}"
    );

    let old = reader.call_as("read", "notes:old-note", &note).await;
    let removed = &structured(&old);
    assert_eq!(removed["error"]["code"], "TOOL_REMOVED", "{old}");
    assert_eq!(
        removed["error"]["details"]["replacement"], "notes:get-note",
        "{old}"
    );
    let found = reader
        .call(
            "retrieve_tools",
            &json!({ "query": "note as it was done before" }),
        )
        .await;
    assert!(!found.to_string().contains("notes:old-note"), "{found}");

    for whole in [refused, forbidden, removed] {
        assert!(whole["agentHints"]["confidence"].is_number(), "{whole}");
        assert!(whole["metadata"]["timestamp"].is_string(), "{whole}");
    }

    let late = reader.call_as("read", "notes:late-note", &note).await;
    let warnings = &late["_meta"]["dev.mcpproxy/warnings"];
    assert!(warnings.to_string().contains("DEPRECATED_TOOL"), "{late}");

    // What it calls cacheable is a mutation, so every call reaches it.
    let writer = product.connect().await;
    for count in 1..=2 {
        let added = writer
            .call_as("write", "notes:add-note", &json!({ "text": "same" }))
            .await;
        assert_eq!(structured(&added)["data"]["count"], count, "{added}");
    }
}

/// Every fault is a line of the checklist, or told besides.
async fn check_report(product: &Product) {
    let ran = product
        .run(&["contract", "check", "notes", "-o", "json"])
        .await;
    assert_eq!(ran.code, 1, "{ran:?}");
    let report = ran.json();
    for (tool, lines) in [
        ("get-note", vec![14]),
        ("rate-note", vec![21]),
        ("miss-note", (13..=23).collect()),
        ("drop-note", vec![12]),
        ("trust-note", vec![14]),
        ("add-note", vec![7]),
        ("find-notes", vec![3]),
    ] {
        assert_eq!(violated(&report, tool), lines, "{tool}: {report}");
    }
    for (tool, rule) in [
        ("peek-note", "query-pure"),
        ("old-note", "removal-kept"),
        ("late-note", "deprecation-notice"),
    ] {
        let besides = of_tool(&report, tool)["besides"].as_array();
        let mut besides = besides.into_iter().flatten();
        assert!(besides.any(|one| one["rule"] == rule), "{tool}: {report}");
    }
}

async fn a_service_that_breaks_what_it_published_is_told() {
    let peers = Peers::find();
    let mut product = Product::start(PROGRAMS, &config(&peers, Edition::First)).await;
    product.settle().await;
    eventually("the definitions are looked at", async || {
        product.log().contains("removal-kept").then_some(())
    })
    .await;
    product.stop().await;
    let home = product.into_home();

    // What was published is compared by a file, without a gateway,
    let first = home.folder().join("first.json");
    std::fs::write(&first, peers.contract_list(Edition::First).await).expect("it can be written");
    let second = home.folder().join("second.json");
    std::fs::write(&second, peers.contract_list(Edition::Second).await).expect("it can be written");
    let [first, second] = [&first, &second].map(|path| path.to_str().expect("a plain name"));
    let arguments = [
        "contract",
        "check",
        second,
        "--against",
        first,
        "-o",
        "json",
    ];
    let ran = home.run(&arguments).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    check_broken(&ran.json());

    // by the service itself,
    home.write_config(&config(&peers, Edition::Second));
    let arguments = [
        "contract",
        "check",
        "notes",
        "--against",
        first,
        "--no-calls",
        "-o",
        "json",
    ];
    check_broken(&home.run(&arguments).await.json());

    // and by the gateway, which knows what there was before.
    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    eventually("the change is noticed", async || {
        product.log().contains("major-renamed").then_some(())
    })
    .await;
    let arguments = ["contract", "check", "notes", "--no-calls", "-o", "json"];
    check_broken(&product.run(&arguments).await.json());
    let client = product.connect().await;
    let note = json!({ "noteId": "note_1" });
    let result = client.call_as("read", "notes:major-note", &note).await;
    assert!(
        warned(&result)
            .iter()
            .any(|one| one.contains("from 1.0.0 to 2.0.0")),
        "{result}"
    );
    let gone = client.call_as("read", "notes:gone-note", &note).await;
    assert_eq!(gone["structuredContent"]["error"]["code"], "UNKNOWN_TOOL");
    let told = warned(&gone);
    assert!(told.len() == 1 && told[0].contains("name-kept"), "{gone}");
    assert!(
        gone["structuredContent"]["agentHints"].is_object(),
        "{gone}"
    );
}

/// All that the second edition breaks is told, with the rule.
fn check_broken(report: &Value) {
    for (tool, rules) in [
        ("gone-note", &["name-kept"][..]),
        ("move-note", &["parameters-kept", "output-kept"]),
        ("major-note", &["major-renamed"]),
    ] {
        let besides = of_tool(report, tool)["besides"].as_array();
        let besides = besides.expect("a list");
        for rule in rules {
            assert!(
                besides.iter().any(|one| one["rule"] == *rule),
                "{tool}: {report}"
            );
        }
    }
}

/// Numbers of the lines that a tool violates.
fn violated(report: &Value, tool: &str) -> Vec<u64> {
    let lines = of_tool(report, tool)["lines"].as_array();
    let lines = lines.into_iter().flatten();
    let violated = lines.filter(|line| line["status"] == "violated");
    violated.filter_map(|line| line["line"].as_u64()).collect()
}

fn of_tool<'a>(report: &'a Value, tool: &str) -> &'a Value {
    let tools = report["tools"].as_array().expect("a list");
    let found = tools.iter().find(|one| one["tool"] == tool);
    found.unwrap_or_else(|| panic!("no {tool} in {report}"))
}
