//! Tokens of agents: what each of two sees of the other, what ends with them, and the commands that make them.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that finds something missing fails its test"
)]

use std::os::unix::fs::PermissionsExt;

use http::{Method, StatusCode};
use http_body_util::BodyExt;
use mcpproxy_tests::stateless_client::introduced;
use mcpproxy_tests::{
    Client, Fixture, Home, HttpClient, Product, StatelessClient, StdioClient, eventually, within,
};
use serde_json::{Value, json};

use crate::PROGRAMS;

const LOOK: &str = r#"{"name":"look","description":"Looks something up","inputSchema":{"type":"object","properties":{"word":{"type":"string"}}},"annotations":{"readOnlyHint":true}}"#;
const FOUND: &str = r#"{"content":[{"type":"text","text":"found"}]}"#;

async fn shelf() -> (Product, Fixture) {
    let shelf = Fixture::new(PROGRAMS).tools(&[LOOK]).result("look", FOUND);
    let config = json!({ "mcpServers": { "shelf": shelf.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    (product, shelf)
}

async fn token(product: &Product, name: &str, flags: &[&str]) -> String {
    let command = [&["token", "create", name, "-o", "json"], flags].concat();
    let made = product.run(&command).await;
    assert_eq!(made.code, 0, "{made:?}");
    made.json()["token"].as_str().unwrap().to_owned()
}

async fn get(product: &Product, credential: &str, path: &str) -> Value {
    let client = HttpClient::without_session(&product.rest(path)).showing(credential);
    let answer = client.send(Method::GET, &[], String::new()).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
    answer.json()
}

async fn exported(product: &Product, credential: &str) -> String {
    let url = product.rest("/activity/export?format=jsonl");
    let client = HttpClient::without_session(&url).showing(credential);
    client.send(Method::GET, &[], String::new()).await.body
}

/// Two agents of one gateway, fifty calls each, mixed, with sessions and without: reasons, errors and names of the other
/// were visible, and withheld arguments came out word by word through the `text` filter.
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story, told by every face")]
async fn agents_read_one_another() {
    let (product, _shelf) = shelf().await;
    let flags = [
        "--servers",
        "shelf,mcpproxy",
        "--permissions",
        "activity:read,servers:read",
    ];
    let names = ["anna", "bert"];
    let mut tokens = Vec::new();
    for name in names {
        tokens.push(token(&product, name, &flags).await);
    }
    let (endpoint, mut ids) = (product.endpoint(), [Vec::new(), Vec::new()]);
    let sessions = [
        HttpClient::connect_as(&endpoint, &tokens[0]).await,
        HttpClient::connect_as(&endpoint, &tokens[1]).await,
    ];
    for number in 0..50 {
        for (at, name) in names.iter().enumerate() {
            let arguments = json!({
                "name": "shelf:look",
                "args": { "word": format!("secretof{name}{number}") },
                "intent": { "operation_type": "read", "reason": format!("because{name}{number}") },
            });
            let result = if number % 2 == 0 {
                sessions[at].call("call_tool_read", &arguments).await
            } else {
                let client = StatelessClient::new(&endpoint).showing(&tokens[at]);
                client.call("call_tool_read", &arguments).await
            };
            let id = result["_meta"]["dev.mcpproxy/activity_id"]
                .as_str()
                .unwrap();
            ids[at].push(id.to_owned());
        }
    }
    product.record(ids[1].last().unwrap()).await;
    for (at, name) in names.iter().enumerate() {
        let (credential, other) = (&tokens[at], names[1 - at]);
        let list = eventually("all own calls are listed", async || {
            let list = get(&product, credential, "/activity?type=tool_call&limit=1000").await;
            (list["activities"].as_array()?.len() == 50).then_some(list)
        })
        .await;
        assert!(!list.to_string().contains(&format!("of{other}")), "{list}");
        let summary = get(&product, credential, "/activity/summary?type=tool_call").await;
        assert_eq!(summary["total"], 50, "{name}: {summary}");
        for filter in [
            format!("text=secretof{other}1"),
            format!("text=because{other}1"),
            format!("agent={other}"),
            format!("tool=look&agent={other}"),
        ] {
            let found = get(&product, credential, &format!("/activity?{filter}")).await;
            assert_eq!(found["activities"], json!([]), "{name} {filter}");
            let counted = get(&product, credential, &format!("/activity/summary?{filter}")).await;
            assert_eq!(counted["total"], 0, "{name} {filter}");
        }
        let export = exported(&product, credential).await;
        assert!(export.contains(&format!("secretof{name}7")));
        assert!(
            !export.contains(&format!("of{other}")) && !export.contains(&format!("because{other}"))
        );
        let url = product.rest(&format!("/activity/{}", ids[1 - at][0]));
        let client = HttpClient::without_session(&url).showing(credential);
        let others = client.send(Method::GET, &[], String::new()).await;
        assert_eq!(others.status, StatusCode::NOT_FOUND, "{}", others.body);
        let own = get(&product, credential, &format!("/activity/{}", ids[at][0])).await;
        assert_eq!(own["agent"], *name);
        // Gaps between its own would count the records of others.
        assert_eq!(
            (&own["seq"], &own["prev_hash"]),
            (&Value::Null, &Value::Null),
            "{own}"
        );

        let tool = |tool: &str, args: Value| json!({ "name": format!("mcpproxy:{tool}"), "args": args, "intent": { "operation_type": "read" } });
        for (own_tool, args) in [
            ("list-activity", json!({ "limit": 100 })),
            (
                "list-activity",
                json!({ "text": format!("secretof{other}1") }),
            ),
            ("summarize-activity", json!({ "agent": other })),
            ("check-servers", json!({})),
            ("propose-permissions", json!({ "agent": other })),
        ] {
            let result = sessions[at]
                .call("call_tool_read", &tool(own_tool, args))
                .await;
            let data = result["structuredContent"]["data"].to_string();
            assert!(
                !data.contains(&format!("because{other}")),
                "{name} {own_tool}: {data}"
            );
            assert!(
                !data.contains(&format!("{other}0")),
                "{name} {own_tool}: {data}"
            );
        }
        let counted = sessions[at]
            .call(
                "call_tool_read",
                &tool("summarize-activity", json!({ "agent": other })),
            )
            .await;
        assert_eq!(
            counted["structuredContent"]["data"]["total"], 0,
            "{counted}"
        );
    }
    let all = product
        .get("/activity/summary?type=tool_call&tool=look")
        .await;
    assert_eq!(all["total"], 100, "the administrator sees both: {all}");
    let found = product.get("/activity?text=secretofbert1").await;
    assert!(!found["activities"].as_array().unwrap().is_empty());
}

/// Without a key, `list-activity` showed the calls of everybody.
#[tokio::test]
async fn an_agent_without_a_credential_saw_the_records_of_others() {
    let (product, _shelf) = shelf().await;
    let (victim, attacker) = (product.connect().await, product.connect().await);
    let result = victim
        .call_allowed("read", "shelf:look", &json!({ "word": "lymphoma4417" }))
        .await;
    let id = result["_meta"]["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap();
    product.record(id).await;
    let own = attacker
        .call_allowed("read", "shelf:look", &json!({ "word": "mine" }))
        .await;
    product
        .record(own["_meta"]["dev.mcpproxy/activity_id"].as_str().unwrap())
        .await;
    for args in [
        json!({ "limit": 100 }),
        json!({ "text": "lymphoma4417" }),
        json!({ "tool": "look" }),
    ] {
        let list = attacker
            .call_allowed("read", "mcpproxy:list-activity", &args)
            .await;
        let list = &list["structuredContent"]["data"];
        assert!(!list.to_string().contains(id), "{list}");
        let items = list["items"].as_array().unwrap();
        let is_own = |item: &Value| item["id"] == own["_meta"]["dev.mcpproxy/activity_id"];
        assert!(
            items
                .iter()
                .all(|item| is_own(item) || item["tool_name"] != "look"),
            "{list}"
        );
    }
    let stateless = StatelessClient::new(&product.endpoint());
    let list = stateless
        .call_allowed("read", "mcpproxy:list-activity", &json!({ "limit": 100 }))
        .await;
    assert_eq!(
        list["structuredContent"]["data"]["items"],
        json!([]),
        "{list}"
    );
}

#[tokio::test]
async fn what_a_token_had_opened_went_on_after_it_was_revoked() {
    let (product, _shelf) = shelf().await;
    let [revoked, rotated] = [
        token(&product, "revoked", &[]).await,
        token(&product, "rotated", &[]).await,
    ];
    let mut streams = Vec::new();
    for credential in [&revoked, &rotated] {
        let events = HttpClient::without_session(&product.rest("/events")).showing(credential);
        streams.push(events.open(Method::GET, &[], String::new()).await);
        let session = HttpClient::connect_as(&product.url("/all"), credential).await;
        let accept = [("accept", "text/event-stream")];
        streams.push(session.open(Method::GET, &accept, String::new()).await);
        let listen = json!({ "notifications": { "toolsListChanged": true } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": introduced(&listen) });
        let client = HttpClient::without_session(&product.url("/all")).showing(credential);
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "subscriptions/listen"),
            ("accept", "text/event-stream"),
        ];
        streams.push(client.open(Method::POST, &headers, body.to_string()).await);
    }
    for stream in &streams {
        assert_eq!(stream.status(), StatusCode::OK);
    }
    assert_eq!(product.run(&["token", "revoke", "revoked"]).await.code, 0);
    assert_eq!(product.run(&["token", "rotate", "rotated"]).await.code, 0);
    for stream in streams {
        let rest = within("the stream ends", stream.into_body().collect()).await;
        assert!(rest.is_ok(), "in order, not broken off");
    }
}

/// The record of a refused call had the arguments where the tool exists, and only their size where it does not.
#[tokio::test]
async fn its_own_records_told_a_token_which_hidden_tools_exist() {
    let (product, _shelf) = shelf().await;
    let credential = token(&product, "outside", &["--tools", "shelf:other*"]).await;
    let mut told = Vec::new();
    for tool in ["shelf:look", "shelf:nope"] {
        let client = HttpClient::connect_as(&product.endpoint(), &credential).await;
        let call = json!({ "name": tool, "args": { "word": "x" }, "intent": { "operation_type": "read" } });
        let refused = client.call("call_tool_read", &call).await;
        let path = format!(
            "/activity?request_id={}",
            refused["_meta"]["dev.mcpproxy/request_id"]
                .as_str()
                .unwrap()
        );
        let record = eventually("the refusal is on record", async || {
            let list = get(&product, &credential, &path).await;
            list["activities"].get(0).cloned()
        })
        .await;
        let shown = ["arguments", "arguments_truncated", "intent_type", "status"];
        told.push(shown.map(|name| record[name].clone()));
    }
    assert_eq!(told[0], told[1]);
}

/// An id was the place in the whole log, so two of them told how many records others made in between.
#[tokio::test]
async fn ids_of_events_told_a_token_how_many_records_others_made() {
    let (product, _shelf) = shelf().await;
    let own = token(&product, "own", &[]).await;
    let other = token(&product, "other", &[]).await;
    let open = async |path: &str| {
        let events = HttpClient::without_session(&product.rest(path)).showing(&own);
        events.open(Method::GET, &[], String::new()).await
    };
    let stream = open("/events").await;
    let start = stream.headers()["last-event-id"]
        .to_str()
        .unwrap()
        .to_owned();
    drop(stream);
    for credential in [&other, &other, &own] {
        let client = HttpClient::connect_as(&product.endpoint(), credential).await;
        let call =
            json!({ "name": "shelf:look", "args": {}, "intent": { "operation_type": "read" } });
        let called = client.call("call_tool_read", &call).await;
        assert_eq!(called["isError"], Value::Null, "{called}");
    }
    let resumed = open(&format!("/events?type=tool_call&last_event_id={start}")).await;
    assert_eq!(resumed.status(), StatusCode::OK);
    let mut body = resumed.into_body();
    let mut text = String::new();
    while !text.contains("event: ") {
        let frame = within("the event of its own call", body.frame()).await;
        let bytes = frame.unwrap().unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    assert_eq!(text.matches("event: activity").count(), 1, "{text}");
    for id in text.lines().filter_map(|line| line.strip_prefix("id: ")) {
        assert!(!id.contains('.'), "not a place that can be read: {id}");
    }
    let foreign = HttpClient::without_session(&product.rest("/events?last_event_id=0.1"));
    let refused = foreign
        .showing(&own)
        .send(Method::GET, &[], String::new())
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.body);
}

#[tokio::test]
async fn an_event_stream_outlived_the_key_it_was_opened_with() {
    let (old, new) = ("the-first-key-of-this-test", "the-second-key-of-this-test");
    let product = Product::start(PROGRAMS, &json!({ "api_key": old })).await;
    let events = HttpClient::without_session(&product.rest("/events")).showing(old);
    let stream = events.open(Method::GET, &[], String::new()).await;
    assert_eq!(stream.status(), StatusCode::OK);
    product.home.write_config(&json!({ "api_key": new }));
    let rest = within("the stream ends", stream.into_body().collect()).await;
    assert!(rest.is_ok());
}

/// The file was read at the start alone, so the old key was good for as long as the gateway ran.
#[tokio::test]
async fn a_key_file_that_was_replaced_changed_nothing() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    let old = product.key();
    let events = HttpClient::without_session(&product.rest("/events")).showing(&old);
    let stream = events.open(Method::GET, &[], String::new()).await;
    assert_eq!(stream.status(), StatusCode::OK);
    let file = product.home.data_dir().join("api_key");
    let draft = file.with_extension("draft");
    std::fs::write(&draft, "the-second-key-of-this-test").unwrap();
    std::fs::set_permissions(&draft, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::rename(&draft, &file).unwrap();
    let rest = within("the stream ends", stream.into_body().collect()).await;
    assert!(rest.is_ok());
    let status = async |key: &str| {
        let client = HttpClient::without_session(&product.rest("/status")).showing(key);
        client.send(Method::GET, &[], String::new()).await.status
    };
    assert_eq!(status("the-second-key-of-this-test").await, StatusCode::OK);
    assert_eq!(status(&old).await, StatusCode::UNAUTHORIZED);
}

/// All that is shown has to be good, and for the same.
#[tokio::test]
async fn one_good_credential_beside_another_one_is_not_enough() {
    let (product, _shelf) = shelf().await;
    let (key, own) = (product.key(), token(&product, "own", &[]).await);
    let other = token(&product, "other", &[]).await;
    let wrong = format!("mcpp_{}", "A".repeat(43));
    for (first, second, expected) in [
        (&key, &key, StatusCode::OK),
        (&own, &own, StatusCode::OK),
        (&key, &wrong, StatusCode::UNAUTHORIZED),
        (&wrong, &key, StatusCode::UNAUTHORIZED),
        (&key, &own, StatusCode::UNAUTHORIZED),
        (&own, &other, StatusCode::UNAUTHORIZED),
    ] {
        let bearer = format!("Bearer {second}");
        let headers = [("x-api-key", first.as_str()), ("authorization", &bearer)];
        let client = HttpClient::without_session(&product.rest("/tools"));
        let answer = client.send(Method::GET, &headers, String::new()).await;
        assert_eq!(answer.status, expected, "{first} {second}: {}", answer.body);
    }
}

/// A token of the same name is another one.
#[tokio::test]
async fn a_token_that_is_made_again_sees_nothing_of_the_one_before() {
    let (product, _shelf) = shelf().await;
    let first = token(&product, "agent", &[]).await;
    let client = HttpClient::connect_as(&product.endpoint(), &first).await;
    client.call_allowed("read", "shelf:look", &json!({})).await;
    eventually("its call is on record", async || {
        let own = get(&product, &first, "/activity").await;
        (own["activities"].as_array()?.len() == 1).then_some(())
    })
    .await;
    assert_eq!(product.run(&["token", "revoke", "agent"]).await.code, 0);
    let second = token(&product, "agent", &[]).await;
    let own = get(&product, &second, "/activity").await;
    assert_eq!(own["activities"], json!([]), "{own}");
    let found = get(&product, &second, "/activity?agent=agent").await;
    assert_eq!(found["activities"], json!([]), "{found}");
}

/// What a token is shown of the menu is for it alone; the whole menu is for everybody.
#[tokio::test]
async fn the_menu_of_a_token_is_not_for_others_to_keep() {
    let (product, _shelf) = shelf().await;
    let reader = token(&product, "reader", &[]).await;
    for (credential, scope) in [(reader, "private"), (product.key(), "public")] {
        let client = StatelessClient::new(&product.endpoint()).showing(&credential);
        let listed = client.request("tools/list", &json!({})).await;
        assert_eq!(listed["result"]["cacheScope"], scope, "{listed}");
    }
}

/// Without a running gateway, `mcpproxy stdio` asks the store itself.
#[tokio::test]
async fn a_token_file_is_used_and_warned_of_where_others_can_read_it() {
    let shelf = Fixture::new(PROGRAMS).tools(&[LOOK]);
    let config = json!({ "mcpServers": { "shelf": shelf.entry() } });
    let home = Home::new(PROGRAMS, &config);
    let made = home.run(&["token", "create", "agent", "-o", "json"]).await;
    let made = made.json();
    let file = home.data_dir().join("agent-token");
    std::fs::write(&file, format!("{}\n", made["token"].as_str().unwrap())).unwrap();
    for (mode, is_warned) in [(0o600, false), (0o640, true)] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let stderr = home.data_dir().join("stderr");
        let mut command = home.command();
        command.arg("stdio").arg("--token-file").arg(&file);
        command.stderr(std::fs::File::create(&stderr).unwrap());
        let client = StdioClient::start(command).await;
        assert_eq!(client.tool_names().await.len(), 3, "read alone");
        client.call_allowed("read", "shelf:look", &json!({})).await;
        assert_eq!(client.finish().await, 0);
        let warned = std::fs::read_to_string(&stderr).unwrap();
        assert_eq!(
            warned.contains("chmod 600"),
            is_warned,
            "{mode:o}: {warned}"
        );
    }
    assert_eq!(home.run(&["token", "revoke", "agent"]).await.code, 0);
    let file = file.to_str().unwrap();
    let refused = home.run(&["stdio", "--token-file", file]).await;
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("not valid"), "{refused:?}");
}

/// 3,900 guesses a second went unslowed.
#[tokio::test]
async fn guesses_of_a_credential_were_answered_as_fast_as_they_came() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    let client = HttpClient::without_session(&product.endpoint());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let guess = async |number: usize| {
        let wrong = format!("mcpp_{number:0>43}");
        let answer = client.post(&[("x-api-key", &wrong)], ping.to_owned()).await;
        answer.status
    };
    let guesses = futures_util::future::join_all((0..60).map(guess)).await;
    let refused = guesses
        .iter()
        .filter(|status| **status == StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.count() > 0, "{guesses:?}");
    // A good one is not slowed, and so not refused either.
    let good = HttpClient::connect_as(&product.endpoint(), &product.key()).await;
    assert_eq!(good.tool_names().await.len(), 5);
}

#[tokio::test]
async fn a_permission_that_a_token_lacks_is_named() {
    let product = Product::start_in(Home::new(PROGRAMS, &json!({})), &["--demo"]).await;
    let all = ["--operations", "read,write,destructive"];
    let reads = [&all[..], &["--permissions", "cards:read"]].concat();
    let reader = token(&product, "reader", &reads).await;
    let client = HttpClient::connect_as(&product.endpoint(), &reader).await;
    client
        .call_allowed("read", "cards:review-next-card", &json!({}))
        .await;
    let refused = client
        .call_as(
            "destructive",
            "cards:delete-card",
            &json!({ "cardId": "card_1" }),
        )
        .await;
    let error = &refused["structuredContent"]["error"];
    assert_eq!(error["code"], "FORBIDDEN", "{refused}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("cards:delete") && message.contains("--permissions"),
        "{message}"
    );
}

#[tokio::test]
async fn tokens_are_made_shown_rotated_and_revoked_with_and_without_a_gateway() {
    let (mut product, _shelf) = shelf().await;
    check_commands(&product.home, "running").await;
    eventually("every change is on record", async || {
        let changes = product.get("/activity?type=token_change").await;
        let changes = changes["activities"].as_array()?.iter();
        let words: Vec<Value> = changes
            .map(|one| one["metadata"]["event"].clone())
            .collect();
        (json!(words) == json!(["revoked", "rotated", "created"])).then_some(())
    })
    .await;
    assert_eq!(product.stop().await, 0);
    check_commands(&product.into_home(), "stopped").await;
}

async fn check_commands(home: &Home, name: &str) {
    let run = async |arguments: &[&str]| {
        let arguments = [&["token"], arguments, &["-o", "json"]].concat();
        home.run(&arguments).await
    };
    let made = run(&["create", name, "--servers", "shelf", "--expires", "30d"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    let made = made.json();
    let secret = made["token"].as_str().unwrap();
    assert!(secret.starts_with("mcpp_"), "{made}");
    assert_eq!(made["servers"], json!(["shelf"]));
    assert_eq!(
        (&made["operations"], &made["expires"]),
        (&json!(["read"]), &json!("30d"))
    );
    let taken = run(&["create", name]).await;
    assert_eq!(
        (taken.code, &taken.error()["code"]),
        (1, &json!("NAME_TAKEN"))
    );
    // What is typed wrong is wrong usage; what is not there is refused.
    for (flags, code, expected) in [
        (&["--servers", "shelv"][..], 1, "did you mean 'shelf'?"),
        (&["--tools", "shelv:look"], 1, "did you mean 'shelf'?"),
        (&["--operations", "raed"], 2, "did you mean 'read'?"),
        (&["--expires", "soon"], 2, "30d"),
        (&["--tools", "look"], 2, "server:tool"),
        (&["--activity", "none"], 2, "own or all"),
        (&["--permissions", "all"], 2, "resource:action"),
    ] {
        let refused = run(&[&["create", "other"], flags].concat()).await;
        assert_eq!(refused.code, code, "{refused:?}");
        let message = refused.error()["message"].to_string();
        assert!(message.contains(expected), "{message}");
    }
    let shown = run(&["show", name]).await.json();
    assert_eq!(
        (&shown["name"], &shown["activity"]),
        (&json!(name), &json!("own"))
    );
    assert!(
        shown["token"].is_null() && shown["created"].is_string(),
        "{shown}"
    );
    let listed = run(&["list"]).await.json();
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 1, "{listed}");
    let again = run(&["rotate", name]).await.json();
    assert_ne!(again["token"], made["token"]);
    assert_eq!(again["expires"], "30d");
    assert_eq!(run(&["rotate", name, "--expires", "soon"]).await.code, 2);
    let unknown = run(&["revoke", &format!("{name}x")]).await;
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.error()["message"]
            .as_str()
            .unwrap()
            .contains(&format!("did you mean '{name}'?"))
    );
    assert_eq!(run(&["revoke", name]).await.code, 0);
    let table = home.run(&["token", "list", "-o", "table"]).await;
    assert!(table.stdout.contains("No tokens yet"), "{table:?}");
    for text in [secret, again["token"].as_str().unwrap()] {
        let database = std::fs::read(home.data_dir().join("state.db")).unwrap();
        let found = database
            .windows(text.len())
            .any(|part| part == text.as_bytes());
        assert!(!found, "the secret is stored");
    }
}

/// A secret that is shown once stays a secret: no log, record or list has it.
#[tokio::test]
async fn a_token_is_in_no_record_and_no_log() {
    let (product, _shelf) = shelf().await;
    let secret = token(&product, "ci", &[]).await;
    let client = HttpClient::connect_as(&product.endpoint(), &secret).await;
    let args = json!({ "word": secret });
    let result = client.call_allowed("read", "shelf:look", &args).await;
    let id = result["_meta"]["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap();
    let record = product.record(id).await;
    assert!(!record.to_string().contains(&secret), "{record}");
    let tokens = product.get("/tokens").await;
    assert!(!tokens.to_string().contains(&secret[5..]));
    assert!(tokens["tokens"][0]["last_used"].is_string(), "{tokens}");
    assert!(!product.log().contains(&secret));
}
