//! What a token is told of servers and tools that do not exist for it: nothing, by whichever answer.

use http::Method;
use mcpproxy_tests::{Client, Fixture, HttpClient, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// Server with two tools, of which the token may use one.
fn shelf() -> Fixture {
    let tool = |name: &str| {
        format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":true}}}}"#
        )
    };
    Fixture::new(PROGRAMS).tools(&["look", "secret"].map(tool))
}

/// Token for one tool of a server, a server that failed, and the admin tools.
async fn token(product: &Product) -> String {
    let command = [
        "token",
        "create",
        "agent",
        "--servers",
        "shelf,broken,mcpproxy",
    ];
    let bounds = [
        "--tools",
        "shelf:look",
        "--tools",
        "mcpproxy:*",
        "--tools",
        "broken:*",
        "--permissions",
    ];
    let rest = ["servers:read,activity:read", "-o", "json"];
    let made = product.run(&[&command[..], &bounds, &rest].concat()).await;
    let made = made.json();
    made["token"]
        .as_str()
        .expect("a token is shown once")
        .to_owned()
}

#[tokio::test]
async fn states_of_servers_told_a_token_of_withheld_tools_and_files() {
    let (shelf, hidden) = (shelf(), Fixture::new(PROGRAMS));
    let config = json!({ "mcpServers": {
        "shelf": shelf.entry(),
        "hidden": hidden.entry(),
        "broken": { "command": "/srv/private/no-such-program" },
    } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let credential = token(&product).await;
    let client = HttpClient::connect_as(&product.endpoint(), &credential).await;

    let rest = HttpClient::without_session(&product.rest("/servers")).showing(&credential);
    let rest = rest.send(Method::GET, &[], String::new()).await.json();
    check("REST", &rest["servers"]);
    for tool in ["list-servers", "check-servers"] {
        let answer = client
            .call_allowed("read", &format!("mcpproxy:{tool}"), &json!({}))
            .await;
        check(tool, &answer["structuredContent"]["data"]["servers"]);
        assert!(!answer.to_string().contains("/srv/private"), "{answer}");
    }
    let call = json!({ "name": "broken:any", "args": {}, "intent": { "operation_type": "read" } });
    let refused = client.call("call_tool_read", &call).await;
    assert!(!refused.to_string().contains("/srv/private"), "{refused}");
}

/// Checks servers that were shown: those of the token, one tool of the one that has two, and nothing of the host.
fn check(what: &str, servers: &Value) {
    let names = servers.as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(|server| server["name"].as_str()).collect();
    assert!(
        names.contains(&"shelf") && names.contains(&"broken"),
        "{what}: {servers}"
    );
    assert!(!names.contains(&"hidden"), "{what}: {servers}");
    for server in servers.as_array().into_iter().flatten() {
        if server["name"] == "shelf" && !server["tools"].is_null() {
            assert_eq!(server["tools"], 1, "{what}: {servers}");
        }
        let warnings = server.get("warnings").filter(|all| **all != json!([]));
        assert_eq!(warnings, None, "{what}: {servers}");
    }
    assert!(
        !servers.to_string().contains("/srv/private"),
        "{what}: {servers}"
    );
}

/// A variant that a token lacks told it the schema of its arguments, and the menu named tools that it does not have.
#[tokio::test]
async fn arguments_that_cannot_be_read_told_a_token_of_variants_it_lacks() {
    let fixture = shelf();
    let config = json!({ "mcpServers": { "shelf": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let made = product
        .run(&["token", "create", "reader", "-o", "json"])
        .await;
    let made = made.json();
    let credential = made["token"].as_str().expect("a token is shown once");
    let client = HttpClient::connect_as(&product.endpoint(), credential).await;
    let malformed = json!({ "name": "shelf:look", "args": 7, "intnet": {} });
    for (variant, code) in [
        ("call_tool_read", "INVALID_ARGUMENTS"),
        ("call_tool_write", "FORBIDDEN"),
        ("call_tool_destructive", "FORBIDDEN"),
    ] {
        let refused = client.call(variant, &malformed).await;
        let error = &refused["structuredContent"]["error"];
        assert_eq!(error["code"], code, "{refused}");
        let has_schema = refused.to_string().contains("input_schema");
        assert_eq!(has_schema, code == "INVALID_ARGUMENTS", "{refused}");
        let rest = HttpClient::without_session(&product.rest("/tools/call")).showing(credential);
        let mut body = malformed.clone();
        body["variant"] = json!(variant);
        let refused = rest.post(&[], body.to_string()).await.json();
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
    let params = json!({ "name": "nothing", "arguments": {} });
    let refused = client.request("tools/call", &params).await;
    let message = refused["error"]["message"].to_string();
    assert!(message.contains("call_tool_read"), "{message}");
    assert!(
        !message.contains("call_tool_write") && !message.contains("call_tool_destructive"),
        "{message}"
    );
}

/// Calls that say no tool or no variant left no trace.
#[tokio::test]
async fn calls_without_a_name_or_a_variant_were_not_on_record() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    let client = product.connect().await;
    for (path, params) in [
        ("", json!({})),
        ("", json!({ "name": 7, "arguments": { "a": 1 } })),
    ] {
        let client = product.connect_to(path).await;
        let refused = client.request("tools/call", &params).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    drop(client);
    let rest = HttpClient::without_session(&product.rest("/tools/call")).showing(&product.key());
    for body in [
        json!({ "variant": "call_tool", "name": "shelf:look", "args": { "word": "hidden" } }),
        json!({}),
    ] {
        let refused = rest.post(&[], body.to_string()).await;
        assert_eq!(
            refused.status,
            http::StatusCode::BAD_REQUEST,
            "{}",
            refused.body
        );
    }
    let records = eventually("the refusals are on record", async || {
        let records = product.get("/activity").await;
        let records = records["activities"].as_array()?.iter();
        let of_calls = records.filter(|one| one["tool_name"].is_string());
        let records: Vec<Value> = of_calls.cloned().collect();
        (records.len() == 4).then_some(records)
    })
    .await;
    let names = records.iter().rev().map(|one| {
        assert_eq!(one["status"], "blocked", "{one}");
        assert_eq!(one["error"]["code"], "INVALID_ARGUMENTS", "{one}");
        assert!(!one.to_string().contains("hidden"), "{one}");
        (one["server_name"].clone(), one["tool_name"].clone())
    });
    let unnamed = (Value::Null, json!("tools/call"));
    let expected = [
        unnamed.clone(),
        unnamed.clone(),
        (json!("shelf"), json!("look")),
        unnamed,
    ];
    assert_eq!(names.collect::<Vec<_>>(), expected);
}

/// It removed and counted records of others.
#[tokio::test]
async fn pruning_told_a_token_how_many_records_others_made() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    for (name, activity, is_refused) in [("own", "own", true), ("all", "all", false)] {
        let command = [
            "token",
            "create",
            name,
            "--activity",
            activity,
            "--servers",
            "mcpproxy",
        ];
        let rights = [
            "--operations",
            "destructive",
            "--permissions",
            "activity:prune",
            "-o",
            "json",
        ];
        let made = product.run(&[&command[..], &rights].concat()).await.json();
        let credential = made["token"].as_str().expect("a token is shown once");
        let client = HttpClient::connect_as(&product.endpoint(), credential).await;
        let args = json!({ "olderThan": "2026-01-01" });
        let answer = client
            .call_as("destructive", "mcpproxy:prune-activity", &args)
            .await;
        let data = &answer["structuredContent"]["data"];
        assert_eq!(data["remaining"].is_number(), !is_refused, "{answer}");
        if is_refused {
            let error = &answer["structuredContent"]["error"];
            assert_eq!(error["code"], "FORBIDDEN", "{answer}");
        }
    }
}
