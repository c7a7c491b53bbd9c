//! The tools of servers themselves: all together at `/mcp/all`, those of one server at
//! `/mcp/s/{server}`, unchanged and through the same checks as calls through the menu.

mod changes;
mod definitions;

use http::{Method, StatusCode};
use mcpproxy_tests::{Client, Fixture, HttpClient, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const READS: &str = r#"{"name":"look","description":"Look","inputSchema":{"type":"object","properties":{"at":{"type":"string"}}},"annotations":{"readOnlyHint":true}}"#;
const WRITES: &str = r#"{"name":"put","description":"Put","inputSchema":{},"annotations":{"readOnlyHint":false,"destructiveHint":false}}"#;
const DESTROYS: &str = r#"{"name":"burn","description":"Burn","inputSchema":{},"annotations":{"destructiveHint":true}}"#;
const UNKNOWN: &str = r#"{"name":"run","description":"Run it","inputSchema":{}}"#;
const NOT_DESTRUCTIVE: &str = r#"{"name":"add","description":"Add it","inputSchema":{},"annotations":{"destructiveHint":false}}"#;
const SOUNDS_BAD: &str = r#"{"name":"purge_all","description":"Clears","inputSchema":{}}"#;

const TOOLS: [&str; 6] = [
    READS,
    WRITES,
    DESTROYS,
    UNKNOWN,
    NOT_DESTRUCTIVE,
    SOUNDS_BAD,
];

/// The outcome of a call: nothing, a warning, or a refusal.
const FINE: &str = "";

#[tokio::test]
async fn a_call_does_what_its_tool_does_whatever_the_rules_say_of_declaring() {
    // Of each row: the rules, then the outcome for each of the tools above.
    let risk = "UNANNOTATED_RISK";
    let refused = "UNANNOTATED_TOOL";
    let table = [
        (json!({}), [FINE, FINE, FINE, FINE, FINE, risk]),
        (
            json!({ "mode": "inferred" }),
            [FINE, FINE, FINE, FINE, FINE, risk],
        ),
        (
            json!({ "strict_server_validation": false }),
            [FINE, FINE, FINE, FINE, FINE, risk],
        ),
        (
            json!({ "unannotated": "at_least_write" }),
            [FINE, FINE, FINE, FINE, FINE, FINE],
        ),
        (
            json!({ "unannotated": "require_destructive" }),
            [FINE, FINE, FINE, refused, FINE, refused],
        ),
        (
            json!({ "unannotated": "require_destructive", "strict_server_validation": false }),
            [FINE, FINE, FINE, refused, FINE, refused],
        ),
    ];
    let names = ["look", "put", "burn", "run", "add", "purge_all"];
    for (rules, expected) in table {
        let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
        let config =
            json!({ "mcpServers": { "srv": fixture.entry() }, "intent_declaration": rules });
        let product = Product::start(PROGRAMS, &config).await;
        for (client, prefix) in [
            (product.connect_to("/all").await, "srv__"),
            (product.connect_to("/s/srv").await, ""),
        ] {
            for (tool, expected) in names.iter().zip(expected) {
                let result = client.call(&format!("{prefix}{tool}"), &json!({})).await;
                assert_eq!(
                    outcome(&result),
                    expected,
                    "{rules} {prefix}{tool}: {result}"
                );
            }
        }
        let refusals = expected.iter().filter(|code| **code == refused).count();
        assert_eq!(fixture.ledger().len(), 2 * (names.len() - refusals));
    }
}

#[tokio::test]
async fn the_record_has_the_operation_of_the_tool() {
    let (product, _fixture) = start(&TOOLS, &json!({})).await;
    let client = product.connect_to("/all").await;
    for (tool, operation) in [
        ("look", "read"),
        ("put", "write"),
        ("burn", "destructive"),
        ("run", "write"),
        ("add", "write"),
    ] {
        let result = client.call(&format!("srv__{tool}"), &json!({})).await;
        let record = record_of(&product, &result).await;
        let variant = format!("call_tool_{operation}");
        for (field, expected) in [
            ("type", "tool_call"),
            ("status", "success"),
            ("server_name", "srv"),
            ("tool_name", tool),
            ("tool_variant", &variant),
            ("intent_type", operation),
        ] {
            assert_eq!(record[field], expected, "{field}: {record}");
        }
        let intent = json!({ "operation_type": operation });
        assert_eq!(record["metadata"]["intent"], intent, "{record}");
        assert_eq!(
            record["metadata"]["client"]["name"], "mcpproxy-tests",
            "{record}"
        );
    }
}

#[tokio::test]
async fn the_class_at_the_moment_of_the_call_counts() {
    let before = r#"{"name":"turn","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
    let after = r#"{"name":"turn","inputSchema":{},"annotations":{"destructiveHint":true}}"#;
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[before])
        .list_changed()
        .on_call("turn", &[after], true);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect_to("/all").await;
    for operation in ["read", "destructive"] {
        let result = client.call("srv__turn", &json!({})).await;
        let record = record_of(&product, &result).await;
        assert_eq!(record["intent_type"], operation, "{record}");
        assert_eq!(record["status"], "success", "{record}");
    }
}

