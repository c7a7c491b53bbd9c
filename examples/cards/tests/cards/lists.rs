use serde_json::{Value, json};

use super::{call, confidence, data, hints, service, suggested};

#[tokio::test]
async fn a_card_is_read_with_its_deck_beside_it() {
    let service = service();
    let result = call(&service, "get-card", json!({ "cardId": "card_11" })).await;
    let card = result.data().unwrap();
    assert_eq!(card["front"], "What is 15 percent of 80?");
    assert_eq!(card["deckId"], "deck_3");
    assert_eq!(card["metadata"]["version"], 2);
    let deck = &hints(&result)["relatedResources"][0];
    assert_eq!(
        (&deck["type"], &deck["label"]),
        (&json!("deck"), &json!("Arithmetic"))
    );
    assert!(suggested(&result).contains(&"review-card"));
}

#[tokio::test]
async fn the_more_is_on_a_card_the_surer_are_the_hints() {
    let service = service();
    let read = |id: &str| call(&service, "get-card", json!({ "cardId": id }));
    let (full, bare) = (read("card_1").await, read("card_8").await);
    assert!(confidence(&full) > confidence(&bare));
    assert!(
        hints(&bare)["contextNeeded"]
            .as_array()
            .unwrap()
            .contains(&json!("why the answer is right"))
    );
    assert!(suggested(&bare).contains(&"update-card"));
    assert!(!suggested(&full).contains(&"update-card"));
}

#[tokio::test]
async fn search_takes_words_deck_dates_and_order() {
    let service = service();
    for (arguments, total) in [
        (json!({}), 12),
        (json!({ "text": "TOOL" }), 5),
        (json!({ "text": "tool readOnlyHint" }), 1),
        (json!({ "text": "tool", "deckId": "deck_2" }), 2),
        (json!({ "due": { "to": "2026-11-01T00:00:00Z" } }), 0),
        (json!({ "due": { "from": "2026-11-01T00:00:00Z" } }), 12),
        (json!({ "text": "nothing like it" }), 0),
    ] {
        let page = data(&service, "search-cards", arguments.clone()).await;
        assert_eq!(page["total"], total, "{arguments}: {page}");
    }
    let sorted = json!({ "sortBy": "dueAt", "sortOrder": "desc", "limit": 100 });
    let page = data(&service, "search-cards", sorted).await;
    let due: Vec<&str> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|card| card["dueAt"].as_str().unwrap())
        .collect();
    assert!(
        due.is_sorted_by(|earlier, later| earlier >= later),
        "{due:?}"
    );
}

#[tokio::test]
async fn the_suggested_next_page_goes_on_where_the_last_one_ended() {
    let service = service();
    let mut arguments = json!({ "limit": 5, "sortBy": "front" });
    let mut seen: Vec<Value> = Vec::new();
    loop {
        let result = call(&service, "search-cards", arguments).await;
        let page = result.data().unwrap();
        seen.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|card| card["cardId"].clone()),
        );
        let hints = hints(&result);
        let next = hints["suggestedNextActions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["action"] == "search-cards")
            .cloned();
        assert_eq!(page["hasMore"], next.is_some());
        match next {
            Some(next) => arguments = next["data"].clone(),
            None => break,
        }
    }
    assert_eq!(seen.len(), 12);
    seen.sort_by_key(|id| id.as_str().unwrap().to_owned());
    seen.dedup();
    assert_eq!(seen.len(), 12);
}

#[tokio::test]
async fn an_exact_phrase_is_a_surer_match_than_scattered_words() {
    let service = service();
    let search = |text: &str| {
        call(
            &service,
            "search-cards",
            json!({ "text": text, "deckId": "deck_3" }),
        )
    };
    let (exact, scattered) = (search("percent of 80").await, search("80 percent").await);
    assert_eq!(exact.data().unwrap()["total"], 1);
    assert_eq!(scattered.data().unwrap()["total"], 1);
    assert!(confidence(&exact) > confidence(&scattered));
}

#[tokio::test]
async fn decks_come_by_name_with_what_is_due() {
    let service = service();
    let result = call(&service, "list-decks", json!({ "limit": 2 })).await;
    let page = result.data().unwrap();
    let names: Vec<&Value> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|deck| &deck["name"])
        .collect();
    assert_eq!(names, ["Arithmetic", "The tool contract"]);
    assert_eq!(page["total"], 3);
    assert!(page["items"][0]["due"].as_u64().unwrap() > 0);
    assert_eq!(suggested(&result), ["review-next-card"]);
    let rest = data(
        &service,
        "list-decks",
        json!({ "cursor": page["nextCursor"] }),
    )
    .await;
    assert_eq!(rest["items"][0]["name"], "Tools and intent");
    let all = call(&service, "list-decks", json!({})).await;
    assert!(confidence(&all) > confidence(&result));
}

#[tokio::test]
async fn reviews_are_listed_the_newest_first_and_by_range() {
    let service = service();
    let result = call(&service, "list-reviews", json!({ "cardId": "card_9" })).await;
    let page = result.data().unwrap();
    let grades: Vec<u64> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["grade"].as_u64().unwrap())
        .collect();
    assert_eq!(grades, [4, 3, 3, 1]);
    assert_eq!(suggested(&result), ["analyze-deck"]);
    let since = json!({ "deckId": "deck_3", "from": "2026-11-17T00:00:00Z" });
    assert_eq!(data(&service, "list-reviews", since).await["total"], 2);
    let none = call(&service, "list-reviews", json!({ "cardId": "card_8" })).await;
    assert_eq!(none.data().unwrap()["total"], 0);
    assert_eq!(suggested(&none), ["review-next-card"]);
}
