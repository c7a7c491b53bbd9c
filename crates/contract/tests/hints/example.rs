//! The rich hints of the contract's own example, written with the API.

use mcpproxy_contract::prelude::*;
use serde_json::Value;

use super::tools::{AdjustDifficulty, ReviewNextCard};
use super::{validator, wire};

/// The hints after a card was reviewed. A confidence cannot be typed in, so evidence is given that
/// amounts to the one of the example.
fn review_card() -> AgentHints {
    let evidence = |known| Evidence::new(SourceQuality::High, completeness(known, 100));
    AgentHints::new(&evidence(95), ValidityPeriod::Short)
        .suggest(
            Suggestion::to::<ReviewNextCard>()
                .priority(Priority::High)
                .category(ActionCategory::Learning)
                .expecting("Continue learning momentum")
                .confident(evidence(92).confidence()),
        )
        .suggest(
            Suggestion::to::<AdjustDifficulty>()
                .priority(Priority::Medium)
                .category(ActionCategory::Optimization)
                .expecting("Better calibrated difficulty"),
        )
        .relate(RelatedResource {
            metadata: Some(ResourceMetadata {
                quality: Some(SourceQuality::High),
                freshness: Some("current".to_owned()),
                ..ResourceMetadata::default()
            }),
            ..RelatedResource::new("deck", "deck_456", "Math Deck", Share::ALL)
        })
        .needs("user's recent performance trend")
        .assumes("User completed review attentively")
        .assumes("FSRS algorithm accurate")
        .risk(RiskFactor {
            kind: RiskType::UserExperience,
            severity: Severity::Low,
            description: "User might feel fatigued".to_owned(),
            probability: Share::percent(20),
            impact: Share::percent(10),
            mitigation: None,
        })
        .depends::<AdjustDifficulty, ReviewNextCard>(
            DependencyType::Recommended,
            Some("Need more data points before adjustment"),
        )
        .impact(
            Share::percent(85),
            Share::percent(20),
            &["retention_rate", "review_accuracy"],
        )
        .aligns::<ReviewNextCard>("continuous_learning", 0.9, None)
        .because("High confidence based on FSRS algorithm and recent performance")
        .warn(HintWarning {
            auto_fixable: Some(false),
            ..HintWarning::new(
                WarningType::Performance,
                Severity::Low,
                "User slower than usual",
            )
        })
}

/// The example, value by value, without its reasoning.
fn example() -> Value {
    let example = include_str!("../rich_hints/example.json");
    serde_json::from_str(example).expect("the example is JSON")
}

#[test]
fn the_rich_hints_of_the_contract_can_be_written() {
    let mut hints = wire(&review_card());
    let reasoning = hints
        .as_object_mut()
        .and_then(|hints| hints.remove("reasoning"))
        .expect("hints always have a reasoning");
    assert_eq!(hints, example());
    // The reasoning of the example comes first; after it the numbers explain themselves.
    assert_eq!(
        reasoning,
        "High confidence based on FSRS algorithm and recent performance. \
         confidence 0.95: completeness 0.95 (95 of 100, weight 3); source quality high. \
         roi 4.25: benefit 0.85 / effort 0.2."
    );
}

#[test]
fn the_example_as_it_is_written_in_the_contract_keeps_the_schema() {
    let errors: Vec<String> = validator()
        .iter_errors(&example())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, [""; 0]);
}

/// The example with one key of one of its objects set to something else, or taken out.
fn altered(object: &str, key: &str, value: Option<Value>) -> Value {
    let mut hints = example();
    let object = hints
        .pointer_mut(object)
        .and_then(Value::as_object_mut)
        .expect("the example has this object");
    match value {
        Some(value) => object.insert(key.to_owned(), value),
        None => object.remove(key),
    };
    hints
}