#[tokio::test]
async fn arguments_arrive_as_they_were_sent_and_are_checked() {
    let (product, fixture) = start(&TOOLS, &json!({})).await;
    let sent = r#"{ "z":9007199254740993, "at":"\u0041","n":1.10 }"#;
    let all = product.connect_to("/all").await;
    let one = product.connect_to("/s/srv").await;
    all.call_raw("srv__look", sent).await;
    one.call_raw("look", sent).await;
    all.request("tools/call", &json!({ "name": "srv__look" }))
        .await;
    let expected = [
        format!("look {sent}"),
        format!("look {sent}"),
        "look {}".to_owned(),
    ];
    assert_eq!(fixture.ledger(), expected);

    for (arguments, path) in [
        (json!({ "at": 7 }), "/at"),
        (json!([1]), ""),
        (json!("x"), ""),
    ] {
        let result = all.call("srv__look", &arguments).await;
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["code"], "INVALID_ARGUMENTS", "{result}");
        assert_eq!(error["details"]["violations"][0]["path"], path, "{result}");
        let schema = &error["details"]["input_schema"];
        assert_eq!(schema["properties"]["at"]["type"], "string", "{result}");
        let record = record_of(&product, &result).await;
        assert_eq!(record["type"], "policy_decision", "{record}");
        assert_eq!(record["tool_name"], "look", "{record}");
    }
    assert_eq!(fixture.ledger().len(), 3);
}

