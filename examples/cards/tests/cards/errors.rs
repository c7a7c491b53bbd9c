use mcpproxy_contract::{ErrorCategory, Grants};
use serde_json::{Value, json};

use super::{call, context, hints, service, suggested};

/// Calls a tool that fails; tells the code, and what is suggested.
async fn check(tool: &str, arguments: Value, code: &str, suggests: &[&str]) -> String {
    let result = call(&service(), tool, arguments.clone()).await;
    let error = result
        .error()
        .unwrap_or_else(|| panic!("{tool} {arguments} worked"));
    assert_eq!(error.code, code, "{tool} {arguments}: {}", error.message);
    assert_eq!(suggested(&result), suggests, "{tool} {arguments}");
    error.message.clone()
}

#[tokio::test]
async fn what_does_not_exist_is_told_with_the_way_to_what_does() {
    let search: &[&str] = &["search-cards"];
    let decks: &[&str] = &["list-decks"];
    for (tool, arguments, suggests) in [
        ("get-card", json!({ "cardId": "card_99" }), search),
        ("get-card", json!({ "cardId": "card_011" }), search),
        (
            "review-card",
            json!({ "cardId": "card_99", "grade": 3 }),
            search,
        ),
        (
            "update-card",
            json!({ "cardId": "card_99", "back": "?" }),
            search,
        ),
        ("delete-card", json!({ "cardId": "card_99" }), search),
        (
            "adjust-difficulty",
            json!({ "cardId": "card_99", "difficulty": 2 }),
            search,
        ),
        ("list-reviews", json!({ "cardId": "card_99" }), search),
        ("list-reviews", json!({ "deckId": "deck_99" }), decks),
        ("search-cards", json!({ "deckId": "deck_99" }), decks),
        ("review-next-card", json!({ "deckId": "deck_99" }), decks),
        (
            "create-card",
            json!({ "deckId": "deck_99", "front": "?", "back": "!" }),
            decks,
        ),
        ("analyze-deck", json!({ "deckId": "deck_99" }), decks),
        ("forecast-workload", json!({ "deckId": "deck_99" }), decks),
        ("generate-quiz", json!({ "deckId": "deck_99" }), decks),
        ("export-deck", json!({ "deckId": "deck_99" }), decks),
    ] {
        check(tool, arguments, "NOT_FOUND", suggests).await;
    }
    let message = check(
        "get-card",
        json!({ "cardId": "card_99" }),
        "NOT_FOUND",
        search,
    )
    .await;
    assert_eq!(
        message,
        "There is no card 'card_99', look for it with search-cards"
    );
}

#[tokio::test]
async fn what_was_sent_wrong_is_named_by_its_place() {
    for (tool, arguments, place) in [
        ("get-card", json!({ "cardId": "deck_1" }), "/cardId"),
        ("get-card", json!({ "card_id": "card_1" }), "/card_id"),
        (
            "review-card",
            json!({ "cardId": "card_1", "grade": 5 }),
            "/grade",
        ),
        (
            "review-card",
            json!({ "cardId": "card_1", "grade": 3, "answerTimeMs": 0 }),
            "/answerTimeMs",
        ),
        (
            "adjust-difficulty",
            json!({ "cardId": "card_1", "difficulty": 0 }),
            "/difficulty",
        ),
        (
            "create-card",
            json!({ "deckId": "deck_1", "front": " \n ", "back": "!" }),
            "/front",
        ),
        (
            "create-card",
            json!({ "deckId": "deck_1", "front": "?", "back": "x".repeat(2001) }),
            "/back",
        ),
        (
            "create-card",
            json!({ "deckId": "deck_1", "front": "?", "back": "!", "tags": ["a\nb"] }),
            "/tags/0",
        ),
        (
            "update-card",
            json!({ "cardId": "card_1", "tags": ["fine", ""] }),
            "/tags/1",
        ),
        ("search-cards", json!({ "text": "" }), "/text"),
        ("search-cards", json!({ "sortBy": "colour" }), "sortBy"),
        ("search-cards", json!({ "cursor": "nonsense" }), "/cursor"),
        ("forecast-workload", json!({ "days": 61 }), "/days"),
        (
            "generate-quiz",
            json!({ "deckId": "deck_1", "questions": 0 }),
            "/questions",
        ),
        (
            "export-deck",
            json!({ "deckId": "deck_1", "format": "pdf" }),
            "/format",
        ),
    ] {
        let message = check(tool, arguments.clone(), "INVALID_ARGUMENTS", &[]).await;
        assert!(message.contains(place), "{tool} {arguments}: {message}");
    }
}

#[tokio::test]
async fn two_thousand_characters_are_two_thousand_characters_in_every_script() {
    let service = service();
    let arguments =
        json!({ "deckId": "deck_1", "front": "ü".repeat(2000), "back": "語".repeat(2000) });
    assert!(
        call(&service, "create-card", arguments)
            .await
            .data()
            .is_some()
    );
}

#[tokio::test]
async fn nothing_to_change_is_no_change() {
    check(
        "update-card",
        json!({ "cardId": "card_1" }),
        "INVALID_ARGUMENTS",
        &[],
    )
    .await;
}

#[tokio::test]
async fn conflicts_name_what_is_in_the_way() {
    let taken = check(
        "create-deck",
        json!({ "name": " arithmetic " }),
        "CONFLICT",
        &["list-decks"],
    )
    .await;
    assert!(taken.contains("deck_3"), "{taken}");
    let outdated = json!({ "cardId": "card_12", "back": "5,050", "version": 7 });
    let changed = check("update-card", outdated, "CONFLICT", &["get-card"]).await;
    assert!(changed.contains("version 1, not 7"), "{changed}");
}

#[tokio::test]
async fn each_tool_asks_for_its_permissions_and_no_more() {
    let service = service();
    for tool in service.registry().get_all() {
        let definition = tool.definition();
        assert!(!definition.permissions.is_empty(), "{}", definition.name);
        let arguments = definition.examples[0].params.clone();
        let mut allowed = context();
        allowed.grants = Grants::only(definition.permissions.clone());
        let result = service
            .call(&definition.name, arguments.clone(), &allowed)
            .await;
        assert!(
            result.error().is_none_or(|error| error.code != "FORBIDDEN"),
            "{}: {:?}",
            definition.name,
            result.error()
        );
        for missing in &definition.permissions {
            let mut lacking = context();
            let held = definition.permissions.iter().filter(|one| *one != missing);
            lacking.grants = Grants::only(held.cloned());
            let refused = service
                .call(&definition.name, arguments.clone(), &lacking)
                .await;
            let error = refused.error().unwrap();
            assert_eq!(error.code, "FORBIDDEN", "{}", definition.name);
            assert_eq!(error.category, ErrorCategory::Business);
            assert_eq!(error.details["missing_permissions"], json!([missing]));
        }
    }
}

#[tokio::test]
async fn a_failure_carries_hints_like_everything_else() {
    let result = call(&service(), "get-card", json!({ "cardId": "card_99" })).await;
    let hints = hints(&result);
    assert!(hints["reasoning"].as_str().unwrap().contains("NOT_FOUND"));
    assert!(hints["confidence"].as_f64().unwrap() > 0.0);
}
