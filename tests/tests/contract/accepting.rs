//! What a service published is known over a restart, and `contract accept` lets what it announces now take its place.

use http::{Method, StatusCode};
use mcpproxy_tests::{Client, Fixture, Home, HttpClient, Product, decode, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;
use crate::service::{mutation, query, service};

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": { "cards": fixture.entry() } })
}

/// A home where a service with two tools was seen, and stored as published.
async fn with_published() -> Home {
    let tools = [
        query("get-card", &json!({})),
        mutation("add-card", &json!({})),
    ];
    let before = service(&tools, &json!([]));
    let home = Home::new(PROGRAMS, &config(&before));
    // The command waits until what is listed has been compared and stored.
    let seen = home.run(&["tools", "list", "--server", "cards"]).await;
    assert_eq!(seen.code, 0, "{seen:?}");
    home
}

/// The service without one of its tools, and with a parameter more that is required of the other.
fn changed() -> Fixture {
    let mut tool = query("get-card", &json!({}));
    tool["inputSchema"]["required"] = json!(["cardId", "side"]);
    tool["inputSchema"]["properties"]["side"] =
        json!({ "enum": ["front", "back"], "description": "The side" });
    service(&[tool], &json!([]))
}

async fn restarted(home: Home, fixture: &Fixture) -> Product {
    home.write_config(&config(fixture));
    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    product
}

/// Rules that the service breaks as `status` has them, with their tools.
async fn broken(product: &Product) -> Vec<String> {
    let status = product.status().await;
    let servers = status["servers"].as_array().into_iter().flatten();
    let cards = servers.filter(|server| server["name"] == "cards");
    let broken = cards.filter_map(|cards| cards["contract"]["broken"].as_array());
    let broken = broken.flatten();
    let mut broken: Vec<String> = broken
        .map(|one| [&one["tool"], &one["rule"]].map(|part| part.as_str().unwrap_or_default()))
        .map(|parts| parts.join(" "))
        .collect();
    broken.sort_unstable();
    broken
}

/// Waits until the service is compared with what it published.
async fn noticed(product: &Product, rules: &[&str]) {
    eventually("what is broken is noticed", async || {
        (broken(product).await == rules).then_some(())
    })
    .await;
}

/// Messages of what a caller is warned of, by what has the warnings beside it.
fn violations(answer: &Value) -> Vec<&str> {
    let warnings = answer["_meta"]["dev.mcpproxy/warnings"].as_array();
    let warnings = warnings.into_iter().flatten();
    let violated = warnings.filter(|warning| warning["code"] == "CONTRACT_VIOLATED");
    violated
        .filter_map(|warning| warning["message"].as_str())
        .collect()
}

#[tokio::test]
async fn the_check_showed_one_fault_of_a_rule_where_there_were_several() {
    let mut tool = query("get-card", &json!({}));
    tool["inputSchema"]["required"] = json!(["cardId", "side", "face"]);
    for name in ["side", "face"] {
        tool["inputSchema"]["properties"][name] =
            json!({ "enum": ["front", "back"], "description": "The side" });
    }
    let fixture = service(&[tool, mutation("add-card", &json!({}))], &json!([]));
    let product = restarted(with_published().await, &fixture).await;
    noticed(&product, &["get-card parameters-kept"]).await;
    let shown = product.get("/servers/cards/contract").await;
    let more = |one: &Value| one["more"].as_array().map(Vec::len);
    assert_eq!(more(&shown["broken"][0]), Some(1), "{shown}");
    let status = product.status().await;
    assert!(!status.to_string().contains("\"more\""), "{status}");
    let check = ["contract", "check", "cards", "--no-calls", "-o", "json"];
    let ran = product.run(&check).await;
    let report = ran.json();
    let tools = report["tools"].as_array().into_iter().flatten();
    let mut get = tools.filter(|tool| tool["tool"] == "get-card");
    let besides = get.next().and_then(|get| get["besides"].as_array());
    let besides = besides.into_iter().flatten();
    let kept = besides.filter(|one| one["rule"] == "parameters-kept");
    let told: Vec<&str> = kept.filter_map(|one| one["message"].as_str()).collect();
    assert_eq!(told.len(), 2, "{report}");
    for name in ["side", "face"] {
        assert!(told.iter().any(|one| one.contains(name)), "{told:?}");
    }
    let unknown = product
        .ask(Method::GET, "/servers/crads/contract", String::new())
        .await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{}", unknown.body);
}