#[tokio::test]
async fn what_is_withheld_is_neither_listed_nor_called() {
    let fixtures: Vec<Fixture> = (0..3)
        .map(|_| Fixture::new(PROGRAMS).tools(&[READS, WRITES]))
        .collect();
    let config = json!({ "mcpServers": {
        "one": fixtures[0].entry_with(&json!({ "tools": { "look": { "enabled": false } } })),
        "two": fixtures[1].entry_with(&json!({ "enabled": false })),
        "three": fixtures[2].entry_with(&json!({ "quarantined": true })),
    } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let all = product.connect_to("/all").await;
    let listed = all.tool_names().await;
    let foreign: Vec<&str> = listed
        .iter()
        .map(String::as_str)
        .filter(|name| !name.starts_with("mcpproxy__"))
        .collect();
    assert_eq!(foreign, ["one__put"]);
    assert!(
        listed.len() > 1,
        "our own tools are offered too: {listed:?}"
    );

    for (server, code, offered) in [
        ("one", "TOOL_DISABLED", vec!["put"]),
        ("two", "TOOL_DISABLED", vec![]),
        ("three", "SERVER_QUARANTINED", vec![]),
    ] {
        let one = product.connect_to(&format!("/s/{server}")).await;
        assert_eq!(one.tool_names().await, offered, "{server}");
        for result in [
            all.call(&format!("{server}__look"), &json!({})).await,
            one.call("look", &json!({})).await,
        ] {
            assert_eq!(outcome(&result), code, "{server}: {result}");
            let record = record_of(&product, &result).await;
            assert_eq!(record["status"], "blocked", "{record}");
        }
    }
    assert!(fixtures.iter().all(|fixture| fixture.ledger().is_empty()));
}

#[tokio::test]
async fn who_called_the_removed_tool_by_name_was_not_told_what_took_its_place() {
    const GONE: &str = "Tool 'call_tool' not found. Use call_tool_read, call_tool_write, or call_tool_destructive with matching intent.operation_type. See retrieve_tools for annotations and recommendations.";
    let (product, _fixture) = start(&TOOLS, &json!({})).await;
    product.settle().await;
    for path in ["", "/all", "/s/srv"] {
        let client = product.connect_to(path).await;
        let params = json!({ "name": "call_tool", "arguments": { "name": "srv:look" } });
        let error = client.request("tools/call", &params).await["error"].clone();
        assert_eq!(error["code"], -32602, "{path}: {error}");
        assert_eq!(error["message"], GONE, "{path}");
    }
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_an_error_of_the_protocol_with_the_nearest_names() {
    let (product, fixture) = start(&TOOLS, &json!({})).await;
    product.settle().await;
    let long = "x".repeat(5000);
    let all = product.connect_to("/all").await;
    let one = product.connect_to("/s/srv").await;
    for (client, name, nearest) in [
        (&all, "srv__lok", Some("srv__look")),
        (&all, "look", Some("srv__look")),
        (&all, "srv:look", Some("srv__look")),
        (&all, "call_tool_read", None),
        (&all, "nobody__here", None),
        (&all, "srv__x-0abcdefghijklmn", None),
        (&all, "", None),
        (&all, &long, None),
        (&one, "lok", Some("look")),
        (&one, "srv__look", Some("look")),
        (&one, &long, None),
    ] {
        let answer = client
            .request("tools/call", &json!({ "name": name, "arguments": {} }))
            .await;
        let error = &answer["error"];
        assert_eq!(error["code"], -32602, "{answer}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("not found"), "{answer}");
        assert!(message.len() < 1000, "{answer}");
        if let Some(nearest) = nearest {
            assert!(message.contains(&format!("'{nearest}'")), "{answer}");
            let first = &error["data"]["error"]["details"]["nearest"][0];
            assert_eq!(first, nearest, "{answer}");
        }
    }
    assert!(fixture.ledger().is_empty());
    let blocked = eventually("every refusal is on record", async || {
        let blocked = product.get("/activity?status=blocked&limit=50").await;
        let blocked = blocked["activities"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        (blocked.len() >= 11).then_some(blocked)
    })
    .await;
    for record in &blocked {
        assert_eq!(record["type"], "policy_decision", "{record}");
    }
    assert_eq!(blocked.len(), 11, "and only once: {blocked:?}");
}

#[tokio::test]
async fn a_session_belongs_to_its_endpoint() {
    let (product, _fixture) = start(&TOOLS, &json!({})).await;
    let paths = ["", "/all", "/s/srv", "/s/mcpproxy"];
    for opened in paths {
        let client = product.connect_to(opened).await;
        for path in paths {
            let other =
                HttpClient::without_session(&product.url(path)).with_session(client.session_id());
            let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned();
            let answer = other.post(&[], ping).await;
            let expected = if path == opened {
                StatusCode::OK
            } else {
                StatusCode::NOT_FOUND
            };
            assert_eq!(answer.status, expected, "{opened} at {path}");
            if path != opened {
                let ended = other.send(Method::DELETE, &[], String::new()).await;
                assert_eq!(ended.status, StatusCode::NOT_FOUND, "{opened} at {path}");
            }
        }
        let ended = client.send(Method::DELETE, &[], String::new()).await;
        assert_eq!(ended.status, StatusCode::NO_CONTENT, "{opened}");
    }
}

#[tokio::test]
async fn an_endpoint_of_a_server_that_does_not_exist_is_not_found() {
    let (product, _fixture) = start(&TOOLS, &json!({})).await;
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let client = HttpClient::without_session(&product.url("/s/srw"));
    let answer = client.post(&[], hello.to_owned()).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "UNKNOWN_SERVER", "{answer:?}");
    assert_eq!(error["details"]["nearest"][0], "srv", "{answer:?}");
    for path in ["/s/", "/s", "/s/srv/more", "/everything", "/all/"] {
        let client = HttpClient::without_session(&product.url(path));
        let answer = client.post(&[], hello.to_owned()).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}: {answer:?}");
    }
    // Access is settled first: whoever may not come in learns nothing.
    let key = [("authorization", "Bearer wrong")];
    let answer = client.post(&key, hello.to_owned()).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{answer:?}");
}

/// The gateway with one server, which may still be starting.
async fn start(tools: &[&str], more: &Value) -> (Product, Fixture) {
    let fixture = Fixture::new(PROGRAMS).tools(tools);
    let config = json!({ "mcpServers": { "srv": fixture.entry_with(more) } });
    (Product::start(PROGRAMS, &config).await, fixture)
}

/// The URL of an endpoint, given by what follows `/mcp`.
/// The code of a refusal or of the one warning; empty if there is neither.
fn outcome(result: &Value) -> String {
    let error = result["structuredContent"]["error"]["code"].as_str();
    let warnings = result["_meta"]["dev.mcpproxy/warnings"].as_array();
    let warning = warnings.and_then(|warnings| warnings[0]["code"].as_str());
    error.or(warning).unwrap_or_default().to_owned()
}

async fn record_of(product: &Product, result: &Value) -> Value {
    let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
    let id = id.unwrap_or_else(|| panic!("no activity id: {result}"));
    product.record(id).await
}
