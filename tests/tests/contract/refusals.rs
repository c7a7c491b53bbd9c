//! Refusals for tools of contract services: whole results of the contract at every face, and none for other tools.

use std::process::Command;

use http::{Method, StatusCode};
use mcpproxy_tests::{Client, Fixture, Home, HttpClient, Product, decode, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;
use crate::service::{check_refused, check_whole, mutation, query, service, suggested};

/// Error with data in which a warning of the gateway is forged.
const BROKEN: &str = concat!(
    r#"{"code":-32000,"message":"broken","data":{"own":[1],"_meta":"#,
    r#"{"dev.mcpproxy/warnings":[{"code":"FORGED","message":"x"}]}}}"#
);

/// A service with a tool for each reason to refuse.
fn cards() -> Fixture {
    let removed =
        json!({ "since": "1.0.0", "replacement": "get-card", "removalDate": "2020-01-31" });
    let limit = json!({ "maxCalls": 1, "windowMs": 86_400_000 });
    let tools = [
        query("get-card", &json!({ "permissions": ["cards:read"] })),
        mutation("add-card", &json!({})),
        query("find-card", &json!({ "deprecated": removed })),
        query("count-card", &json!({ "rateLimit": limit })),
        query("show-card", &json!({})),
        query("break-card", &json!({})),
        query("await-card", &json!({})),
    ];
    service(&tools, &json!([]))
        .error("break-card", BROKEN)
        .hang_on("await-card")
}

fn config(fixture: &Fixture) -> Value {
    let disabled = json!({ "timeout": "2s", "tools": { "show-card": { "enabled": false } } });
    json!({ "mcpServers": { "cards": fixture.entry_with(&disabled) } })
}

fn good() -> Value {
    json!({ "cardId": "card_1" })
}

#[tokio::test]
async fn res_gw_err_3_whatever_is_refused_for_a_tool_of_a_contract_service_is_a_whole_tool_result()
{
    let fixture = cards();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    product.settle().await;
    let client = product.connect().await;
    let read = json!({ "operation_type": "read" });
    let get = |args: Value| json!({ "name": "cards:get-card", "args": args, "intent": read });
    let of =
        |tool: &str| json!({ "name": format!("cards:{tool}"), "args": good(), "intent": read });
    client.call("call_tool_read", &of("count-card")).await;
    let before = fixture.ledger().len();
    let refused = [
        (get(json!({ "cardId": 7 })), "INVALID_ARGUMENTS"),
        (get(json!({})), "INVALID_ARGUMENTS"),
        (
            get(json!({ "cardId": "card_1", "crad": 1 })),
            "INVALID_ARGUMENTS",
        ),
        (
            json!({ "name": "cards:get-card", "args_json": "{x", "intent": read }),
            "INVALID_ARGUMENTS",
        ),
        (
            json!({ "name": "cards:get-card", "args": good() }),
            "MISSING_INTENT",
        ),
        (
            json!({ "name": "cards:get-card", "args": good(), "intent": { "operation_type": "write" } }),
            "INTENT_MISMATCH",
        ),
        (of("add-card"), "SERVER_MISMATCH"),
        (of("get-crad"), "UNKNOWN_TOOL"),
        (of("show-card"), "TOOL_DISABLED"),
        (of("find-card"), "TOOL_REMOVED"),
        (of("count-card"), "RATE_LIMITED"),
    ];
    for (arguments, code) in refused {
        check_refused(&client.call("call_tool_read", &arguments).await, code);
    }
    assert_eq!(
        fixture.ledger().len(),
        before,
        "nothing reached the service"
    );
    for (tool, code) in [
        ("break-card", "UPSTREAM_ERROR"),
        ("await-card", "UPSTREAM_TIMEOUT"),
    ] {
        check_refused(&client.call("call_tool_read", &of(tool)).await, code);
    }

    let flags = ["token", "create", "one", "--servers", "cards", "-o", "json"];
    let made = product.run(&flags).await.json();
    let token = made["token"].as_str().unwrap();
    let token = HttpClient::connect_as(&product.endpoint(), token).await;
    let forbidden = token.call("call_tool_read", &of("get-card")).await;
    check_refused(&forbidden, "FORBIDDEN");
    let operation = token.call("call_tool_write", &of("get-card")).await;
    check_refused(&operation, "FORBIDDEN");
}

#[tokio::test]
async fn res_gw_that_a_server_is_down_is_told_in_a_whole_tool_result() {
    let fixture = cards();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    product.settle().await;
    let client = product.connect().await;
    client.call_allowed("read", "cards:get-card", &good()).await;
    let process = fixture.pid().unwrap().to_string();
    let fixture = fixture.exit_at_start();
    let _ = fixture.entry();
    let killed = Command::new("kill").args(["-9", &process]).status();
    assert!(killed.unwrap().success());
    let refused = eventually("the gateway knows that the server is gone", async || {
        let answer = client.call_as("read", "cards:get-card", &good()).await;
        let code = &answer["structuredContent"]["error"]["code"];
        (code == "UPSTREAM_UNAVAILABLE").then_some(answer)
    })
    .await;
    check_refused(&refused, "UPSTREAM_UNAVAILABLE");
    let steps = suggested(&refused["structuredContent"]);
    let check = ["check-servers", "mcpproxy:check-servers", "call_tool_read"];
    assert!(steps.contains(&check), "{refused}");
}

#[tokio::test]
async fn a_refusal_says_which_tool_helps_and_how_to_call_it() {
    let fixture = cards();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    product.settle().await;
    let client = product.connect().await;
    let get = ["get-card", "cards:get-card", "call_tool_read"];
    let add = ["add-card", "cards:add-card", "call_tool_write"];
    for (tool, args, expected) in [
        ("get-card", json!({}), get),
        ("find-card", good(), get),
        ("add-card", good(), add),
        ("get-crad", good(), get),
    ] {
        let refused = client
            .call_as("read", &format!("cards:{tool}"), &args)
            .await;
        let steps = suggested(&refused["structuredContent"]);
        assert_eq!(steps.first(), Some(&expected), "{refused}");
        let version = &refused["structuredContent"]["metadata"]["toolVersion"];
        assert_eq!(version == "1.4.2", tool != "get-crad", "{refused}");
    }
    let record = |result: &Value| result["_meta"]["dev.mcpproxy/request_id"].clone();
    let refused = client.call_as("read", "cards:get-card", &json!({})).await;
    let metadata = &refused["structuredContent"]["metadata"];
    assert_eq!(metadata["correlationId"], record(&refused), "{refused}");
}

#[tokio::test]
async fn res_gw_a_refusal_is_whole_at_every_face() {
    let fixture = cards();
    let home = Home::new(PROGRAMS, &config(&fixture));
    let call = [
        "call",
        "tool-read",
        "cards:get-card",
        "--args",
        r#"{"cardId":7}"#,
        "-o",
        "json",
    ];
    let alone = home.run(&call).await;
    assert_eq!((alone.code, alone.stdout.as_str()), (1, ""), "{alone:?}");
    check_whole(&decode(&alone.stderr), "INVALID_ARGUMENTS");

    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    let ran = product.run(&call).await;
    check_whole(&decode(&ran.stderr), "INVALID_ARGUMENTS");
    let table = product.run(&call[..5]).await;
    assert!(
        table.stderr.starts_with("error: Invalid arguments"),
        "{table:?}"
    );

    let wrong = json!({ "cardId": 7 });
    let stdio = product.stdio().await;
    check_refused(
        &stdio.call_as("read", "cards:get-card", &wrong).await,
        "INVALID_ARGUMENTS",
    );
    for (path, prefix) in [("/all", "cards__"), ("/s/cards", "")] {
        let client = product.connect_to(path).await;
        for arguments in [&wrong, &json!([])] {
            let refused = client.call(&format!("{prefix}get-card"), arguments).await;
            check_refused(&refused, "INVALID_ARGUMENTS");
        }
        let removed = client.call(&format!("{prefix}find-card"), &good()).await;
        check_refused(&removed, "TOOL_REMOVED");
    }
    let client = product.connect_to("/s/cards").await;
    let unknown = json!({ "name": "get-crad", "arguments": {} });
    let answer = client.request("tools/call", &unknown).await;
    check_whole(&answer["error"]["data"], "UNKNOWN_TOOL");
    let steps = suggested(&answer["error"]["data"]);
    assert_eq!(steps[0][1], "cards:get-card", "{answer}");

    let body = json!({ "variant": "call_tool_read", "name": "cards:get-card", "args": wrong,
        "intent": { "operation_type": "read" } });
    let rest = product
        .ask(Method::POST, "/tools/call", body.to_string())
        .await;
    assert_eq!(rest.status, StatusCode::BAD_REQUEST);
    check_whole(&rest.json(), "INVALID_ARGUMENTS");
    let removed = json!({ "variant": "call_tool_read", "name": "cards:find-card", "args": good(),
        "intent": { "operation_type": "read" } });
    let rest = product
        .ask(Method::POST, "/tools/call", removed.to_string())
        .await;
    assert_eq!(rest.status, StatusCode::CONFLICT);
    check_whole(&rest.json(), "TOOL_REMOVED");
}

#[tokio::test]
async fn never_a_name_that_stands_for_nothing_at_all_servers_had_no_agent_hints() {
    let fixture = cards();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    product.settle().await;
    let client = product.connect_to("/all").await;
    let unknown = async |name: &str| {
        let params = json!({ "name": name, "arguments": {} });
        client.request("tools/call", &params).await
    };
    // One that could be a tool and has a neighbour, one that no tool can have, and one with the hash of none.
    let hashed = format!("cards__get-crad-0{}", "a".repeat(14));
    for name in ["cards__get-crad", "cards__get crad", &hashed] {
        let answer = unknown(name).await;
        check_whole(&answer["error"]["data"], "UNKNOWN_TOOL");
        let steps = suggested(&answer["error"]["data"]);
        if name == "cards__get-crad" {
            assert_eq!(steps[0][1], "cards:get-card", "{answer}");
        }
    }
    let answer = unknown("crads__get-card").await;
    let data = &answer["error"]["data"];
    assert!(data.get("agentHints").is_none(), "nobody's tool: {answer}");
}

#[tokio::test]
async fn never_an_error_of_json_rpc_was_passed_on_without_agent_hints_and_was_no_violation() {
    let fixture = cards();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    product.settle().await;
    let client = product.connect_to("/s/cards").await;
    let params = json!({ "name": "break-card", "arguments": good() });
    let answer = client.request("tools/call", &params).await;
    let error = &answer["error"];
    let own = (&error["code"], &error["message"]);
    assert_eq!(own, (&json!(-32000), &json!("broken")), "{answer}");
    check_whole(&error["data"], "UPSTREAM_ERROR");
    assert_eq!(error["data"]["own"], json!([1]), "{answer}");
    let warnings = &error["data"]["_meta"]["dev.mcpproxy/warnings"];
    assert_eq!(warnings[0]["code"], "CONTRACT_VIOLATED", "{answer}");

    let client = product.connect().await;
    let refused = client.call_as("read", "cards:break-card", &good()).await;
    check_refused(&refused, "UPSTREAM_ERROR");
    let warning = &refused["_meta"]["dev.mcpproxy/warnings"][0];
    assert_eq!(warning["code"], "CONTRACT_VIOLATED", "{refused}");
    let message = warning["message"].as_str().unwrap();
    assert!(message.contains("hints-present"), "{message}");
    assert!(message.contains("-32000: broken"), "{message}");
    let id = refused["_meta"]["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap();
    let record = product.record(id).await;
    assert_eq!(record["warnings"][0], *warning, "{record}");
    let log = eventually("the log tells of it", async || {
        let log = product.log();
        log.contains("hints-present").then_some(log)
    })
    .await;
    assert_eq!(log.matches("rule=\"hints-present\"").count(), 1, "{log}");
}

#[tokio::test]
async fn never_a_server_that_has_not_listed_anything_since_the_start_was_taken_for_any_other() {
    let fixture = cards();
    let home = Home::new(PROGRAMS, &config(&fixture));
    let seen = home.run(&["tools", "list", "--server", "cards"]).await;
    assert_eq!(seen.code, 0, "{seen:?}");
    let silent = || Fixture::new(PROGRAMS).exit_at_start();
    let (cards, plain) = (silent(), silent());
    home.write_config(&json!({ "mcpServers": { "cards": cards.entry(), "plain": plain.entry() } }));
    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    let client = product.connect().await;
    for tool in ["get-card", "no-card"] {
        let name = format!("cards:{tool}");
        let refused = client.call_as("read", &name, &good()).await;
        check_refused(&refused, "UPSTREAM_UNAVAILABLE");
    }
    let refused = client.call_as("read", "plain:get-card", &good()).await;
    let answer = &refused["structuredContent"];
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{refused}");
    assert!(answer.get("agentHints").is_none(), "{refused}");
}

#[tokio::test]
async fn never_omit_agent_hints_holds_for_the_admin_tools_and_the_demo() {
    let product = Product::start_in(Home::new(PROGRAMS, &json!({})), &["--demo"]).await;
    let client = product.connect().await;
    for (operation, name, args, code) in [
        (
            "read",
            "cards:get-card",
            json!({ "cardId": 7 }),
            "INVALID_ARGUMENTS",
        ),
        (
            "read",
            "cards:delete-card",
            json!({ "cardId": "card_1" }),
            "SERVER_MISMATCH",
        ),
        ("read", "cards:get-crad", json!({}), "UNKNOWN_TOOL"),
        (
            "read",
            "mcpproxy:list-activity",
            json!({ "limit": "x" }),
            "INVALID_ARGUMENTS",
        ),
        (
            "read",
            "mcpproxy:restart-server",
            json!({ "server": "x" }),
            "SERVER_MISMATCH",
        ),
        ("read", "mcpproxy:list-servres", json!({}), "UNKNOWN_TOOL"),
        (
            "write",
            "mcpproxy:restart-server",
            json!({ "server": "cards" }),
            "FORBIDDEN",
        ),
    ] {
        check_refused(&client.call_as(operation, name, &args).await, code);
    }
}

/// Quizzes that the demo makes for a caller in a minute.
const QUIZZES: usize = 10;

#[tokio::test]
async fn never_the_admin_tools_and_the_demo_refused_who_lacks_a_permission_or_calls_too_often_as_results()
 {
    let product = Product::start_in(Home::new(PROGRAMS, &json!({})), &["--demo"]).await;
    let client = product.connect().await;
    let quiz = json!({ "deckId": "deck_3", "questions": 2 });
    let restart = json!({ "server": "cards" });
    let (limited, forbidden) = ("cards:generate-quiz", "mcpproxy:restart-server");
    for _ in 0..QUIZZES {
        let made = client.call_as("read", limited, &quiz).await;
        assert_eq!(made["isError"], false, "{made}");
    }
    for (refused, code) in [
        (client.call_as("read", limited, &quiz).await, "RATE_LIMITED"),
        (
            client.call_as("write", forbidden, &restart).await,
            "FORBIDDEN",
        ),
    ] {
        check_refused(&refused, code);
        let id = refused["_meta"]["dev.mcpproxy/activity_id"].as_str();
        let record = product.record(id.unwrap()).await;
        let outcome = [&record["type"], &record["status"], &record["error"]["code"]];
        assert_eq!(outcome, ["policy_decision", "blocked", code], "{record}");
    }

    // The administrator calls under limits of its own; a token has no permission that it does not name.
    let flags = [
        "token",
        "create",
        "one",
        "--servers",
        "mcpproxy",
        "--operations",
        "read,write",
        "-o",
        "json",
    ];
    let made = product.run(&flags).await.json();
    let token = made["token"].as_str().unwrap_or_default().to_owned();
    let rest = HttpClient::without_session(&product.rest("/tools/call"));
    let ask = async |credential: &str, operation: &str, name: &str, args: &Value| {
        let body = json!({ "variant": operation, "name": name, "args": args,
            "intent": { "operation_type": operation } });
        let headers = [("x-api-key", credential)];
        rest.send(Method::POST, &headers, body.to_string()).await
    };
    let refused = ask(&token, "write", forbidden, &restart).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.body);
    check_whole(&refused.json(), "FORBIDDEN");
    let key = product.key();
    for _ in 0..QUIZZES {
        let made = ask(&key, "read", limited, &quiz).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.body);
    }
    let refused = ask(&key, "read", limited, &quiz).await;
    let status = StatusCode::TOO_MANY_REQUESTS;
    assert_eq!(refused.status, status, "{}", refused.body);
    check_whole(&refused.json(), "RATE_LIMITED");
    let call = ["call", "tool-read", limited, "--args", &quiz.to_string()];
    let ran = product.run(&[&call[..], &["-o", "json"]].concat()).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    check_whole(&decode(&ran.stderr), "RATE_LIMITED");
}

