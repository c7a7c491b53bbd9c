//! What a service of others announces is enforced by the gateway: permissions, limits, caching, deprecation, removal; and
//! what it suggests of other services is kept where the caller may call it.

use mcpproxy_tests::{Client, Fixture, Home, HttpClient, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;
use crate::service::{mutation, query, service, suggested};

async fn start(fixture: &Fixture) -> Product {
    let config = json!({ "mcpServers": { "cards": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    product
}

async fn with_token(product: &Product, name: &str, flags: &[&str]) -> HttpClient {
    let command = [&["token", "create", name, "-o", "json"], flags].concat();
    let made = product.run(&command).await.json();
    let token = made["token"]
        .as_str()
        .unwrap_or_else(|| panic!("no token: {made}"));
    HttpClient::connect_as(&product.endpoint(), token).await
}

async fn get(client: &HttpClient, tool: &str) -> Value {
    let args = json!({ "cardId": "card_1" });
    client
        .call_as("read", &format!("cards:{tool}"), &args)
        .await
}

fn code(result: &Value) -> &str {
    result["structuredContent"]["error"]["code"]
        .as_str()
        .unwrap_or_default()
}

fn is_cached(result: &Value) -> bool {
    assert_eq!(
        result["structuredContent"]["data"]["id"], "card_1",
        "{result}"
    );
    result["structuredContent"]["metadata"]["cached"] == true
}

#[tokio::test]
async fn pre_3_a_permission_that_a_service_announces_is_asked_of_every_caller() {
    let permissions = json!({ "permissions": ["cards:read", "decks:admin"] });
    let fixture = service(&[query("get-card", &permissions)], &json!([]));
    let product = start(&fixture).await;
    let reader = with_token(&product, "reader", &["--permissions", "cards:read"]).await;
    let refused = get(&reader, "get-card").await;
    assert_eq!(code(&refused), "FORBIDDEN", "{refused}");
    let error = &refused["structuredContent"]["error"];
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("decks:admin"), "{message}");
    assert!(!message.contains("cards:read"), "{message}");
    let missing = json!(["decks:admin"]);
    assert_eq!(error["details"]["missing_permissions"], missing);
    assert!(fixture.ledger().is_empty(), "nothing reaches the service");
    let id = refused["_meta"]["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap();
    let record = product.record(id).await;
    let kind = (&record["type"], &record["status"]);
    assert_eq!(
        kind,
        (&json!("policy_decision"), &json!("blocked")),
        "{record}"
    );

    let flags = ["--permissions", "cards:read,decks:admin"];
    let admin = with_token(&product, "admin", &flags).await;
    assert!(!is_cached(&get(&admin, "get-card").await));
    let anonymous = product.connect().await;
    assert!(!is_cached(&get(&anonymous, "get-card").await));
    assert_eq!(fixture.ledger().len(), 2);
}

#[tokio::test]
async fn a_limit_that_a_service_announces_holds_for_each_caller_unless_the_operator_says_otherwise()
{
    let limit = json!({ "rateLimit": { "maxCalls": 1, "windowMs": 86_400_000 } });
    let fixture = service(
        &[query("get-card", &limit), query("see-card", &limit)],
        &json!([]),
    );
    let wider = json!({ "max_calls": 2, "window_ms": 86_400_000 });
    let operator = json!({ "tools": { "see-card": { "rate_limit": wider } } });
    let config = json!({ "mcpServers": { "cards": fixture.entry_with(&operator) } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    assert_eq!(code(&get(&client, "get-card").await), "");
    let refused = get(&client, "get-card").await;
    assert_eq!(code(&refused), "RATE_LIMITED", "{refused}");
    let wait = &refused["structuredContent"]["error"]["details"]["retry_after_ms"];
    let is_wait = |wait: u64| (1..=86_400_000).contains(&wait);
    assert!(wait.as_u64().is_some_and(is_wait), "{refused}");
    assert_eq!(refused["structuredContent"]["error"]["retryable"], true);
    let other = HttpClient::connect_as(&product.endpoint(), &product.key()).await;
    assert_eq!(code(&get(&other, "get-card").await), "", "another caller");
    assert_eq!(code(&get(&client, "see-card").await), "");
    assert_eq!(
        code(&get(&client, "see-card").await),
        "",
        "the operator's limit"
    );
    assert_eq!(code(&get(&client, "see-card").await), "RATE_LIMITED");
    assert_eq!(fixture.ledger().len(), 4);
}

#[tokio::test]
async fn a_result_that_may_be_cached_is_given_again_to_its_caller_alone_until_something_changes() {
    let cached = json!({ "cacheable": true, "cacheTTL": 3600 });
    let tools = [
        query("get-card", &cached),
        mutation("add-card", &cached),
        query("see-card", &json!({})),
    ];
    let fixture = service(&tools, &json!([]));
    let product = start(&fixture).await;
    let (one, two) = (product.connect().await, product.connect().await);
    let first = get(&one, "get-card").await;
    let second = get(&one, "get-card").await;
    assert_eq!((is_cached(&first), is_cached(&second)), (false, true));
    assert_eq!(fixture.ledger().len(), 1);
    assert!(!is_cached(&get(&two, "get-card").await), "another session");
    assert!(is_cached(&get(&two, "get-card").await));

    for result in [&first, &second] {
        let id = result["_meta"]["dev.mcpproxy/activity_id"]
            .as_str()
            .unwrap();
        let record = product.record(id).await;
        let outcome = (&record["type"], &record["status"]);
        assert_eq!(
            outcome,
            (&json!("tool_call"), &json!("success")),
            "{record}"
        );
    }

    let args = json!({ "cardId": "card_2" });
    let other = one.call_as("read", "cards:get-card", &args).await;
    assert!(!is_cached(&other), "another question");
    let before = fixture.ledger().len();
    for _ in 0..2 {
        assert!(!is_cached(&get(&one, "see-card").await));
        let added = one.call_as("write", "cards:add-card", &args).await;
        assert!(!is_cached(&added), "a mutation is never cached: {added}");
    }
    assert_eq!(fixture.ledger().len(), before + 4);
    assert!(
        !is_cached(&get(&one, "get-card").await),
        "something was changed"
    );
    assert!(is_cached(&get(&one, "get-card").await));
}

#[tokio::test]
async fn a_cached_result_says_so_and_is_else_what_its_service_answered() {
    let cached = json!({ "cacheable": true, "cacheTTL": 3600 });
    let suggestions = json!([{ "action": "decks:list-deck", "priority": "high" }]);
    let fixture = service(&[query("get-card", &cached)], &suggestions);
    let decks = service(&[query("list-deck", &json!({}))], &json!([]));
    let config =
        |decks: Value| json!({ "mcpServers": { "cards": fixture.entry(), "decks": decks } });
    let home = Home::new(PROGRAMS, &config(decks.entry()));
    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    let client = product.connect().await;
    let first = get(&client, "get-card").await;
    let mut second = get(&client, "get-card").await;
    assert!(is_cached(&second));
    let list = ["decks:list-deck", "decks:list-deck", "call_tool_read"];
    assert_eq!(suggested(&second["structuredContent"]), [list]);
    let metadata = second["structuredContent"]["metadata"].as_object_mut();
    metadata.unwrap().remove("cached");
    assert_eq!(second["structuredContent"], first["structuredContent"]);

    // What it suggested is looked at again: the tool cannot be called any more.
    let withheld = json!({ "tools": { "list-deck": { "enabled": false } } });
    product
        .home
        .write_config(&config(decks.entry_with(&withheld)));
    let third = eventually("the tool is withheld", async || {
        let third = get(&client, "get-card").await;
        suggested(&third["structuredContent"])
            .is_empty()
            .then_some(third)
    })
    .await;
    assert!(is_cached(&third), "{third}");
    let warning = &third["_meta"]["dev.mcpproxy/warnings"][0];
    assert_eq!(warning["code"], "HINTS_VETTED", "{third}");
    assert_eq!(fixture.ledger().len(), 1);
}

#[tokio::test]
async fn permissions_come_before_limits_limits_before_parameters_and_parameters_before_the_cache() {
    let announced = json!({ "permissions": ["cards:read"], "cacheable": true, "cacheTTL": 3600,
        "rateLimit": { "maxCalls": 3, "windowMs": 86_400_000 } });
    let fixture = service(&[query("get-card", &announced)], &json!([]));
    let product = start(&fixture).await;
    let wrong = json!({ "cardId": 7 });
    let asked = async |client: &HttpClient, args: &Value| {
        let answer = client.call_as("read", "cards:get-card", args).await;
        code(&answer).to_owned()
    };
    let stranger = with_token(&product, "stranger", &[]).await;
    for _ in 0..5 {
        assert_eq!(asked(&stranger, &wrong).await, "FORBIDDEN");
    }
    let reader = with_token(&product, "reader", &["--permissions", "cards:read"]).await;
    assert!(!is_cached(&get(&reader, "get-card").await));
    assert_eq!(asked(&reader, &wrong).await, "INVALID_ARGUMENTS");
    assert!(is_cached(&get(&reader, "get-card").await));
    for args in [&wrong, &json!({ "cardId": "card_1" })] {
        assert_eq!(asked(&reader, args).await, "RATE_LIMITED");
    }
    assert_eq!(fixture.ledger().len(), 1);
}

#[tokio::test]
async fn a_deprecated_tool_is_called_with_a_warning_that_names_its_replacement_and_its_end() {
    let deprecated = json!({ "deprecated": { "since": "1.0.0", "replacement": "get-card", "removalDate": "2999-12-31" } });
    let tools = [
        query("get-card", &json!({})),
        query("find-card", &deprecated),
    ];
    let fixture = service(&tools, &json!([]));
    let product = start(&fixture).await;
    let client = product.connect().await;
    let called = get(&client, "find-card").await;
    let warnings = json!([{
        "code": "DEPRECATED_TOOL",
        "message": "Tool 'cards:find-card' is deprecated and will be removed on 2999-12-31, use cards:get-card",
    }]);
    assert_eq!(
        called["_meta"]["dev.mcpproxy/warnings"], warnings,
        "{called}"
    );
    assert_eq!(
        called["structuredContent"]["data"]["id"], "card_1",
        "{called}"
    );
    let id = called["_meta"]["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap();
    assert_eq!(product.record(id).await["warnings"], warnings);
    eventually("the log tells of it", async || {
        product
            .log()
            .contains("DEPRECATED_TOOL: Tool 'cards:find-card'")
            .then_some(())
    })
    .await;
    let plain = get(&client, "get-card").await;
    assert!(
        plain["_meta"].get("dev.mcpproxy/warnings").is_none(),
        "{plain}"
    );
}

#[tokio::test]
async fn dep_6_a_tool_past_its_removal_date_is_neither_listed_nor_found_nor_called() {
    let removed = json!({ "deprecated": { "since": "1.0.0", "replacement": "get-card", "removalDate": "2020-01-31" } });
    let tools = [query("get-card", &json!({})), query("find-card", &removed)];
    let fixture = service(&tools, &json!([]));
    let product = start(&fixture).await;
    let client = product.connect().await;
    let refused = get(&client, "find-card").await;
    assert_eq!(code(&refused), "TOOL_REMOVED", "{refused}");
    let error = &refused["structuredContent"]["error"];
    assert_eq!(
        error["message"],
        "Tool 'cards:find-card' was removed on 2020-01-31, use cards:get-card"
    );
    assert_eq!(error["details"]["replacement"], "cards:get-card");
    let warning = &refused["_meta"]["dev.mcpproxy/warnings"][0];
    assert_eq!(warning["code"], "CONTRACT_VIOLATED", "{refused}");
    let told = warning["message"].as_str().unwrap();
    assert!(
        told.contains("removal-kept"),
        "its server still offers it: {told}"
    );
    assert!(fixture.ledger().is_empty());

    let found = client
        .call(
            "retrieve_tools",
            &json!({ "query": "find card", "limit": 50 }),
        )
        .await;
    let found = found["structuredContent"]["tools"]
        .as_array()
        .unwrap()
        .iter();
    let names: Vec<&str> = found.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"cards:get-card"), "{names:?}");
    assert!(!names.contains(&"cards:find-card"), "{names:?}");
    let described = client
        .call("describe_tool", &json!({ "names": ["cards:find-card"] }))
        .await;
    let errors = &described["structuredContent"]["errors"];
    assert_eq!(errors[0]["error"]["code"], "TOOL_REMOVED", "{described}");
    for (path, shown) in [("/all", "cards__get-card"), ("/s/cards", "get-card")] {
        let names = product.connect_to(path).await.tool_names().await;
        assert!(names.iter().any(|name| name == shown), "{names:?}");
        assert!(
            !names.iter().any(|name| name.contains("find-card")),
            "{names:?}"
        );
    }
    let listed = product.run(&["tools", "list", "-o", "json"]).await.json();
    let mut listed = listed["tools"].as_array().unwrap().iter();
    let row = listed
        .find(|tool| tool["name"] == "cards:find-card")
        .unwrap();
    assert_eq!(row["status"], "removed", "a person sees why it is gone");
}

#[tokio::test]
async fn ex_4_an_action_of_another_service_is_kept_where_the_caller_may_call_it() {
    let action = |name: &str| json!({ "action": name, "priority": "high" });
    let suggestions = json!([
        action("decks:list-deck"),
        action("decks:drop-deck"),
        action("gone:list-deck")
    ]);
    let fixture = service(&[query("get-card", &json!({}))], &suggestions);
    let decks = service(
        &[
            query("list-deck", &json!({})),
            query("drop-deck", &json!({ "permissions": ["decks:delete"] })),
        ],
        &json!([]),
    );
    let config = json!({ "mcpServers": { "cards": fixture.entry(), "decks": decks.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let list = ["decks:list-deck", "decks:list-deck", "call_tool_read"];
    let drop = ["decks:drop-deck", "decks:drop-deck", "call_tool_read"];

    let all = product.connect().await;
    let answer = get(&all, "get-card").await;
    assert_eq!(
        suggested(&answer["structuredContent"]),
        [list, drop],
        "{answer}"
    );
    let no_permission = with_token(&product, "one", &[]).await;
    let answer = get(&no_permission, "get-card").await;
    assert_eq!(suggested(&answer["structuredContent"]), [list], "{answer}");
    let cards_alone = with_token(&product, "two", &["--servers", "cards"]).await;
    let answer = get(&cards_alone, "get-card").await;
    assert!(
        suggested(&answer["structuredContent"]).is_empty(),
        "{answer}"
    );
    // How many were dropped would tell it how many there are.
    let warnings = &answer["_meta"]["dev.mcpproxy/warnings"];
    assert!(!warnings.to_string().contains("HINTS_VETTED"), "{answer}");
}
