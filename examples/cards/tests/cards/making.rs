use std::collections::HashSet;

use serde_json::{Value, json};

use super::{call, confidence, data, service, suggested};

#[tokio::test]
async fn a_quiz_has_different_choices_of_which_one_is_right() {
    let service = service();
    let quiz = data(
        &service,
        "generate-quiz",
        json!({ "deckId": "deck_3", "questions": 4 }),
    )
    .await;
    let questions = quiz["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 4);
    for question in questions {
        let choices = question["choices"].as_array().unwrap();
        assert_eq!(choices.len(), 4);
        assert_eq!(choices.iter().collect::<HashSet<_>>().len(), 4);
        let right = usize::try_from(question["answer"].as_u64().unwrap()).unwrap();
        let card = data(
            &service,
            "get-card",
            json!({ "cardId": question["cardId"] }),
        )
        .await;
        assert_eq!(choices[right], card["back"]);
        assert_eq!(question["question"], card["front"]);
    }
}

#[tokio::test]
async fn the_same_seed_gives_the_same_quiz_and_another_another() {
    let service = service();
    let quiz = |seed: u32| {
        data(
            &service,
            "generate-quiz",
            json!({ "deckId": "deck_1", "seed": seed }),
        )
    };
    let first = quiz(1).await;
    assert_eq!(quiz(1).await, first);
    let others: Vec<Value> = vec![quiz(2).await, quiz(3).await, quiz(4).await];
    assert!(
        others
            .iter()
            .any(|other| other["questions"] != first["questions"])
    );
}

#[tokio::test]
async fn a_quiz_that_is_shorter_than_wanted_is_less_sure() {
    let service = service();
    let quiz = |questions: u8| {
        call(
            &service,
            "generate-quiz",
            json!({ "deckId": "deck_3", "questions": questions }),
        )
    };
    let (whole, short) = (quiz(4).await, quiz(20).await);
    assert!(confidence(&short) < confidence(&whole));
}

#[tokio::test]
async fn a_deck_with_one_answer_makes_no_quiz() {
    let service = service();
    data(&service, "create-deck", json!({ "name": "Small" })).await;
    for (front, back) in [("One?", "yes"), ("Two?", " YES ")] {
        data(
            &service,
            "create-card",
            json!({ "deckId": "deck_4", "front": front, "back": back }),
        )
        .await;
    }
    let refused = call(&service, "generate-quiz", json!({ "deckId": "deck_4" })).await;
    assert_eq!(refused.error().unwrap().code, "DECK_TOO_SMALL");
    assert_eq!(refused.error().unwrap().details["answers"], 1);
    assert_eq!(suggested(&refused), ["create-card"]);
}

#[tokio::test]
async fn a_deck_is_exported_as_markdown_and_as_csv() {
    let service = service();
    let quoted = json!({ "deckId": "deck_3", "front": "Say \"a,b\"\ntwice", "back": "so\nso" });
    data(&service, "create-card", quoted).await;
    let markdown = data(&service, "export-deck", json!({ "deckId": "deck_3" })).await;
    let text = markdown["content"].as_str().unwrap();
    assert!(text.starts_with("# Arithmetic\n\n## "), "{text}");
    assert!(
        text.contains("\n## 7 × 8\n\n56\n\nTags: multiplication\n"),
        "{text}"
    );
    assert!(
        text.contains("\n## Say \"a,b\" twice\n\nso\nso\n"),
        "{text}"
    );
    assert!(
        text.contains("\n> Fifty pairs that add up to 101 each\n"),
        "{text}"
    );
    let csv = data(
        &service,
        "export-deck",
        json!({ "deckId": "deck_3", "format": "csv" }),
    )
    .await;
    assert_eq!((&csv["cards"], &csv["total"]), (&json!(5), &json!(5)));
    let text = csv["content"].as_str().unwrap();
    assert!(
        text.starts_with("front,back,explanation,tags\r\n"),
        "{text}"
    );
    assert!(
        text.contains("\"Say \"\"a,b\"\"\ntwice\",\"so\nso\",\"\",\"\"\r\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_part_of_a_deck_is_told_as_a_part() {
    let service = service();
    let part = call(
        &service,
        "export-deck",
        json!({ "deckId": "deck_3", "offset": 3 }),
    )
    .await;
    assert_eq!(part.data().unwrap()["cards"], 1);
    let whole = call(&service, "export-deck", json!({ "deckId": "deck_3" })).await;
    assert!(confidence(&part) < confidence(&whole));
}
