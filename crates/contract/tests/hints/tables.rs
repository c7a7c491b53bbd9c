//! What numbers and words come out for what goes in.

use std::time::Duration;

use mcpproxy_contract::prelude::*;
use serde_json::Value;

use super::tools::{AdjustDifficulty, ReviewCard, ReviewNextCard};
use super::{number, wire};

const HOUR: Duration = Duration::from_hours(1);

/// The confidence that these factors give from an authoritative source.
fn confidence(factors: Vec<Factor>) -> f64 {
    from(SourceQuality::High, factors).value()
}

fn from(source_quality: SourceQuality, factors: Vec<Factor>) -> Confidence {
    let mut factors = factors.into_iter();
    let first = factors.next().expect("there is at least one factor");
    factors
        .fold(Evidence::new(source_quality, first), Evidence::and)
        .confidence()
}

#[track_caller]
fn check_number(got: f64, expected: f64) {
    assert!(
        (got - expected).abs() < 1e-12,
        "got {got}, expected {expected}"
    );
}

#[test]
fn confidence_is_the_weighted_geometric_mean_of_the_factors() {
    let cases: Vec<(Vec<Factor>, f64)> = vec![
        (vec![completeness(4, 5)], 0.8),
        (vec![completeness(1, 3)], 0.333),
        (vec![completeness(2, 3)], 0.667),
        // Equal weights: the square root of 0.25.
        (vec![completeness(1, 4), agreement(5, 5)], 0.5),
        // Weights 3 and 2: the fifth root of 0.5³.
        (vec![completeness(1, 2), coverage(7, 7)], 0.66),
        // Weights 3 and 2 the other way round: the fifth root of 0.5².
        (vec![completeness(7, 7), matched(1, 2)], 0.758),
        // Weights 1 and 3: the fourth root of 0.5.
        (
            vec![
                completeness(1, 2).weighing(1),
                freshness(Duration::ZERO, HOUR).weighing(3),
            ],
            0.841,
        ),
        // The order makes no difference.
        (vec![coverage(7, 7), completeness(1, 2)], 0.66),
        // More than there should be is not more than all.
        (vec![completeness(9, 5)], 1.0),
        (vec![completeness(u64::MAX, u64::MAX)], 1.0),
        (vec![completeness(1, u64::MAX)], 0.0),
    ];
    for (factors, expected) in cases {
        check_number(confidence(factors), expected);
    }
}

#[test]
fn a_factor_that_is_zero_leaves_no_confidence() {
    check_number(confidence(vec![completeness(0, 5), agreement(5, 5)]), 0.0);
    check_number(
        confidence(vec![
            completeness(5, 5).weighing(u32::MAX),
            agreement(0, 5).weighing(1),
        ]),
        0.0,
    );
}

#[test]
fn of_nothing_at_all_everything_is_there_but_nobody_agrees() {
    check_number(confidence(vec![completeness(0, 0)]), 1.0);
    check_number(confidence(vec![coverage(0, 0)]), 1.0);
    check_number(confidence(vec![matched(0, 0)]), 1.0);
    check_number(confidence(vec![agreement(0, 0)]), 0.0);
    check_number(confidence(vec![agreement(3, 0)]), 0.0);
}

#[test]
fn a_weight_of_zero_counts_as_one() {
    check_number(confidence(vec![completeness(1, 2).weighing(0)]), 0.5);
    check_number(
        confidence(vec![
            completeness(1, 4).weighing(0),
            agreement(1, 1).weighing(1),
        ]),
        0.5,
    );
}

#[test]
fn data_is_worth_half_as_much_each_time_its_time_has_passed() {
    for (age, good_for, expected) in [
        (Duration::ZERO, HOUR, 1.0),
        (HOUR / 2, HOUR, 0.707),
        (HOUR, HOUR, 0.5),
        (2 * HOUR, HOUR, 0.25),
        (Duration::MAX, HOUR, 0.0),
        (HOUR, Duration::MAX, 1.0),
        (Duration::ZERO, Duration::ZERO, 1.0),
        (Duration::from_nanos(1), Duration::ZERO, 0.0),
        (Duration::MAX, Duration::from_nanos(1), 0.0),
    ] {
        check_number(confidence(vec![freshness(age, good_for)]), expected);
    }
}

