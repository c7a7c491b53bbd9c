//! Hints: whatever the API can build is what the contract asks for.

#[path = "hints/build.rs"]
mod build;
#[path = "hints/example.rs"]
mod example;
#[path = "hints/merging.rs"]
mod merging;
#[path = "hints/operations.rs"]
mod operations;
#[path = "hints/tables.rs"]
mod tables;
#[path = "hints/tools.rs"]
mod tools;

use std::sync::LazyLock;

use jsonschema::Validator;
use mcpproxy_contract::prelude::*;
use proptest::prelude::*;
use serde_json::Value;

/// The published schema, ready to check.
fn validator() -> &'static Validator {
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
        jsonschema::validator_for(&schema()).expect("the published schema is a schema")
    });
    &VALIDATOR
}

/// The keys that hints always have.
fn required_keys() -> Vec<String> {
    serde_json::from_value(schema()["required"].clone()).expect("a list of names")
}

/// The value as it is sent.
fn wire(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("hints can always be written as JSON")
}

proptest! {
    #[test]
    fn whatever_is_built_has_every_required_key_and_keeps_the_schema(hints in build::hints()) {
        let sent = wire(&hints);
        for key in required_keys() {
            prop_assert!(sent.get(&key).is_some_and(|value| !value.is_null()), "{key} is missing");
        }
        let errors: Vec<String> = validator()
            .iter_errors(&sent)
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        prop_assert!(errors.is_empty(), "{errors:?}");
        let text = serde_json::to_string(&hints).expect("hints can always be written as JSON");
        let read: Value = serde_json::from_str(&text).expect("what was written is JSON");
        prop_assert_eq!(read, sent);
    }

    #[test]
    fn every_number_is_in_its_range_and_what_the_rules_make_of_it(hints in build::hints()) {
        let sent = wire(&hints);
        check_confidence(&sent["confidence"])?;
        let cap = match sent["sourceQuality"].as_str() {
            Some("high") => 1.0,
            Some("medium") => 0.85,
            Some("low") => 0.6,
            _ => 0.5,
        };
        prop_assert!(hints.confidence().value() <= cap);
        for suggestion in items(&sent, "suggestedNextActions") {
            if let Some(confidence) = suggestion.get("confidence") {
                check_confidence(confidence)?;
            }
            if let Some(cost) = suggestion.get("estimatedCost") {
                prop_assert!(number(cost) >= 0.0);
            }
        }
        for resource in items(&sent, "relatedResources") {
            check_share(&resource["relevance"])?;
        }
        for risk in items(&sent, "riskFactors") {
            check_share(&risk["probability"])?;
            check_share(&risk["impact"])?;
        }
        for alternative in items(&sent, "alternatives") {
            check_confidence(&alternative["confidence"])?;
        }
        for alignment in items(&sent, "preferenceAlignment") {
            check_alignment(alignment)?;
        }
        check_impact(&sent["estimatedImpact"])?;
    }

    #[test]
    fn every_action_is_a_tool_that_exists(hints in build::hints()) {
        let sent = wire(&hints);
        let exists = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            [
                tools::ReviewCard::NAME,
                tools::ReviewNextCard::NAME,
                tools::AdjustDifficulty::NAME,
            ]
            .contains(&name)
                || build::DYNAMIC.contains(&name)
        };
        for suggestion in items(&sent, "suggestedNextActions") {
            prop_assert!(exists(&suggestion["action"]));
            prop_assert!(items(suggestion, "prerequisites").iter().all(exists));
        }
        for dependency in items(&sent, "dependencies") {
            prop_assert!(exists(&dependency["action"]));
            let names = items(dependency, "dependsOn");
            prop_assert!(!names.is_empty() && names.iter().all(exists));
        }
        for alignment in items(&sent, "preferenceAlignment") {
            prop_assert!(exists(&alignment["action"]));
        }
    }

    #[test]
    fn the_reasoning_explains_confidence_and_roi(hints in build::hints()) {
        let sent = wire(&hints);
        let reasoning = sent["reasoning"].as_str().unwrap_or_default();
        prop_assert!(reasoning.contains(hints.confidence().explanation()));
        let confidence = format!("confidence {}: ", hints.confidence().value());
        prop_assert!(hints.confidence().explanation().starts_with(&confidence));
        let roi = format!("roi {}: ", number(&sent["estimatedImpact"]["roi"]));
        prop_assert!(reasoning.contains(&roi), "{reasoning}");
    }

    #[test]
    fn merging_is_never_surer_than_either(one in build::hints(), two in build::hints()) {
        let actions = |hints: &AgentHints| -> std::collections::BTreeSet<String> {
            hints.suggestions().iter().map(|one| one.action().to_owned()).collect()
        };
        let (merged, reverse) = (one.clone().merge(two.clone()), two.clone().merge(one.clone()));
        let least = one.confidence().value().min(two.confidence().value());
        for merged in [&merged, &reverse] {
            prop_assert!((merged.confidence().value() - least).abs() < 1e-12);
            let place = |hints: &AgentHints, key, order: &[&str]| {
                order.iter().position(|word| wire(hints)[key] == **word)
            };
            let validity = |hints| {
                place(hints, "validityPeriod", &["immediate", "short", "medium", "long", "indefinite"])
            };
            prop_assert_eq!(validity(merged), validity(&one).min(validity(&two)));
            let quality =
                |hints| place(hints, "sourceQuality", &["high", "medium", "low", "unknown"]);
            prop_assert_eq!(quality(merged), quality(&one).max(quality(&two)));
            prop_assert_eq!(actions(merged), &actions(&one) | &actions(&two));
        }
        // What is the same on both sides is told once.
        let (alone, twice) = (wire(&one), wire(&one.clone().merge(one)));
        for key in [
            "suggestedNextActions",
            "confidence",
            "contextNeeded",
            "assumptions",
            "warnings",
            "constraints",
        ] {
            prop_assert_eq!(alone.get(key), twice.get(key), "{}", key);
        }
    }

    #[test]
    fn confidence_moves_with_the_evidence(
        part in 0..1_000_u64,
        whole in 1..1_000_u64,
        weight in any::<u32>(),
        evidence in build::evidence(),
    ) {
        let with = |part| {
            evidence.clone().and(completeness(part, whole).weighing(weight)).confidence().value()
        };
        prop_assert!(with(part) <= with(part + 1));
        prop_assert!(with(0) < 1e-12);
        let alone = |part| {
            Evidence::new(SourceQuality::High, completeness(part, whole)).confidence().value()
        };
        if part < whole {
            prop_assert!(alone(part) < alone(part + 1));
        }
    }
}

