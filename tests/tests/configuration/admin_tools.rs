//! The gateway's own tools: found and called like those of any server, and what changes something only by who has the
//! key.

use mcpproxy_tests::{Client, Fixture, Home, HttpClient, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 3] = [
    r#"{"name":"read_page","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"tear_page","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"burn_book","inputSchema":{},"annotations":{"destructiveHint":true}}"#,
];

/// Five calls that work, one that fails, one that is refused, by one agent on one server.
async fn used() -> (Product, Fixture, HttpClient) {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).result(
        "tear_page",
        r#"{"content":[{"type":"text","text":"it is glued"}],"isError":true}"#,
    );
    let unused = Fixture::new(PROGRAMS).tools(&TOOLS[..1]);
    let config = json!({ "mcpServers": { "library": fixture.entry(), "attic": unused.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect().await;
    for _ in 0..5 {
        let read = client
            .call_as("read", "library:read_page", &json!({}))
            .await;
        assert!(read["isError"].is_null(), "{read}");
    }
    client
        .call_as("read", "library:tear_page", &json!({}))
        .await;
    let refused = client
        .call_as("read", "library:burn_book", &json!({}))
        .await;
    assert_eq!(code(&refused), "SERVER_MISMATCH");
    eventually("all calls are on record", async || {
        let summary = product.get("/activity/summary?server=library").await;
        let calls = summary["by_intent"][0]["count"].as_u64()?;
        (calls == 7).then_some(())
    })
    .await;
    (product, fixture, client)
}

#[tokio::test]
async fn an_agent_finds_and_calls_what_reads() {
    let (_product, _fixture, client) = used().await;
    for (query, tool, args) in [
        (
            "list activity records",
            "list-activity",
            json!({ "limit": 2 }),
        ),
        ("which servers are connected", "list-servers", json!({})),
        (
            "summarize activity error rates",
            "summarize-activity",
            json!({ "from": "1h" }),
        ),
        (
            "check server health",
            "check-servers",
            json!({ "server": "library" }),
        ),
        (
            "propose smallest permissions",
            "propose-permissions",
            json!({ "from": "1h" }),
        ),
    ] {
        let name = format!("mcpproxy:{tool}");
        let found = client
            .call("retrieve_tools", &json!({ "query": query }))
            .await;
        let tools = found["structuredContent"]["tools"].as_array().unwrap();
        let entry = tools.iter().find(|entry| entry["name"] == *name);
        let entry = entry.unwrap_or_else(|| panic!("{query} does not find {name}: {tools:?}"));
        assert_eq!(entry["call_with"], "call_tool_read", "{entry}");
        let answer = client.call_as("read", &name, &args).await;
        assert_eq!(answer["isError"], false, "{answer}");
        check_hints(&answer);
        let metadata = &answer["structuredContent"]["metadata"];
        let request_id = &answer["_meta"]["dev.mcpproxy/request_id"];
        assert_eq!(&metadata["correlationId"], request_id, "{answer}");
    }
}

#[tokio::test]
async fn what_they_tell_is_what_happened() {
    let (product, _fixture, client) = used().await;
    let ask = async |tool: &str, args: Value| {
        let answer = client
            .call_as("read", &format!("mcpproxy:{tool}"), &args)
            .await;
        assert_eq!(answer["isError"], false, "{answer}");
        answer["structuredContent"]["data"].clone()
    };

    let list = ask(
        "list-activity",
        json!({ "server": "library", "tool": "read_page", "limit": 3 }),
    )
    .await;
    assert_eq!(
        (list["items"].as_array().unwrap().len(), &list["total"]),
        (3, &json!(5))
    );
    let next = json!({ "server": "library", "tool": "read_page", "limit": 3, "cursor": list["nextCursor"] });
    let rest = ask("list-activity", next).await;
    assert_eq!(
        (rest["items"].as_array().unwrap().len(), &rest["hasMore"]),
        (2, &json!(false))
    );
    let id = list["items"][0]["id"].as_str().unwrap();
    let record = product.record(id).await;
    for (field, value) in list["items"][0].as_object().unwrap() {
        assert_eq!(value, &record[field], "{field} is the same on every face");
    }
    assert!(list["items"][0].get("response").is_none() && !record["response"].is_null());

    let summary = ask(
        "summarize-activity",
        json!({ "server": "library", "type": "tool_call" }),
    )
    .await;
    assert_eq!(
        (&summary["total"], &summary["error_rate"]),
        (&json!(6), &json!(0.167)),
        "{summary}"
    );
    assert_eq!(summary["by_tool"][0]["name"], "library:read_page");

    let servers = ask("list-servers", json!({ "state": "ready" })).await;
    let names: Vec<&str> = servers["servers"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["attic", "library", "mcpproxy"]);

    let checked = ask("check-servers", json!({ "server": "library" })).await;
    let library = &checked["servers"][0];
    assert_eq!(
        (
            &library["calls"],
            &library["failed"],
            &library["is_reachable"]
        ),
        (&json!(6), &json!(1), &json!(true)),
        "{checked}"
    );
    assert_eq!(library["last_error"]["tool"], "tear_page", "{checked}");
    assert!(library["response_ms"]["median"].is_number(), "{checked}");

    let proposal = ask(
        "propose-permissions",
        json!({ "agent": "mcpproxy-tests", "from": "1h" }),
    )
    .await;
    assert_eq!(
        proposal["servers"]["library"],
        json!({ "read": [{ "tool": "read_page", "calls": 5 }] }),
        "{proposal}"
    );
    let unused = proposal["unused"]["servers"].as_array().unwrap();
    assert!(unused.contains(&json!("attic")), "{proposal}");
    assert!(!unused.contains(&json!("library")), "{proposal}");
    let refused = proposal["not_covered"].as_array().unwrap();
    assert!(
        refused
            .iter()
            .any(|one| one["name"] == "library:burn_book" && one["refused"] == 1),
        "{proposal}"
    );
    let stranger = ask("propose-permissions", json!({ "agent": "nobody" })).await;
    assert_eq!(
        (&stranger["calls"], &stranger["servers"]),
        (&json!(0), &json!({}))
    );
}

#[tokio::test]
async fn what_changes_something_is_forbidden_to_who_has_no_key() {
    let (_product, fixture, client) = used().await;
    let before = fixture.pid();
    let restart = json!({ "server": "library" });
    let prune = json!({ "olderThan": "2020-01-01" });
    for (variant, tool, args, permission) in [
        ("write", "restart-server", restart, "servers:restart"),
        ("destructive", "prune-activity", prune, "activity:prune"),
    ] {
        let answer = client
            .call_as(variant, &format!("mcpproxy:{tool}"), &args)
            .await;
        assert_eq!(
            (&answer["isError"], &*code(&answer)),
            (&json!(true), "FORBIDDEN"),
            "{answer}"
        );
        let message = answer["structuredContent"]["error"]["message"]
            .as_str()
            .unwrap();
        assert!(message.contains(permission), "{message}");
        let text = json!([{ "type": "text", "text": message }]);
        assert_eq!(answer["content"], text, "{answer}");
        let constraints = &answer["structuredContent"]["agentHints"]["constraints"];
        let constraints = constraints.to_string();
        assert!(constraints.contains("X-API-Key"), "{answer}");
    }
    assert_eq!(fixture.pid(), before);
}

#[tokio::test]
async fn with_the_key_a_server_is_really_restarted() {
    let (product, fixture, _client) = used().await;
    let before = fixture.pid().unwrap();
    let keyed = Keyed::of(&product).await;
    let args = json!({ "server": "library" });
    let refused = keyed
        .call_as("read", "mcpproxy:restart-server", &args)
        .await;
    assert_eq!(code(&refused), "SERVER_MISMATCH");
    let answer = keyed
        .call_as("write", "mcpproxy:restart-server", &args)
        .await;
    let data = &answer["structuredContent"]["data"];
    assert_eq!(
        data,
        &json!({ "server": "library", "state": "ready", "tools": 3 }),
        "{answer}"
    );
    check_hints(&answer);
    assert_ne!(fixture.pid().unwrap(), before);
    let read = keyed.call_as("read", "library:read_page", &json!({})).await;
    assert!(read["isError"].is_null(), "{read}");
    eventually("the restart is on record", async || {
        let changes = product
            .get("/activity?type=server_change&server=library")
            .await;
        let changes = changes["activities"].as_array()?.clone();
        let is_restart = |change: &Value| change["metadata"]["event"] == "restarted";
        changes.iter().any(is_restart).then_some(())
    })
    .await;

    for (server, expected) in [
        ("libary", "UNKNOWN_SERVER"),
        ("mcpproxy", "INVALID_ARGUMENTS"),
    ] {
        let args = json!({ "server": server });
        let answer = keyed
            .call_as("write", "mcpproxy:restart-server", &args)
            .await;
        assert_eq!(code(&answer), expected, "{answer}");
        check_hints(&answer);
    }
}

#[tokio::test]
async fn a_server_that_failed_is_told_with_a_remedy_and_restarting_it_is_suggested_to_who_may() {
    let broken = Fixture::new(PROGRAMS).exit_at_start();
    let config = json!({ "mcpServers": { "broken": broken.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect().await;
    let keyed = Keyed::of(&product).await;
    let args = json!({ "server": "broken" });
    let restarts = |answer: &Value| {
        let actions = &answer["structuredContent"]["agentHints"]["suggestedNextActions"];
        let actions = actions.as_array().unwrap().iter();
        let restart = actions.filter(|action| action["action"] == "restart-server");
        restart
            .map(|action| action["call_with"].clone())
            .collect::<Vec<_>>()
    };
    let told = failed(&client).await;
    let health = &told["structuredContent"]["data"]["servers"][0];
    assert_eq!(health["is_reachable"], json!(false), "{health}");
    assert!(
        health["remedy"]
            .as_str()
            .unwrap()
            .contains("restart-server"),
        "{health}"
    );
    assert!(restarts(&told).is_empty(), "{told}");
    let told = failed(&keyed).await;
    assert_eq!(restarts(&told), [json!("call_tool_write")], "{told}");

    // It fails again, which is no failure of the tool; it may be starting anew by itself already.
    let answer = keyed
        .call_as("write", "mcpproxy:restart-server", &args)
        .await;
    let data = &answer["structuredContent"]["data"];
    assert_eq!(answer["isError"], json!(false), "{answer}");
    match data["state"].as_str() {
        Some("failed") => assert!(data["reason"].is_string(), "{answer}"),
        state => assert_eq!(state, Some("starting"), "{answer}"),
    }

    // Two at once end one server and start one.
    let one = keyed.call_as("write", "mcpproxy:restart-server", &args);
    let other = keyed.call_as("write", "mcpproxy:restart-server", &args);
    let (one, other) = tokio::join!(one, other);
    for answer in [one, other] {
        let data = &answer["structuredContent"]["data"];
        assert_eq!(data["server"], "broken", "{answer}");
    }
}

/// What a caller is told of the server `broken` once it has failed. It is started again by itself after a moment, and is
/// starting meanwhile.
async fn failed(caller: &impl Client) -> Value {
    let args = json!({ "server": "broken" });
    eventually("the server has failed", async || {
        let told = caller
            .call_as("read", "mcpproxy:check-servers", &args)
            .await;
        let state = &told["structuredContent"]["data"]["servers"][0]["state"];
        (state == "failed").then_some(told)
    })
    .await
}

#[tokio::test]
async fn with_the_key_old_records_are_removed_and_the_rest_can_be_verified() {
    let (product, _fixture, _client) = used().await;
    let keyed = Keyed::of(&product).await;
    // The moment of the newest read: everything before it goes.
    let newest = product.get("/activity?tool=read_page&limit=1").await;
    let moment = newest["activities"][0]["timestamp"].clone();
    let args = json!({ "olderThan": moment });
    let refused = keyed
        .call_as("write", "mcpproxy:prune-activity", &args)
        .await;
    assert_eq!(code(&refused), "SERVER_MISMATCH");
    let answer = keyed
        .call_as("destructive", "mcpproxy:prune-activity", &args)
        .await;
    let removed = answer["structuredContent"]["data"]["removed"].as_u64();
    assert!(removed.is_some_and(|removed| removed > 0), "{answer}");
    check_hints(&answer);
    let left = product.get("/activity?tool=read_page").await;
    let left = left["activities"].as_array().unwrap();
    assert_eq!(left[0]["id"], newest["activities"][0]["id"], "{left:?}");
    for record in left {
        // Times of one form are in the order of their letters; those of the same millisecond stay.
        assert!(record["timestamp"].as_str() >= moment.as_str(), "{record}");
    }
    let again = keyed
        .call_as("destructive", "mcpproxy:prune-activity", &args)
        .await;
    assert_eq!(again["structuredContent"]["data"]["removed"], 0, "{again}");
    let verdict = product.get("/activity/verify").await;
    assert_eq!(verdict["ok"], true, "{verdict}");

    let future = json!({ "olderThan": "2999-01-01" });
    let answer = keyed
        .call_as("destructive", "mcpproxy:prune-activity", &future)
        .await;
    assert_eq!(code(&answer), "INVALID_ARGUMENTS", "{answer}");
}

#[tokio::test]
async fn they_are_there_without_servers_and_without_a_daemon() {
    let home = Home::new(PROGRAMS, &json!({}));
    let args = ["call", "tool-read", "mcpproxy:list-servers", "-o", "json"];
    let ran = home.run(&args).await;
    let data = ran.json()["structuredContent"]["data"].clone();
    assert_eq!(data["servers"][0]["name"], "mcpproxy", "{ran:?}");
    let listed = home.run(&["tools", "list"]).await;
    assert!(
        listed.stdout.contains("mcpproxy:check-servers"),
        "{listed:?}"
    );
    assert!(
        listed.stdout.contains("Add servers under \"mcpServers\""),
        "{listed:?}"
    );

    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    let status = product.run(&["status", "-o", "table"]).await;
    assert!(status.stdout.contains("No servers yet"), "{status:?}");
    assert!(status.stdout.contains("mcpproxy"), "{status:?}");
    // A person at the terminal administers the gateway.
    let args = r#"{"olderThan":"2020-01-01"}"#;
    let prune = [
        "call",
        "tool-destructive",
        "mcpproxy:prune-activity",
        "--args",
        args,
        "-o",
        "json",
    ];
    let ran = product.run(&prune).await;
    assert_eq!(
        ran.json()["structuredContent"]["data"]["removed"],
        0,
        "{ran:?}"
    );
    // An agent behind `mcpproxy stdio` does not.
    let stdio = product.stdio().await;
    let args = json!({ "olderThan": "2020-01-01" });
    let answer = stdio
        .call_as("destructive", "mcpproxy:prune-activity", &args)
        .await;
    assert_eq!(code(&answer), "FORBIDDEN", "{answer}");
}

/// A client that shows the key of the gateway.
struct Keyed {
    client: HttpClient,
    key: String,
}

impl Keyed {
    async fn of(product: &Product) -> Self {
        let key = product.key();
        let headers = [("x-api-key", key.as_str())];
        let client = HttpClient::connect_with(&product.endpoint(), &headers).await;
        Self { client, key }
    }
}

impl Client for Keyed {
    async fn exchange(&self, message: String) -> String {
        self.client
            .post(&[("x-api-key", &self.key)], message)
            .await
            .body
    }
}

fn code(answer: &Value) -> String {
    let code = &answer["structuredContent"]["error"]["code"];
    code.as_str().unwrap_or_default().to_owned()
}

/// Hints come with everything, and what they suggest says how to call it.
#[track_caller]
fn check_hints(answer: &Value) {
    let hints = &answer["structuredContent"]["agentHints"];
    let confidence = hints["confidence"].as_f64().unwrap_or(-1.0);
    assert!((0.0..=1.0).contains(&confidence), "{answer}");
    let actions = hints["suggestedNextActions"].as_array();
    for action in actions.expect("hints always have a list of actions") {
        let name = action["tool"].as_str().unwrap_or_default();
        assert!(name.starts_with("mcpproxy:"), "{action}");
        let variant = action["call_with"].as_str().unwrap_or_default();
        assert!(variant.starts_with("call_tool_"), "{action}");
    }
}