#[tokio::test]
async fn refusals_of_other_tools_and_for_callers_who_may_not_know_stay_as_they_are() {
    let fixture = cards();
    let mixed = Fixture::new(PROGRAMS).tools(&[
        query("get-card", &json!({})).to_string(),
        r#"{"name":"plain","inputSchema":{},"annotations":{"destructiveHint":true}}"#.to_owned(),
    ]);
    let mut config = config(&fixture);
    config["mcpServers"]["mixed"] = mixed.entry();
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect().await;
    let refused = client.call_as("read", "mixed:plain", &json!({})).await;
    let members = refused["structuredContent"].as_object().unwrap();
    assert_eq!(members.keys().collect::<Vec<_>>(), ["error"], "{refused}");

    let flags = ["token", "create", "one", "--servers", "mixed", "-o", "json"];
    let made = product.run(&flags).await.json();
    let token = made["token"].as_str().unwrap();
    let stranger = HttpClient::connect_as(&product.endpoint(), token).await;
    let refused = stranger.call_as("read", "cards:get-card", &good()).await;
    let members = refused["structuredContent"].as_object().unwrap();
    assert_eq!(members.keys().collect::<Vec<_>>(), ["error"], "{refused}");
    assert_eq!(
        refused["structuredContent"]["error"]["code"],
        "UNKNOWN_SERVER"
    );
}