/// The entries of a list, or none where it is left out.
fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The number; not a number, and so in no range, if there is none.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn check_share(value: &Value) -> Result<(), TestCaseError> {
    prop_assert!((0.0..=1.0).contains(&number(value)), "{}", value);
    Ok(())
}

/// A confidence is a share in thousandths.
fn check_confidence(value: &Value) -> Result<(), TestCaseError> {
    check_share(value)?;
    let thousandths = number(value) * 1000.0;
    prop_assert!(
        (thousandths - thousandths.round()).abs() < 1e-9,
        "{}",
        value
    );
    Ok(())
}

/// The ratio is what anybody calculates from the two numbers beside it.
fn check_impact(impact: &Value) -> Result<(), TestCaseError> {
    check_share(&impact["benefit"])?;
    check_share(&impact["effort"])?;
    let exact = number(&impact["benefit"]) / number(&impact["effort"]).max(0.01);
    let roi = number(&impact["roi"]);
    prop_assert!((roi - exact).abs() <= 0.005 + 1e-9, "{}", impact);
    prop_assert!(
        (roi * 100.0 - (roi * 100.0).round()).abs() < 1e-9,
        "{}",
        impact
    );
    Ok(())
}

fn check_alignment(alignment: &Value) -> Result<(), TestCaseError> {
    let score = number(&alignment["score"]);
    prop_assert!((-1.0..=1.0).contains(&score), "{}", alignment);
    let fits = match alignment["alignment"].as_str() {
        Some("strong") => score >= 0.7,
        Some("moderate") => (0.4..0.7).contains(&score),
        Some("weak") => (0.1..0.4).contains(&score),
        Some("neutral") => score.abs() < 0.1,
        Some("conflict") => score <= -0.1,
        _ => false,
    };
    prop_assert!(fits, "{}", alignment);
    Ok(())
}
