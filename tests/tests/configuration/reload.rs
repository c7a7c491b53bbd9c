//! A changed configuration is taken up while the gateway runs, and a bad one is not.

use mcpproxy_tests::{Client, Fixture, HttpClient, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 1] = [
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
];

#[tokio::test]
async fn servers_can_be_added_and_removed_while_the_gateway_runs() {
    let (first, second) = (fixture(), fixture());
    let product = start(&json!({ "first": first.entry() })).await;
    let client = product.connect().await;
    assert_eq!(outcome(&client, "first").await, "");
    let pid = first.pid();
    assert_eq!(outcome(&client, "second").await, "UNKNOWN_SERVER");

    product.home.write_config(&config(
        &json!({ "first": first.entry(), "second": second.entry() }),
    ));
    wait_for(&client, "second", "").await;
    assert_eq!(second.ledger(), ["look {}"]);

    product
        .home
        .write_config(&config(&json!({ "first": first.entry() })));
    wait_for(&client, "second", "UNKNOWN_SERVER").await;
    let found = client
        .call("retrieve_tools", &json!({ "query": "look", "limit": 50 }))
        .await;
    let tools = found["structuredContent"]["tools"].as_array().unwrap();
    let looks = tools.iter().filter(|tool| {
        let name = tool["name"].as_str().unwrap_or_default();
        name.ends_with(":look")
    });
    assert_eq!(looks.count(), 1, "{found}");
    assert_eq!(outcome(&client, "first").await, "");
    assert_eq!(first.pid(), pid, "the other server was left alone");
    let gone = second.pid().expect("the second server ran");
    eventually("the removed server's process ends", async || {
        (!is_running(gone)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_override_takes_effect_without_restarting_its_server() {
    let fixture = fixture();
    let product = start(&json!({ "first": fixture.entry() })).await;
    let client = product.connect().await;
    assert_eq!(outcome(&client, "first").await, "");
    let pid = fixture.pid();
    for (tools, expected) in [
        (
            json!({ "look": { "annotations": { "destructiveHint": true } } }),
            "SERVER_MISMATCH",
        ),
        (json!({ "look": { "enabled": false } }), "TOOL_DISABLED"),
        (json!({}), ""),
    ] {
        let entry = fixture.entry_with(&json!({ "tools": tools }));
        product
            .home
            .write_config(&config(&json!({ "first": entry })));
        wait_for(&client, "first", expected).await;
    }
    assert_eq!(fixture.pid(), pid, "the server was not restarted");
    assert!(pid.is_some_and(is_running));
}

#[tokio::test]
async fn rules_of_intent_take_effect_at_once_for_open_sessions() {
    let fixture = fixture();
    let product = start(&json!({ "first": fixture.entry() })).await;
    let client = product.connect().await;
    let undeclared = json!({ "name": "first:look" });
    let refused = client.call("call_tool_read", &undeclared).await;
    assert_eq!(
        refused["structuredContent"]["error"]["code"],
        "MISSING_INTENT"
    );
    let mut inferred = config(&json!({ "first": fixture.entry() }));
    inferred["intent_declaration"] = json!({ "mode": "inferred" });
    product.home.write_config(&inferred);
    eventually("the mode is inferred", async || {
        let result = client.call("call_tool_read", &undeclared).await;
        result["isError"].is_null().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_changed_key_takes_the_place_of_the_old_one() {
    let (old, new) = ("the-first-key-of-this-test", "the-second-key-of-this-test");
    let product = Product::start(PROGRAMS, &json!({ "api_key": old })).await;
    let status_with = async |key: &str| {
        let client = HttpClient::without_session(&product.rest("/status"));
        let answer = client
            .send(http::Method::GET, &[("x-api-key", key)], String::new())
            .await;
        answer.status.as_u16()
    };
    assert_eq!((status_with(old).await, status_with(new).await), (200, 401));
    product.home.write_config(&json!({ "api_key": new }));
    eventually("the new key is taken", async || {
        (status_with(new).await == 200).then_some(())
    })
    .await;
    assert_eq!(status_with(old).await, 401);
}

#[tokio::test]
async fn a_bad_change_keeps_what_runs_and_says_why_until_the_next_good_one() {
    let fixture = fixture();
    let mut product = start(&json!({ "first": fixture.entry() })).await;
    let client = product.connect().await;
    assert_eq!(outcome(&client, "first").await, "");
    let pid = fixture.pid();
    assert_eq!(problem(&product).await, "");
    for (text, said) in [
        ("{ \"mcpServers\": ", "mcp_config.json:1:"),
        ("{\n \"mcpServerz\": {} }", "mcp_config.json:2:2"),
        (
            "{ \"mcpServers\": 7 }",
            "an object with a key for each server",
        ),
    ] {
        product.home.write_config_text(text);
        eventually(&format!("the problem with {text} is shown"), async || {
            problem(&product).await.contains(said).then_some(())
        })
        .await;
        assert_eq!(outcome(&client, "first").await, "", "what ran goes on");
    }
    assert_eq!(fixture.pid(), pid);

    let second = self::fixture();
    let servers = json!({ "first": fixture.entry(), "second": second.entry() });
    product.home.write_config(&config(&servers));
    wait_for(&client, "second", "").await;
    assert_eq!(problem(&product).await, "");
    assert_eq!(fixture.pid(), pid, "the first server was left alone");
    assert!(product.is_running());
}

#[tokio::test]
async fn commands_reach_the_running_gateway_while_the_file_on_disk_is_bad() {
    let fixture = fixture();
    let product = start(&json!({ "first": fixture.entry() })).await;
    product.home.write_config_text("{ \"mcpServers\": ");
    eventually("the problem is noticed", async || {
        (!problem(&product).await.is_empty()).then_some(())
    })
    .await;
    let status = product.run(&["status", "-o", "json"]).await;
    assert_eq!(status.code, 0, "{status:?}");
    assert!(
        status.json()["configuration_problem"].is_string(),
        "{status:?}"
    );
    let table = product.run(&["status"]).await;
    assert!(table.stdout.contains("mcp_config.json:1:"), "{table:?}");
    let call = product.run(&["call", "tool-read", "first:look"]).await;
    assert_eq!(
        (call.code, call.stdout.as_str()),
        (0, "look {}\n"),
        "{call:?}"
    );
}

#[tokio::test]
async fn a_reload_tells_the_log_only_of_warnings_that_are_new() {
    let entry = |value: &str| json!({ "command": "sh", "enabled": false, "autoApprove": [value] });
    let warning = "'autoApprove'";
    let servers = json!({ "one": entry("a"), "two": entry("b") });
    let product = start(&servers).await;
    let told = || product.log().matches(warning).count();
    assert_eq!(told(), 2, "{}", product.log());

    // Whatever stands in front of them, they are the same.
    let mut changed = json!({ "discovery": { "limit": 7 } });
    changed["mcpServers"] = servers;
    let text = serde_json::to_string_pretty(&changed).unwrap();
    product.home.write_config_text(&text);
    reloaded(&product, 1).await;
    assert_eq!(told(), 2, "{}", product.log());

    changed["mcpServers"]["a new one"] = entry("c");
    product.home.write_config(&changed);
    reloaded(&product, 2).await;
    assert_eq!(told(), 3, "{}", product.log());

    // Of one that was gone meanwhile it is told again.
    changed["mcpServers"]["one"] = json!({ "command": "sh", "enabled": false });
    product.home.write_config(&changed);
    reloaded(&product, 3).await;
    changed["mcpServers"]["one"] = entry("a");
    product.home.write_config(&changed);
    reloaded(&product, 4).await;
    assert_eq!(told(), 4, "{}", product.log());
}

/// Waits until the log says so many times that the configuration was taken anew.
async fn reloaded(product: &Product, times: usize) {
    eventually("the configuration is taken anew", async || {
        let log = product.log();
        (log.matches("configuration reloaded").count() == times).then_some(())
    })
    .await;
}

/// Why the file on disk is not in force; empty if it is.
async fn problem(product: &Product) -> String {
    let status = product.get("/status").await;
    let problem = &status["configuration_problem"];
    problem.as_str().unwrap_or_default().to_owned()
}

fn fixture() -> Fixture {
    Fixture::new(PROGRAMS).tools(&TOOLS)
}

fn config(servers: &Value) -> Value {
    json!({ "mcpServers": servers })
}

async fn start(servers: &Value) -> Product {
    let product = Product::start(PROGRAMS, &config(servers)).await;
    product.settle().await;
    product
}

/// The code of the error that a read call of the server's tool gets; empty if it is allowed.
async fn outcome(client: &HttpClient, server: &str) -> String {
    let arguments =
        json!({ "name": format!("{server}:look"), "intent": { "operation_type": "read" } });
    let result = client.call("call_tool_read", &arguments).await;
    let code = &result["structuredContent"]["error"]["code"];
    code.as_str().unwrap_or_default().to_owned()
}

async fn wait_for(client: &HttpClient, server: &str, expected: &str) {
    eventually(&format!("{server} answers '{expected}'"), async || {
        (outcome(client, server).await == expected).then_some(())
    })
    .await;
}

/// Whether a process runs; one that has ended and waits to be collected does not.
fn is_running(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .starts_with(" Z")
    })
}
