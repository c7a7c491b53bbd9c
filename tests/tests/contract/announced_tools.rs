//! What agents and people see of tools of the contract: closed parameters, computed confidence, deprecation.

use std::process::Command;

use mcpproxy_tests::{Client, Fixture, HttpClient, Product, StdioClient};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// The sample service as a program.
const CARDS: &str = env!("CARGO_BIN_EXE_cards-under-test");

#[tokio::test]
async fn par_1_unknown_names_in_nested_parameters_were_accepted() {
    let wrong = json!({ "due": { "fro": "2026-01-01T00:00:00Z" } });
    let product = with_cards().await;
    let client = product.connect().await;
    let answer = client.call_as("read", "cards:search-cards", &wrong).await;
    check_refusal(&answer, "did you mean \"from\"?");
    let names = json!({ "names": ["cards:search-cards"] });
    let described = structured(&client, "describe_tool", names).await;
    let due = &described["tools"][0]["inputSchema"]["properties"]["due"];
    assert_eq!(due["additionalProperties"], false, "{described}");

    let alone = StdioClient::start(Command::new(CARDS)).await;
    let answer = alone.call("search-cards", &wrong).await;
    check_refusal(&answer, "did you mean 'from'?");
}

fn check_refusal(answer: &Value, told: &str) {
    assert_eq!(answer["isError"], true, "{answer}");
    let error = &answer["structuredContent"]["error"];
    assert_eq!(error["code"], "INVALID_ARGUMENTS", "{answer}");
    let violation = &error["details"]["violations"][0];
    assert_eq!(violation["path"], "/due/fro", "{answer}");
    let message = violation["message"].as_str().unwrap_or_default();
    assert!(message.contains(told), "{message}");
}

#[tokio::test]
async fn res_conf_confidence_did_not_count_what_was_not_looked_at_and_was_one_number_for_all_errors()
 {
    let product = with_cards().await;
    let client = product.connect().await;
    let confidence = async |tool: &str, arguments: Value| {
        let answer = client.call_as("read", tool, &arguments).await;
        let hints = &answer["structuredContent"]["agentHints"];
        hints["confidence"]
            .as_f64()
            .unwrap_or_else(|| panic!("{answer}"))
    };
    let part = confidence("cards:list-decks", json!({ "offset": 1, "limit": 2 })).await;
    let all = confidence("cards:list-decks", json!({ "limit": 3 })).await;
    assert!(part < all, "{part} {all}");
    let missing = async |number: u32| {
        let id = format!("card_{number}");
        confidence("cards:get-card", json!({ "cardId": id })).await
    };
    let at_first = missing(901).await;
    for known in ["card_1", "card_2", "card_3"] {
        confidence("cards:get-card", json!({ "cardId": known })).await;
    }
    let later = missing(902).await;
    assert!(at_first < later, "{at_first} {later}");
}

#[tokio::test]
async fn dep_5_deprecated_tools_looked_like_others_and_stood_above_their_replacements() {
    let definition = json!({ "deprecated": { "since": "1.1.0", "replacement": "search-cards", "removalDate": "2999-06-30" } });
    let tools = [
        json!({ "name": "find-cards", "description": "Finds cards by words.", "inputSchema": { "type": "object" },
            "_meta": { "dev.mcpproxy/definition": definition } }),
        json!({ "name": "search-cards", "description": "Looks for cards.", "inputSchema": { "type": "object" } }),
    ];
    let fixture = Fixture::new(PROGRAMS).tools(&tools.map(|tool| tool.to_string()));
    let config = json!({ "mcpServers": { "cards": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect().await;
    let deprecated = json!({ "since": "1.1.0", "replacement": "cards:search-cards", "removalDate": "2999-06-30" });

    for detail in ["full", "compact"] {
        let search = json!({ "query": "find cards by words", "detail": detail });
        let found = structured(&client, "retrieve_tools", search).await;
        assert_eq!(found["tools"][0]["name"], "cards:search-cards", "{found}");
        assert_eq!(found["tools"][1]["name"], "cards:find-cards", "{found}");
        assert_eq!(found["tools"][1]["deprecated"], deprecated, "{found}");
        assert!(found["tools"][0]["deprecated"].is_null(), "{found}");
        if detail == "compact" {
            let signature = &found["tools"][1]["signature"];
            assert_eq!(signature, "find-cards() !deprecated→search-cards");
        }
    }
    let names = json!({ "names": ["cards:find-cards"] });
    let described = structured(&client, "describe_tool", names).await;
    assert_eq!(
        described["tools"][0]["deprecated"], deprecated,
        "{described}"
    );

    let told = "callable, deprecated→cards:search-cards until 2999-06-30";
    for (format, expected) in [
        ("table", told),
        ("json", "\"replacement\":\"cards:search-cards\""),
        ("yaml", "replacement: cards:search-cards"),
    ] {
        let listed = product.run(&["tools", "list", "-o", format]).await;
        assert!(listed.stdout.contains(expected), "{format}: {listed:?}");
    }
    let shown = product
        .run(&["tools", "show", "cards:find-cards", "-o", "table"])
        .await;
    assert!(shown.stdout.contains(told), "{shown:?}");
}

async fn with_cards() -> Product {
    let config = json!({ "mcpServers": { "cards": { "command": CARDS } } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    product
}

async fn structured(client: &HttpClient, tool: &str, arguments: Value) -> Value {
    let mut result = client.call(tool, &arguments).await;
    assert!(result["isError"].is_null(), "{tool} {arguments}: {result}");
    result["structuredContent"].take()
}
