use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{at, call, confidence, data, hints, noon, service, suggested};

fn days_later(days: u64) -> Timestamp {
    noon() + Duration::from_hours(24 * days)
}

#[tokio::test]
async fn a_review_plans_the_next_one_and_says_what_to_do() {
    let service = service();
    let arguments = json!({ "cardId": "card_9", "grade": 3, "answerTimeMs": 1000 });
    let result = call(&service, "review-card", arguments).await;
    let reviewed = result.data().unwrap();
    assert_eq!(
        (&reviewed["reviews"], &reviewed["review"]["grade"]),
        (&json!(5), &json!(3))
    );
    let due: Timestamp = reviewed["dueAt"].as_str().unwrap().parse().unwrap();
    assert!(due > days_later(6), "{due}");

    let hints = hints(&result);
    assert_eq!(
        suggested(&result),
        ["review-next-card", "adjust-difficulty"]
    );
    let next = &hints["suggestedNextActions"][0];
    assert_eq!(next["priority"], "high");
    assert_eq!(next["category"], "learning");
    assert_eq!(next["expectedOutcome"], "Continue learning momentum");
    assert_eq!(next["confidence"], hints["confidence"]);
    assert_eq!(hints["suggestedNextActions"][1]["category"], "optimization");
    let related = hints["relatedResources"].as_array().unwrap();
    let deck = related.iter().find(|one| one["type"] == "deck").unwrap();
    assert_eq!(deck["label"], "Arithmetic");
    assert_eq!(
        deck["metadata"],
        json!({ "quality": "high", "freshness": "current" })
    );
    assert_eq!(hints["validityPeriod"], "short");
    assert!(holds(
        &hints["contextNeeded"],
        "user's recent performance trend"
    ));
    assert!(holds(
        &hints["assumptions"],
        "User completed review attentively"
    ));
    let risks = hints["riskFactors"].as_array().unwrap();
    assert!(risks.iter().any(|risk| risk["type"] == "user-experience"));
    let dependency = &hints["dependencies"][0];
    assert_eq!(dependency["action"], "adjust-difficulty");
    assert_eq!(dependency["dependsOn"], json!(["review-next-card"]));
    assert_eq!(dependency["type"], "recommended");
    let impact = &hints["estimatedImpact"];
    assert_eq!(
        impact["affectedMetrics"],
        json!(["retention_rate", "review_accuracy"])
    );
    assert!(impact["roi"].as_f64().unwrap() > 1.0, "{impact}");
    let alignment = &hints["preferenceAlignment"][0];
    assert_eq!(alignment["preference"], "continuous_learning");
    assert_eq!(alignment["alignment"], "strong");
    assert!(
        hints["reasoning"]
            .as_str()
            .unwrap()
            .contains("remembered in 4 of 5 reviews")
    );
    assert!(hints.get("warnings").is_none());
}

fn holds(list: &Value, text: &str) -> bool {
    let texts = list.as_array().into_iter().flatten();
    texts.filter(|one| *one == text).count() == 1
}

#[tokio::test]
async fn who_takes_longer_than_usual_is_noticed() {
    let service = service();
    let review = |time: u32| {
        call(
            &service,
            "review-card",
            json!({ "cardId": "card_11", "grade": 2, "answerTimeMs": time }),
        )
    };
    let quick = review(3_000).await;
    assert!(hints(&quick).get("warnings").is_none());
    let slow = review(60_000).await;
    let warning = &hints(&slow)["warnings"][0];
    assert_eq!(
        (&warning["type"], &warning["severity"]),
        (&json!("performance"), &json!("low"))
    );
    assert_eq!(warning["autoFixable"], false);
}

#[tokio::test]
async fn confidence_grows_with_reviews_that_agree_and_falls_with_one_that_does_not() {
    let service = service();
    let review = |grade: u8| {
        call(
            &service,
            "review-card",
            json!({ "cardId": "card_12", "grade": grade, "answerTimeMs": 2000 }),
        )
    };
    let first = confidence(&review(3).await);
    let mut last = first;
    for number in 2..=10 {
        let now = confidence(&review(3).await);
        assert!(now >= last, "review {number}: {now} after {last}");
        last = now;
    }
    assert!(last > first + 0.3, "{last} after {first}");
    assert!(confidence(&review(1).await) < last);
}