#[test]
fn the_source_caps_the_confidence() {
    for (source_quality, whole, half) in [
        (SourceQuality::High, 1.0, 0.75),
        (SourceQuality::Medium, 0.85, 0.75),
        (SourceQuality::Low, 0.6, 0.6),
        (SourceQuality::Unknown, 0.5, 0.5),
    ] {
        check_number(
            from(source_quality, vec![completeness(8, 8)]).value(),
            whole,
        );
        check_number(from(source_quality, vec![completeness(6, 8)]).value(), half);
        check_number(from(source_quality, vec![completeness(2, 8)]).value(), 0.25);
    }
}

#[test]
fn a_confidence_explains_itself() {
    let factors = || vec![completeness(5, 6), freshness(HOUR / 10, HOUR)];
    assert_eq!(
        from(SourceQuality::High, factors()).explanation(),
        "confidence 0.872: completeness 0.83 (5 of 6, weight 3), freshness 0.93 (weight 2); \
         source quality high"
    );
    assert_eq!(
        from(SourceQuality::Low, factors()).explanation(),
        "confidence 0.6: completeness 0.83 (5 of 6, weight 3), freshness 0.93 (weight 2); \
         source quality low caps it at 0.6"
    );
}

#[test]
fn roi_is_benefit_over_effort_with_two_decimals() {
    for (benefit, effort, expected) in [
        (85, 20, 4.25),
        (100, 100, 1.0),
        (100, 30, 3.33),
        (20, 30, 0.67),
        (0, 50, 0.0),
        (0, 0, 0.0),
        // An effort below a hundredth counts as one.
        (85, 0, 85.0),
        (100, 0, 100.0),
        (100, 1, 100.0),
    ] {
        let roi = roi(Share::percent(benefit), Share::percent(effort));
        check_number(roi, expected);
    }
    check_number(roi(Share::ALL, Share::of(2, 1_000)), 100.0);
}

/// The ratio of a benefit and an effort that the author states.
fn roi(benefit: Share, effort: Share) -> f64 {
    number(&wire(&plain().impact(benefit, effort, &[]))["estimatedImpact"]["roi"])
}

fn plain() -> AgentHints {
    let evidence = Evidence::new(SourceQuality::High, completeness(4, 5));
    AgentHints::new(&evidence, ValidityPeriod::Short)
}

#[test]
fn the_word_of_an_alignment_follows_from_its_score() {
    for (score, expected) in [
        (1.0, "strong"),
        (0.7, "strong"),
        (0.699, "moderate"),
        (0.4, "moderate"),
        (0.399, "weak"),
        (0.1, "weak"),
        (0.099, "neutral"),
        (0.0, "neutral"),
        (-0.099, "neutral"),
        (-0.1, "conflict"),
        (-1.0, "conflict"),
        (f64::NAN, "neutral"),
        (f64::INFINITY, "strong"),
        (f64::NEG_INFINITY, "conflict"),
    ] {
        let hints = wire(&plain().aligns::<ReviewCard>("any", score, None));
        let alignment = &hints["preferenceAlignment"][0];
        assert_eq!(alignment["alignment"], expected, "{score}");
    }
}

#[test]
fn shares_and_scores_stay_in_their_range() {
    for (given, expected) in [
        (0.3, 0.3),
        (-0.3, -0.3),
        (7.0, 1.0),
        (-7.0, -1.0),
        (f64::NAN, 0.0),
        (f64::INFINITY, 1.0),
        (f64::NEG_INFINITY, -1.0),
        (0.123_456, 0.123),
        (f64::MIN_POSITIVE, 0.0),
        (-0.000_1, 0.0),
    ] {
        let hints = wire(&plain().aligns::<ReviewCard>("any", given, None));
        let score = number(&hints["preferenceAlignment"][0]["score"]);
        check_number(score, expected);
        assert_eq!(score.is_sign_negative(), expected < 0.0, "{given}");
    }
    check_number(Share::percent(255).into(), 1.0);
    check_number(Share::percent(33).into(), 0.33);
    check_number(Share::of(1, 3).into(), 0.333);
    check_number(Share::of(5, 3).into(), 1.0);
    check_number(Share::of(5, 0).into(), 0.0);
}

