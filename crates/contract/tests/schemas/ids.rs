//! Branded ids.

use mcpproxy_contract::schemas::UserId;
use serde_json::{Value, json};

use super::{CardId, DeckId, ListCards, accept, check, refused, schema_of};

#[test]
fn an_id_has_the_form_that_is_published() {
    let longest = "x".repeat(64);
    for (text, accepted) in [
        ("card_123".to_owned(), true),
        ("card_a-B_9".to_owned(), true),
        ("card__".to_owned(), true),
        (format!("card_{longest}"), true),
        (format!("card_{longest}x"), false),
        ("card_".to_owned(), false),
        ("card".to_owned(), false),
        ("123".to_owned(), false),
        (String::new(), false),
        ("deck_123".to_owned(), false),
        ("Card_123".to_owned(), false),
        (" card_123".to_owned(), false),
        ("card_123\n".to_owned(), false),
        ("card_1 2".to_owned(), false),
        ("card_ä".to_owned(), false),
        ("card_../x".to_owned(), false),
    ] {
        check::<CardId>(&json!(text), accepted);
        assert_eq!(CardId::parse(text.as_str()).is_ok(), accepted, "{text:?}");
    }
    check::<CardId>(&json!(123), false);
    check::<CardId>(&Value::Null, false);
}

#[test]
fn an_id_of_the_wrong_form_is_told_what_it_should_be() {
    refused::<CardId>(
        &json!("deck_7"),
        &[
            "'deck_7' is no card id",
            "`card_`",
            "1 to 64",
            "for example card_123",
        ],
    );
    refused::<DeckId>(&json!("study_deck_"), &["for example study_deck_123"]);
    let long = format!("\u{1b}[2J{}", "ü".repeat(10_000));
    let message = accept::<CardId>(&json!(long)).unwrap_err();
    assert!(
        message.chars().count() < 300 && !message.contains('\u{1b}'),
        "{message}"
    );
}

#[test]
fn an_id_is_published_with_its_description_and_an_example() {
    assert_eq!(
        schema_of::<CardId>(),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "CardId",
            "type": "string",
            "description": "The card to look at.",
            "pattern": "^card_[A-Za-z0-9_-]{1,64}$",
            "examples": ["card_123"],
        })
    );
    let schema = schema_of::<ListCards>();
    let items = &schema["properties"]["cardIds"]["items"];
    assert_eq!(items["description"], "The card to look at.", "{schema}");
    let deck = &schema["properties"]["deckId"];
    assert_eq!(
        deck["description"], "The deck to list.",
        "a field's own description goes first"
    );
    assert_eq!(deck["pattern"], "^study_deck_[A-Za-z0-9_-]{1,64}$");
}

#[test]
fn an_id_travels_as_text_and_comes_back() {
    let id = CardId::parse("card_9").unwrap();
    assert_eq!(serde_json::to_value(&id).unwrap(), json!("card_9"));
    assert_eq!(
        serde_json::from_value::<CardId>(json!("card_9")).unwrap(),
        id
    );
    assert_eq!((id.to_string().as_str(), id.as_str()), ("card_9", "card_9"));
    assert_eq!(id, CardId::numbered(9));
    assert!(CardId::numbered(u64::MAX) < id, "ids sort as texts");

    let made = UserId::numbered(u64::MAX);
    assert_eq!(UserId::parse(made.as_str()).unwrap(), made);
}