#[tokio::test]
async fn what_was_forgotten_is_suggested_to_count_as_harder() {
    let service = service();
    let result = call(
        &service,
        "review-card",
        json!({ "cardId": "card_12", "grade": 1 }),
    )
    .await;
    let adjust = &hints(&result)["suggestedNextActions"][1];
    assert_eq!(
        adjust["data"],
        json!({ "cardId": "card_12", "difficulty": 4 })
    );
    assert_eq!(adjust["priority"], "medium");
    assert!(holds(
        &hints(&result)["contextNeeded"],
        "how long answers take"
    ));
}

#[tokio::test]
async fn the_suggested_calls_lead_through_a_whole_session() {
    let service = service();
    let mut asked = Vec::new();
    loop {
        let next = data(&service, "review-next-card", json!({})).await;
        let Some(card) = next.get("card") else {
            assert_eq!(next["due"], 0);
            assert!(next["nextDueAt"].is_string());
            break;
        };
        asked.push(card["cardId"].clone());
        assert!(asked.len() <= 12, "{asked:?}");
        data(
            &service,
            "review-card",
            json!({ "cardId": card["cardId"], "grade": 3 }),
        )
        .await;
    }
    assert!(asked.len() > 5);
    let rest = call(&service, "review-next-card", json!({})).await;
    assert_eq!(suggested(&rest), ["forecast-workload"]);
}

#[tokio::test]
async fn a_deck_without_cards_says_so() {
    let service = service();
    data(&service, "create-deck", json!({ "name": "Empty" })).await;
    let next = call(&service, "review-next-card", json!({ "deckId": "deck_4" })).await;
    assert_eq!(next.data().unwrap(), &json!({ "due": 0 }));
    assert_eq!(suggested(&next), ["create-card"]);
    let analysis = call(&service, "analyze-deck", json!({ "deckId": "deck_4" })).await;
    assert_eq!(analysis.data().unwrap()["reviews"], 0);
    assert!(analysis.data().unwrap().get("accuracy").is_none());
}

#[tokio::test]
async fn an_analysis_adds_up_the_reviews() {
    let service = service();
    let analysis = data(&service, "analyze-deck", json!({ "deckId": "deck_3" })).await;
    assert_eq!(analysis["reviews"], 6);
    assert_eq!(analysis["reviewedCards"], 3);
    assert_eq!(analysis["accuracy"], 0.833);
    assert_eq!(analysis["retention"], 1.0);
    assert_eq!(analysis["hardest"][0]["cardId"], "card_9");
    assert_eq!(analysis["hardest"][0]["forgotten"], 1);
    let early = json!({ "deckId": "deck_3", "to": "2026-11-11T00:00:00Z" });
    let early = data(&service, "analyze-deck", early).await;
    assert_eq!(
        (&early["reviews"], &early["accuracy"]),
        (&json!(1), &json!(0.0))
    );
}

#[tokio::test]
async fn an_analysis_is_surer_with_more_cards_reviewed_and_less_sure_after_a_while() {
    let service = service();
    let analyze = |moment| {
        let service = &service;
        async move {
            let arguments = json!({ "deckId": "deck_2" });
            service.call("analyze-deck", arguments, &at(moment)).await
        }
    };
    let before = confidence(&analyze(noon()).await);
    for card in ["card_7", "card_8"] {
        data(
            &service,
            "review-card",
            json!({ "cardId": card, "grade": 3 }),
        )
        .await;
    }
    let after = confidence(&analyze(noon()).await);
    assert!(after > before, "{after} after {before}");
    data(
        &service,
        "review-card",
        json!({ "cardId": "card_1", "grade": 3 }),
    )
    .await;
    let later = confidence(&analyze(days_later(60)).await);
    assert!(later < after, "{later} after {after}");
}

#[tokio::test]
async fn a_forecast_counts_each_card_once() {
    let service = service();
    for days in [1, 7, 60] {
        let forecast = data(&service, "forecast-workload", json!({ "days": days })).await;
        let loads = forecast["days"].as_array().unwrap();
        assert_eq!(loads.len(), days);
        assert_eq!(loads[0]["date"], "2026-11-20");
        let listed: u64 = loads.iter().map(|day| day["due"].as_u64().unwrap()).sum();
        assert_eq!(listed + forecast["later"].as_u64().unwrap(), 12);
        assert!(loads[0]["due"].as_u64() >= forecast["dueNow"].as_u64());
    }
    let due = call(&service, "forecast-workload", json!({ "deckId": "deck_3" })).await;
    assert_eq!(suggested(&due), ["review-next-card"]);
}