#[test]
fn the_schema_refuses_what_the_contract_forbids() {
    let suggestion = "/suggestedNextActions/0";
    let resource = "/relatedResources/0";
    for (object, key, value) in [
        ("", "confidence", json!(1.01)),
        ("", "confidence", json!(-0.01)),
        ("", "confidence", json!("high")),
        ("", "sourceQuality", json!("superb")),
        ("", "validityPeriod", json!("forever")),
        ("", "contextNeeded", json!("mood")),
        ("", "warnings", Value::Null),
        ("", "reasoning", Value::Null),
        (
            "",
            "metadata",
            json!({ "generatedAt": "2024-01-15T00:00:00Z" }),
        ),
        (suggestion, "priority", json!("urgent")),
        (suggestion, "category", json!("fun")),
        (suggestion, "category", Value::Null),
        (suggestion, "data", json!([1])),
        (suggestion, "data", Value::Null),
        (suggestion, "estimatedTime", json!(-1)),
        (suggestion, "estimatedCost", json!(-0.5)),
        (suggestion, "confidence", json!(2)),
        (suggestion, "reversible", json!("yes")),
        (resource, "relevance", json!(1.5)),
        (resource, "metadata", Value::Null),
        (resource, "metadata", json!({ "quality": ["high"] })),
        (resource, "metadata", json!({ "accessCount": -1 })),
        ("/riskFactors/0", "type", json!("boredom")),
        ("/riskFactors/0", "severity", json!("deadly")),
        ("/riskFactors/0", "probability", json!(1.5)),
        ("/riskFactors/0", "impact", json!(-0.1)),
        ("/dependencies/0", "dependsOn", json!("review-card")),
        ("/dependencies/0", "type", json!("mandatory")),
        ("/estimatedImpact", "roi", json!(-1)),
        ("/estimatedImpact", "benefit", json!(1.1)),
        ("/preferenceAlignment/0", "score", json!(-1.5)),
        ("/preferenceAlignment/0", "alignment", json!("perfect")),
        ("/warnings/0", "type", json!("rumour")),
        ("/warnings/0", "severity", json!("mild")),
    ] {
        let hints = altered(object, key, Some(value.clone()));
        assert!(
            !validator().is_valid(&hints),
            "{object}/{key} may be {value}"
        );
    }
}

#[test]
fn the_schema_leaves_open_what_the_contract_leaves_open() {
    for (object, key, value) in [
        ("", "somethingNew", json!(true)),
        ("", "suggestedNextActions", json!([])),
        ("/suggestedNextActions/0", "estimatedTime", json!(12.5)),
        ("/relatedResources/0", "metadata", json!({})),
        (
            "/relatedResources/0",
            "metadata",
            json!({ "quality": 0.9, "freshness": 12, "accessCount": 3 }),
        ),
        ("/dependencies/0", "dependsOn", json!([])),
        ("/estimatedImpact", "roi", json!(850)),
    ] {
        let hints = altered(object, key, Some(value.clone()));
        assert!(
            validator().is_valid(&hints),
            "{object}/{key} may not be {value}"
        );
    }
}

#[test]
fn the_schema_asks_for_what_each_part_must_have() {
    let keys = [
        "suggestedNextActions",
        "relatedResources",
        "confidence",
        "sourceQuality",
        "validityPeriod",
        "contextNeeded",
        "assumptions",
        "riskFactors",
        "dependencies",
        "estimatedImpact",
        "preferenceAlignment",
    ];
    for (object, keys) in [
        ("", keys.as_slice()),
        ("/suggestedNextActions/0", &["action", "priority"]),
        ("/relatedResources/0", &["type", "id", "label", "relevance"]),
        (
            "/riskFactors/0",
            &["type", "severity", "description", "probability", "impact"],
        ),
        ("/dependencies/0", &["action", "dependsOn", "type"]),
        ("/estimatedImpact", &["benefit", "effort", "roi"]),
        (
            "/preferenceAlignment/0",
            &["action", "preference", "alignment", "score"],
        ),
        ("/warnings/0", &["type", "severity", "message"]),
    ] {
        for key in keys {
            let hints = altered(object, key, None);
            assert!(
                !validator().is_valid(&hints),
                "{object}/{key} may be missing"
            );
        }
    }
    assert_eq!(schema()["required"], json!(keys));
}
