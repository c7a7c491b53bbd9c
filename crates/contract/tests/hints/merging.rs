//! What becomes of two sets of hints that are made into one.

use std::time::Duration;

use mcpproxy_contract::prelude::*;
use serde_json::Value;

use super::tools::{AdjustDifficulty, CardParams, ReviewCard, ReviewNextCard};
use super::{items, wire};

/// Hints of this quality, with a confidence of so many percent, for this long.
fn hints(source_quality: SourceQuality, percent: u64, validity: ValidityPeriod) -> AgentHints {
    AgentHints::new(
        &Evidence::new(source_quality, completeness(percent, 100)),
        validity,
    )
}

fn sure() -> AgentHints {
    hints(SourceQuality::High, 90, ValidityPeriod::Long)
}

fn unsure() -> AgentHints {
    hints(SourceQuality::High, 40, ValidityPeriod::Short)
}

fn review(card_id: &str) -> Suggestion {
    Suggestion::with::<ReviewCard>(&CardParams {
        card_id: card_id.to_owned(),
        difficulty: 0.5,
    })
}

/// Each suggestion as action, priority and the card it names.
fn brief(hints: &AgentHints) -> Vec<String> {
    let wire = wire(hints);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    items(&wire, "suggestedNextActions")
        .iter()
        .map(|one| {
            [&one["action"], &one["priority"], &one["data"]["cardId"]]
                .map(text)
                .join(" ")
        })
        .collect()
}

#[test]
fn the_more_careful_side_decides_how_sure_and_how_long() {
    use SourceQuality::{High, Low, Medium, Unknown};
    use ValidityPeriod::{Immediate, Indefinite, Long, Short};
    for (one, two, confidence, quality, validity) in [
        ((High, 90, Long), (High, 40, Short), 0.4, High, Short),
        (
            (High, 30, Immediate),
            (Low, 50, Indefinite),
            0.3,
            Low,
            Immediate,
        ),
        (
            (Medium, 80, Short),
            (Unknown, 90, Long),
            0.5,
            Unknown,
            Short,
        ),
        ((Low, 10, Long), (Unknown, 20, Long), 0.1, Unknown, Long),
        ((Medium, 0, Short), (High, 100, Short), 0.0, Medium, Short),
    ] {
        let of = |(quality, percent, validity)| hints(quality, percent, validity);
        for merged in [of(one).merge(of(two)), of(two).merge(of(one))] {
            assert!((merged.confidence().value() - confidence).abs() < 1e-12);
            assert_eq!(wire(&merged)["sourceQuality"], wire(&quality));
            assert_eq!(wire(&merged)["validityPeriod"], wire(&validity));
        }
    }
    let merged = sure().merge(unsure());
    assert_eq!(merged.confidence(), unsure().confidence());
    assert!(merged.reasoning().contains("(40 of 100, weight 3)"));
}

#[test]
fn of_the_same_action_the_more_urgent_stays() {
    let high = |card| review(card).priority(Priority::High);
    let next = || Suggestion::to::<ReviewNextCard>().priority(Priority::Low);
    for (ours, theirs, expected) in [
        (
            vec![review("a"), next()],
            vec![high("b")],
            vec!["review-next-card low -", "review-card high b"],
        ),
        (
            vec![high("a")],
            vec![review("b"), next()],
            vec!["review-card high a", "review-next-card low -"],
        ),
        // With equal urgency ours stay.
        (
            vec![review("a")],
            vec![review("b")],
            vec!["review-card medium a"],
        ),
        // Several calls of one action belong together.
        (
            vec![],
            vec![review("a"), review("b")],
            vec!["review-card medium a", "review-card medium b"],
        ),
        (
            vec![review("a"), review("b")],
            vec![next(), review("c"), high("d")],
            vec![
                "review-next-card low -",
                "review-card medium c",
                "review-card high d",
            ],
        ),
    ] {
        let ours = ours.into_iter().fold(sure(), AgentHints::suggest);
        let theirs = theirs.into_iter().fold(sure(), AgentHints::suggest);
        assert_eq!(brief(&ours.merge(theirs)), expected);
    }
}

#[test]
fn the_same_resource_is_named_once_with_its_higher_relevance() {
    let deck =
        |id: &str, percent| RelatedResource::new("deck", id, "Deck", Share::percent(percent));
    let merged = sure()
        .relate(deck("one", 30))
        .relate(deck("two", 80))
        .merge(
            sure()
                .relate(deck("one", 60))
                .relate(deck("two", 10))
                .relate(RelatedResource::new("card", "one", "Card", Share::ALL)),
        );
    let resource = |kind: &str, id: &str, label: &str, relevance: f64| json!({ "type": kind, "id": id, "label": label, "relevance": relevance });
    assert_eq!(
        wire(&merged)["relatedResources"],
        json!([
            resource("deck", "one", "Deck", 0.6),
            resource("deck", "two", "Deck", 0.8),
            resource("card", "one", "Card", 1.0),
        ])
    );
}

