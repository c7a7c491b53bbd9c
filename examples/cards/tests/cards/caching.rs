use mcpproxy_contract::{Grants, ToolContext};
use serde_json::json;

use super::{at, call, context, data, hints, noon, service, suggested};

#[tokio::test]
async fn the_same_question_is_answered_from_the_cache_for_the_same_caller_only() {
    let service = service();
    let card = || json!({ "cardId": "card_11" });
    let first = call(&service, "get-card", card()).await;
    assert!(!first.metadata().cached);
    let second = call(&service, "get-card", card()).await;
    assert!(second.metadata().cached);
    assert_eq!(second.data(), first.data());
    let other = service
        .call("get-card", card(), &context().for_user("user_2"))
        .await;
    assert!(!other.metadata().cached);
    let system = ToolContext::new("tests", "1.0.0", Grants::Everything);
    let other = service.call("get-card", card(), &system).await;
    assert!(!other.metadata().cached);
}

#[tokio::test]
async fn nobody_reads_what_was_there_before_a_change() {
    let service = service();
    let read = || call(&service, "get-card", json!({ "cardId": "card_11" }));
    read().await;
    assert!(read().await.metadata().cached);
    data(
        &service,
        "update-card",
        json!({ "cardId": "card_11", "back": "twelve" }),
    )
    .await;
    let after = read().await;
    assert!(!after.metadata().cached);
    assert_eq!(after.data().unwrap()["back"], "twelve");
    data(&service, "delete-card", json!({ "cardId": "card_11" })).await;
    assert_eq!(read().await.error().unwrap().code, "NOT_FOUND");
}

#[tokio::test]
async fn a_mutation_is_never_answered_from_the_cache() {
    let service = service();
    let review = || {
        call(
            &service,
            "review-card",
            json!({ "cardId": "card_11", "grade": 3 }),
        )
    };
    let (first, second) = (review().await, review().await);
    assert!(!first.metadata().cached && !second.metadata().cached);
    let reviews =
        |result: &mcpproxy_contract::ToolResult| result.data().unwrap()["reviews"].clone();
    assert_eq!((reviews(&first), reviews(&second)), (json!(2), json!(3)));
}

#[tokio::test]
async fn the_eleventh_quiz_of_a_minute_is_told_how_long_to_wait() {
    let service = service();
    let quiz = || json!({ "deckId": "deck_3" });
    for _ in 0..10 {
        data(&service, "generate-quiz", quiz()).await;
    }
    let refused = call(&service, "generate-quiz", quiz()).await;
    let error = refused.error().unwrap();
    assert_eq!(error.code, "RATE_LIMITED");
    assert!(error.retryable);
    let wait = error.details["retry_after_ms"].as_u64().unwrap();
    assert!((1..=60_000).contains(&wait), "{wait}");
    let other = service
        .call("generate-quiz", quiz(), &context().for_user("user_2"))
        .await;
    assert!(other.data().is_some());
}

#[tokio::test]
async fn the_deprecated_tool_works_and_warns_until_it_is_removed() {
    let service = service();
    let find = || json!({ "text": "percent" });
    let warned = call(&service, "find-cards", find()).await;
    assert_eq!(warned.data().unwrap().as_array().unwrap().len(), 1);
    assert!(suggested(&warned).contains(&"search-cards"));
    let warning = &hints(&warned)["warnings"][0];
    assert_eq!(warning["type"], "deprecation");
    assert_eq!(warning["suggestedFix"], "use search-cards");

    let last_moment = at("2027-06-29T23:59:59Z".parse().unwrap());
    assert!(
        service
            .call("find-cards", find(), &last_moment)
            .await
            .data()
            .is_some()
    );
    let too_late = at("2027-06-30T00:00:00Z".parse().unwrap());
    let removed = service.call("find-cards", find(), &too_late).await;
    let error = removed.error().unwrap();
    assert_eq!(error.code, "TOOL_REMOVED");
    assert_eq!(error.details["replacement"], "search-cards");
    assert!(noon() < too_late.timestamp);
}