#[test]
fn an_impact_nobody_stated_is_estimated_from_the_suggestions() {
    let hints = plain();
    let minute = Duration::from_mins(1);
    let two = || {
        hints
            .clone()
            .suggest(Suggestion::to::<ReviewNextCard>().priority(Priority::High))
            .suggest(Suggestion::to::<AdjustDifficulty>().priority(Priority::Low))
    };
    let slow = two().suggest(Suggestion::to::<ReviewCard>().takes(minute));
    let many = (0..20).fold(two(), |hints, _| {
        hints.suggest(Suggestion::to::<ReviewCard>().takes(Duration::MAX))
    });
    for (hints, benefit, effort, roi) in [
        (hints.clone(), 0.0, 0.0, 0.0),
        (two(), 0.6, 0.2, 3.0),
        (slow, 0.6, 0.55, 1.09),
        (many, 0.6, 1.0, 0.6),
    ] {
        let impact = &wire(&hints)["estimatedImpact"];
        check_number(number(&impact["benefit"]), benefit);
        check_number(number(&impact["effort"]), effort);
        check_number(number(&impact["roi"]), roi);
    }
}

#[test]
fn the_reasoning_tells_the_reasons_then_confidence_then_roi() {
    let hints = plain()
        .because("The schedule says so")
        .because("  ")
        .because("The user agreed!");
    let confidence = "confidence 0.8: completeness 0.80 (4 of 5, weight 3); source quality high.";
    assert_eq!(
        hints.reasoning(),
        format!("The schedule says so. The user agreed! {confidence} roi 0: nothing is suggested.")
    );
    let suggested = hints.clone().suggest(
        Suggestion::to::<ReviewCard>()
            .priority(Priority::Critical)
            .takes(Duration::from_millis(250)),
    );
    assert!(
        suggested.reasoning().ends_with(
            "roi 7.84: benefit 0.8 (priority critical, confidence 0.8) / effort 0.102 \
             (suggested calls: 1, estimated ms: 250)."
        ),
        "{}",
        suggested.reasoning()
    );
    let stated = hints.impact(Share::percent(50), Share::percent(0), &[]);
    assert!(
        stated
            .reasoning()
            .ends_with("roi 50: benefit 0.5 / effort 0.01."),
        "{}",
        stated.reasoning()
    );
    assert_eq!(wire(&stated)["reasoning"], stated.reasoning());
}

#[test]
fn a_name_is_suggested_only_if_it_exists() {
    let names = ["github:list_issues", ""];
    let suggested = |name| Suggestion::if_exists(name, |name| names.contains(&name));
    let known = suggested("github:list_issues").unwrap();
    assert_eq!(known.action(), "github:list_issues");
    assert_eq!(suggested("github:delete_all"), None);
    assert_eq!(suggested(""), None);
}

#[test]
fn a_cost_is_never_below_zero_and_always_a_number() {
    for (given, expected) in [
        (1.5, 1.5),
        (-1.5, 0.0),
        (-0.0, 0.0),
        (f64::NAN, 0.0),
        (f64::INFINITY, f64::MAX),
        (f64::NEG_INFINITY, 0.0),
    ] {
        let suggestion = wire(&Suggestion::to::<ReviewCard>().costs(given));
        assert_eq!(suggestion["estimatedCost"], json!(expected), "{given}");
    }
}

#[test]
fn the_words_are_those_of_the_schema() {
    let schema = schema();
    for (pointer, expected) in [
        (
            "/properties/sourceQuality/enum",
            json!(["high", "medium", "low", "unknown"]),
        ),
        (
            "/properties/validityPeriod/enum",
            json!(["immediate", "short", "medium", "long", "indefinite"]),
        ),
        (
            "/$defs/Suggestion/properties/category/enum",
            json!(["exploration", "optimization", "correction", "learning"]),
        ),
        (
            "/$defs/RiskFactor/properties/type/enum",
            json!([
                "performance",
                "accuracy",
                "cost",
                "complexity",
                "user-experience"
            ]),
        ),
    ] {
        let words = schema.pointer(pointer).cloned().unwrap_or(Value::Null);
        assert_eq!(words, expected, "{pointer}");
    }
    let quickest = wire(&ValidityPeriod::Immediate.min(ValidityPeriod::Indefinite));
    assert_eq!(quickest, "immediate");
}