#[tokio::test]
async fn brk_a_call_of_a_published_tool_that_is_gone_or_announces_nothing_was_not_warned_of() {
    let mut silent = query("get-card", &json!({}));
    silent["_meta"] = json!({});
    let fixture = service(&[silent, query("see-card", &json!({}))], &json!([]));
    let product = restarted(with_published().await, &fixture).await;
    noticed(&product, &["add-card name-kept", "get-card name-kept"]).await;
    let client = product.connect().await;
    let args = json!({ "cardId": "card_1" });
    let check = |answer: &Value, tool: &str| {
        let told = violations(answer);
        assert_eq!(told.len(), 1, "{answer}");
        let start = format!("Tool 'cards:{tool}' breaks the tool contract");
        assert!(told[0].starts_with(&start), "{answer}");
        assert!(told[0].contains("name-kept"), "{answer}");
    };
    let called = client.call_as("read", "cards:get-card", &args).await;
    assert_eq!(
        called["structuredContent"]["data"]["id"], "card_1",
        "{called}"
    );
    check(&called, "get-card");
    let gone = client.call_as("write", "cards:add-card", &args).await;
    assert_eq!(gone["structuredContent"]["error"]["code"], "UNKNOWN_TOOL");
    check(&gone, "add-card");
    let id = gone["_meta"]["dev.mcpproxy/activity_id"].as_str();
    let record = product.record(id.unwrap_or_default()).await;
    assert_eq!(record["warnings"], gone["_meta"]["dev.mcpproxy/warnings"]);
    let never = client.call_as("write", "cards:ad-card", &args).await;
    assert!(violations(&never).is_empty(), "{never}");

    // The other faces have no `_meta` of a result, so the error has the warnings beside it.
    let body = json!({ "variant": "write", "name": "cards:add-card", "args": args,
        "intent": { "operation_type": "write" } });
    let rest = product
        .ask(Method::POST, "/tools/call", body.to_string())
        .await;
    assert_eq!(rest.status, StatusCode::NOT_FOUND, "{}", rest.body);
    check(&rest.json(), "add-card");
    for (path, name) in [("/s/cards", "add-card"), ("/all", "cards__add-card")] {
        let params = json!({ "name": name, "arguments": args });
        let client = product.connect_to(path).await;
        let answer = client.request("tools/call", &params).await;
        check(&answer["error"]["data"], "add-card");
    }
    let call = ["call", "tool-write", "cards:add-card", "-o", "json"];
    check(&decode(&product.run(&call).await.stderr), "add-card");
    let table = product.run(&call[..3]).await;
    assert!(
        table.stderr.contains("error: Tool 'cards:add-card'"),
        "{table:?}"
    );
    assert!(
        table.stderr.contains("warning: CONTRACT_VIOLATED: "),
        "{table:?}"
    );

    // Of who may not use everything nobody knows whether it could have used this.
    let flags = [
        "token",
        "create",
        "one",
        "--operations",
        "read",
        "-o",
        "json",
    ];
    let made = product.run(&flags).await.json();
    let token = made["token"].as_str().unwrap_or_default();
    let reader = HttpClient::connect_as(&product.endpoint(), token).await;
    let gone = reader.call_as("read", "cards:add-card", &args).await;
    assert!(violations(&gone).is_empty(), "{gone}");
}