#[test]
fn texts_and_warnings_are_told_once() {
    let slow = || HintWarning::new(WarningType::Performance, Severity::Low, "Slow");
    let told = || {
        sure()
            .needs("history")
            .assumes("attentive")
            .constrained("30 minutes")
            .because("As planned")
            .warn(slow())
    };
    let fixable = HintWarning {
        auto_fixable: Some(true),
        ..slow()
    };
    let merged = told().merge(told().needs("mood").warn(fixable));
    let wire = wire(&merged);
    assert_eq!(wire["contextNeeded"], json!(["history", "mood"]));
    assert_eq!(wire["assumptions"], json!(["attentive"]));
    assert_eq!(wire["constraints"], json!(["30 minutes"]));
    assert_eq!(merged.reasoning().matches("As planned.").count(), 1);
    assert_eq!(items(&wire, "warnings").len(), 2);
}

#[test]
fn the_same_risk_counts_once_as_the_worse_one() {
    let risk = |severity, percent| RiskFactor {
        kind: RiskType::Cost,
        severity,
        description: "It may cost".to_owned(),
        probability: Share::percent(percent),
        impact: Share::ALL,
        mitigation: None,
    };
    for (ours, theirs, severity, probability) in [
        (
            risk(Severity::Low, 90),
            risk(Severity::High, 10),
            "high",
            0.1,
        ),
        (
            risk(Severity::High, 10),
            risk(Severity::Low, 90),
            "high",
            0.1,
        ),
        (risk(Severity::Low, 10), risk(Severity::Low, 90), "low", 0.9),
    ] {
        let merged = wire(&sure().risk(ours).merge(sure().risk(theirs)));
        let risks = merged["riskFactors"].as_array().unwrap();
        assert_eq!(risks.len(), 1);
        assert_eq!(risks[0]["severity"], severity);
        assert_eq!(risks[0]["probability"], probability);
    }
}

#[test]
fn dependencies_alignments_and_alternatives_are_united() {
    let wait = |hints: &AgentHints, reasoning: &str| Alternative {
        approach: "Wait".to_owned(),
        confidence: hints.confidence().clone(),
        reasoning: reasoning.to_owned(),
        pros: None,
        cons: None,
        estimated_impact: None,
    };
    let required = DependencyType::Required;
    let merged = sure()
        .depends::<AdjustDifficulty, ReviewCard>(required, Some("Data first"))
        .aligns::<ReviewCard>("calm", 0.8, None)
        .alternative(wait(&sure(), "It helps"))
        .merge(
            unsure()
                .depends::<AdjustDifficulty, ReviewNextCard>(required, None)
                .depends::<AdjustDifficulty, ReviewCard>(required, None)
                .depends::<ReviewCard, ReviewNextCard>(DependencyType::Optional, None)
                .aligns::<ReviewCard>("calm", -0.8, None)
                .alternative(wait(&unsure(), "Perhaps")),
        );
    let wire = wire(&merged);
    assert_eq!(
        wire["dependencies"],
        json!([
            {
                "action": "adjust-difficulty",
                "dependsOn": ["review-card", "review-next-card"],
                "type": "required",
                "reason": "Data first",
            },
            {
                "action": "review-card",
                "dependsOn": ["review-next-card"],
                "type": "optional",
            },
        ])
    );
    assert_eq!(
        wire["preferenceAlignment"],
        json!([{
            "action": "review-card",
            "preference": "calm",
            "alignment": "conflict",
            "score": -0.8,
        }])
    );
    assert_eq!(wire["alternatives"].as_array().unwrap().len(), 1);
    assert_eq!(wire["alternatives"][0]["confidence"], 0.4);
}

#[test]
fn a_stated_impact_becomes_the_higher_benefit_for_both_efforts() {
    let stated =
        |benefit, effort| sure().impact(Share::percent(benefit), Share::percent(effort), &[]);
    let slow = || {
        sure().suggest(
            Suggestion::to::<ReviewCard>()
                .priority(Priority::Critical)
                .takes(Duration::from_mins(1)),
        )
    };
    for (merged, benefit, effort, roi) in [
        (stated(60, 20).merge(stated(80, 30)), 0.8, 0.5, 1.6),
        (stated(60, 70).merge(stated(50, 80)), 0.6, 1.0, 0.6),
        (stated(50, 10).merge(slow()), 0.9, 0.45, 2.0),
        (slow().merge(stated(50, 10)), 0.9, 0.45, 2.0),
        // Nobody stated any: it is estimated with the lower confidence.
        (slow().merge(unsure()), 0.4, 0.35, 1.14),
    ] {
        let expected = json!({ "benefit": benefit, "effort": effort, "roi": roi });
        assert_eq!(wire(&merged)["estimatedImpact"], expected);
    }
    let metrics = |names: [&str; 2]| sure().impact(Share::ALL, Share::ALL, &names);
    let merged = metrics(["speed", "cost"]).merge(metrics(["cost", "calm"]));
    assert_eq!(
        wire(&merged)["estimatedImpact"]["affectedMetrics"],
        json!(["speed", "cost", "calm"])
    );
}
