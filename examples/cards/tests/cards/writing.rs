use serde_json::json;

use super::{call, confidence, data, hints, service, suggested};

#[tokio::test]
async fn a_new_deck_takes_new_cards_that_are_due_at_once() {
    let service = service();
    let deck = data(&service, "create-deck", json!({ "name": " Capitals " })).await;
    assert_eq!(
        (&deck["deckId"], &deck["name"]),
        (&json!("deck_4"), &json!("Capitals"))
    );
    assert_eq!(deck["metadata"]["createdBy"], "user_1");
    let created = call(
        &service,
        "create-card",
        json!({ "deckId": "deck_4", "front": "France?", "back": "Paris", "tags": ["Europe"], "difficulty": 2 }),
    )
    .await;
    let card = created.data().unwrap();
    assert_eq!(
        (&card["cardId"], &card["difficulty"]),
        (&json!("card_13"), &json!(2))
    );
    assert_eq!(hints(&created)["relatedResources"][0]["id"], "card_13");
    let next = data(&service, "review-next-card", json!({ "deckId": "deck_4" })).await;
    assert_eq!(
        (&next["due"], &next["card"]["cardId"]),
        (&json!(1), &json!("card_13"))
    );
    assert!(next["card"].get("back").is_none());
}

#[tokio::test]
async fn the_same_question_twice_is_a_warning() {
    let service = service();
    let twin = json!({ "deckId": "deck_3", "front": "12 × 12", "back": "gross" });
    let created = call(&service, "create-card", twin).await;
    let warning = &hints(&created)["warnings"][0];
    assert_eq!(warning["type"], "duplicate");
    assert_eq!(warning["relatedIds"], json!(["card_10"]));
    let elsewhere = json!({ "deckId": "deck_1", "front": "12 × 12", "back": "144" });
    let created = call(&service, "create-card", elsewhere).await;
    assert!(hints(&created).get("warnings").is_none());
}

#[tokio::test]
async fn a_change_keeps_what_is_not_named_and_counts_once() {
    let service = service();
    let change = || json!({ "cardId": "card_12", "explanation": "", "tags": ["gauss", "series"], "version": 1 });
    let changed = data(&service, "update-card", change()).await;
    assert_eq!(changed["back"], "5050");
    assert!(changed.get("explanation").is_none());
    assert_eq!(changed["metadata"]["version"], 2);
    assert_eq!(changed["metadata"]["updatedBy"], "user_1");
    let mut again = change();
    again["version"] = json!(2);
    assert_eq!(data(&service, "update-card", again).await, changed);
}

#[tokio::test]
async fn a_deleted_card_can_be_written_anew_from_the_hints() {
    let service = service();
    let deleted = call(&service, "delete-card", json!({ "cardId": "card_9" })).await;
    assert_eq!(deleted.data().unwrap()["reviews"], 4);
    let hints = hints(&deleted);
    assert_eq!(hints["warnings"][0]["relatedIds"], json!(["card_9"]));
    let again = &hints["suggestedNextActions"][0];
    assert_eq!(again["action"], "create-card");
    let card = data(&service, "create-card", again["data"].clone()).await;
    assert_eq!(
        (&card["front"], &card["reviews"]),
        (&json!("7 × 8"), &json!(0))
    );
    assert_ne!(card["cardId"], "card_9");
}

#[tokio::test]
async fn the_more_is_lost_with_a_card_the_less_sure_it_comes_back() {
    let service = service();
    let delete = |id: &str| call(&service, "delete-card", json!({ "cardId": id }));
    let (reviewed, fresh) = (delete("card_9").await, delete("card_12").await);
    assert!(confidence(&reviewed) < confidence(&fresh));
}

#[tokio::test]
async fn a_difficulty_is_set_once_and_questioned_when_reviews_speak_against_it() {
    let service = service();
    let set = |id: &str, difficulty: u8| {
        call(
            &service,
            "adjust-difficulty",
            json!({ "cardId": id, "difficulty": difficulty }),
        )
    };
    let first = set("card_3", 4).await;
    assert_eq!(first.data().unwrap()["difficulty"], 4);
    assert!(hints(&first).get("warnings").is_none());
    assert_eq!(suggested(&first), ["review-next-card"]);
    let second = set("card_3", 4).await;
    assert_eq!(second.data(), first.data());
    let against = set("card_9", 5).await;
    assert_eq!(hints(&against)["warnings"][0]["type"], "conflict");
    assert!(confidence(&against) < confidence(&set("card_9", 1).await));
}