#[tokio::test]
async fn a_change_that_breaks_what_was_published_could_be_accepted_in_sql_alone() {
    let fixture = changed();
    let mut product = restarted(with_published().await, &fixture).await;
    let both = ["add-card name-kept", "get-card parameters-kept"];
    noticed(&product, &both).await;

    let unknown = ["contract", "accept", "cards", "--tool", "get-crad"];
    let ran = product.run(&unknown).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("cards:get-card"), "{ran:?}");
    let ran = product.run(&["contract", "accept", "crads"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(broken(&product).await, both);

    let one = ["contract", "accept", "cards", "--tool", "get-card"];
    let ran = product.run(&[&one[..], &["-o", "json"]].concat()).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let accepted = json!({ "replaced": ["get-card"], "forgotten": [] });
    assert_eq!(ran.json(), accepted);
    assert_eq!(broken(&product).await, ["add-card name-kept"]);

    let path = "/servers/cards/contract/accept";
    let rest = product.ask(Method::POST, path, String::new()).await;
    assert_eq!(rest.status, StatusCode::OK, "{}", rest.body);
    let accepted = json!({ "replaced": [], "forgotten": ["add-card"] });
    assert_eq!(rest.json(), accepted);
    assert!(broken(&product).await.is_empty());
    let again = product.run(&["contract", "accept", "cards"]).await;
    assert!(again.stdout.contains("nothing to accept"), "{again:?}");

    let details = eventually("both are on record, and nothing else", async || {
        let found = product.get("/activity?type=tool_change").await;
        let records = found["activities"].as_array()?.iter();
        let records = records.map(|record| record["metadata"].clone());
        let accepted: Vec<Value> = records
            .filter(|details| details["event"] == "contract accepted")
            .collect();
        (accepted.len() >= 2).then_some(accepted)
    })
    .await;
    assert_eq!(details.len(), 2, "{details:?}");
    assert_eq!(details[0]["forgotten"], json!(["add-card"]), "{details:?}");
    assert_eq!(details[1]["replaced"], json!(["get-card"]), "{details:?}");

    let check = ["contract", "check", "cards", "--no-calls", "-o", "json"];
    product.stop().await;
    let report = product.into_home().run(&check).await.json();
    assert_eq!(
        report["summary"]["besides"], 0,
        "it stays accepted: {report}"
    );
}

#[tokio::test]
async fn what_is_announced_is_accepted_without_a_running_gateway() {
    let home = with_published().await;
    let fixture = changed();
    home.write_config(&config(&fixture));
    let ran = home
        .run(&["contract", "accept", "cards", "-o", "json"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let accepted = json!({ "replaced": ["get-card"], "forgotten": ["add-card"] });
    assert_eq!(ran.json(), accepted);
    let checked = home
        .run(&["contract", "check", "cards", "--no-calls", "-o", "json"])
        .await;
    let report = checked.json();
    assert_eq!(report["summary"]["besides"], 0, "{report}");

    let silent = Fixture::new(PROGRAMS).exit_at_start();
    home.write_config(&config(&silent));
    let ran = home.run(&["contract", "accept", "cards"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("has not listed its tools"), "{ran:?}");
}

#[tokio::test]
async fn ver_2_a_server_that_announced_nothing_after_a_restart_was_not_noticed() {
    let home = with_published().await;
    let silent = ["get-card", "add-card"].map(|name| {
        let mut tool = query(name, &json!({}));
        tool["_meta"] = json!({});
        tool
    });
    let silent = service(&silent, &json!([]));
    let product = restarted(home, &silent).await;
    noticed(&product, &["add-card name-kept", "get-card name-kept"]).await;
    let read = product.connect().await;
    let args = json!({ "cardId": "card_1" });
    let read = read.call_as("read", "cards:get-card", &args).await;
    assert_eq!(read["structuredContent"]["data"]["id"], "card_1", "{read}");
}
