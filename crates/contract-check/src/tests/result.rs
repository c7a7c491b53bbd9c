use serde_json::{Value, json};

use super::{expect_rule, good_result, with};
use crate::result;
use mcpproxy_contract::Rule;

#[test]
fn a_good_result_has_nothing_wrong_with_it() {
    assert_eq!(result(&good_result()), []);
    let mut failed = with(good_result(), "/data", None);
    failed["error"] = json!({ "code": "NOT_FOUND", "message": "There is no card", "category": "business", "retryable": false, "details": {} });
    assert_eq!(result(&failed), []);
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is one table")]
fn every_rule_of_a_result_is_checked() {
    let wrong = json!("wrong");
    let hints: Vec<(&str, Option<Value>, Rule, &str)> = vec![
        ("/data", Some(Value::Null), Rule::DataNotNull, "null"),
        ("/data", None, Rule::ResultStructure, "neither"),
        (
            "/error",
            Some(json!({})),
            Rule::ResultStructure,
            "exactly one",
        ),
        ("/agentHints", None, Rule::HintsPresent, "no agentHints"),
        (
            "/agentHints",
            Some(json!([])),
            Rule::HintsPresent,
            "no agentHints",
        ),
        (
            "/agentHints/suggestedNextActions",
            None,
            Rule::HintsForm,
            "suggestedNextActions",
        ),
        (
            "/agentHints/suggestedNextActions/0/priority",
            Some(json!("urgent")),
            Rule::HintsForm,
            "priority",
        ),
        (
            "/agentHints/suggestedNextActions/0/confidence",
            Some(json!(2)),
            Rule::HintsForm,
            "confidence",
        ),
        (
            "/agentHints/relatedResources/0/relevance",
            Some(json!(1.5)),
            Rule::HintsForm,
            "relevance",
        ),
        (
            "/agentHints/relatedResources",
            None,
            Rule::HintsForm,
            "relatedResources",
        ),
        (
            "/agentHints/warnings",
            Some(json!([{}])),
            Rule::HintsForm,
            "warnings",
        ),
        (
            "/agentHints/confidence",
            None,
            Rule::HintsConfidence,
            "'confidence' is missing",
        ),
        (
            "/agentHints/confidence",
            Some(json!(1.01)),
            Rule::HintsConfidence,
            "agentHints/confidence",
        ),
        (
            "/agentHints/confidence",
            Some(json!(-0.1)),
            Rule::HintsConfidence,
            "confidence",
        ),
        (
            "/agentHints/confidence",
            Some(json!("high")),
            Rule::HintsConfidence,
            "confidence",
        ),
        (
            "/agentHints/sourceQuality",
            None,
            Rule::HintsSourceQuality,
            "sourceQuality",
        ),
        (
            "/agentHints/sourceQuality",
            Some(json!("good")),
            Rule::HintsSourceQuality,
            "sourceQuality",
        ),
        (
            "/agentHints/validityPeriod",
            Some(json!("5m")),
            Rule::HintsValidity,
            "validityPeriod",
        ),
        (
            "/agentHints/contextNeeded",
            None,
            Rule::HintsContext,
            "contextNeeded",
        ),
        (
            "/agentHints/assumptions",
            Some(json!([1])),
            Rule::HintsAssumptions,
            "assumptions",
        ),
        (
            "/agentHints/riskFactors/0/severity",
            None,
            Rule::HintsRisks,
            "'severity' is missing",
        ),
        (
            "/agentHints/riskFactors/0/probability",
            Some(json!(7)),
            Rule::HintsRisks,
            "probability",
        ),
        (
            "/agentHints/dependencies/0/dependsOn",
            None,
            Rule::HintsDependencies,
            "dependsOn",
        ),
        (
            "/agentHints/estimatedImpact/roi",
            None,
            Rule::HintsImpact,
            "'roi' is missing",
        ),
        (
            "/agentHints/estimatedImpact",
            None,
            Rule::HintsImpact,
            "estimatedImpact",
        ),
        (
            "/agentHints/preferenceAlignment/0/score",
            Some(json!(-2)),
            Rule::HintsAlignment,
            "score",
        ),
        (
            "/agentHints/reasoning",
            Some(json!(5)),
            Rule::HintsReasoning,
            "reasoning",
        ),
        ("/metadata", None, Rule::MetadataComplete, "no metadata"),
        (
            "/metadata/toolVersion",
            None,
            Rule::MetadataComplete,
            "toolVersion",
        ),
        (
            "/metadata/serviceVersion",
            Some(json!("v1")),
            Rule::MetadataComplete,
            "serviceVersion",
        ),
        (
            "/metadata/timestamp",
            Some(wrong.clone()),
            Rule::MetadataComplete,
            "timestamp",
        ),
        (
            "/metadata/timestamp",
            Some(json!("2026-01-31T12:00:00+02:00")),
            Rule::MetadataComplete,
            "UTC",
        ),
        (
            "/metadata/executionTime",
            Some(json!(-1)),
            Rule::MetadataComplete,
            "executionTime",
        ),
        (
            "/metadata/executionTime",
            Some(wrong),
            Rule::MetadataComplete,
            "executionTime",
        ),
        (
            "/metadata/traceId",
            Some(json!(1)),
            Rule::MetadataComplete,
            "traceId",
        ),
        (
            "/metadata/correlationId",
            Some(json!(1)),
            Rule::MetadataComplete,
            "correlationId",
        ),
        (
            "/metadata/cached",
            Some(json!("no")),
            Rule::MetadataComplete,
            "cached",
        ),
    ];
    for (place, value, rule, part) in hints {
        expect_rule(&result(&with(good_result(), place, value)), rule, part);
    }
}

#[test]
fn every_part_of_an_error_is_checked() {
    let good = json!({ "code": "NOT_FOUND", "message": "There is no card", "category": "business", "retryable": false });
    let mut failed = with(good_result(), "/data", None);
    failed["error"] = good;
    assert_eq!(result(&failed), []);
    for (key, value, part) in [
        ("code", None, "code"),
        ("code", Some(json!("not found")), "capitals"),
        ("message", Some(json!(" ")), "message"),
        ("category", Some(json!("other")), "category"),
        ("retryable", None, "retryable"),
        ("details", Some(json!([])), "details"),
    ] {
        let bad = with(failed.clone(), &format!("/error/{key}"), value);
        expect_rule(&result(&bad), Rule::ErrorForm, part);
    }
}

#[test]
fn whatever_a_tool_gives_back_gives_violations_and_no_panic() {
    for odd in [json!(null), json!(7), json!([]), json!("x")] {
        let rules: Vec<Rule> = result(&odd).iter().map(|one| one.rule).collect();
        assert_eq!(
            rules,
            [
                Rule::ResultStructure,
                Rule::HintsPresent,
                Rule::MetadataComplete
            ]
        );
    }
    assert_eq!(result(&json!({ "error": 7 })).len(), 6);
}

#[test]
fn long_and_private_values_are_not_repeated() {
    let secret = "s3cret".repeat(10_000);
    let bad = with(
        good_result(),
        "/agentHints/sourceQuality",
        Some(json!(secret)),
    );
    let found = result(&bad);
    assert!(
        found[0].message.chars().count() < 400,
        "{}",
        found[0].message
    );
    assert!(!found[0].message.contains("s3cret"), "{}", found[0].message);
}

#[test]
fn post_roi_any_ratio_of_a_foreign_service_passed() {
    let rules = |benefit: f64, effort: f64, roi: f64| {
        let impact = json!({ "benefit": benefit, "effort": effort, "roi": roi });
        let result = with(good_result(), "/agentHints/estimatedImpact", Some(impact));
        let found = crate::result(&result);
        found.into_iter().map(|one| one.rule).collect::<Vec<_>>()
    };
    for (benefit, effort, roi) in [
        (0.85, 0.2, 4.25),
        (0.5, 0.3, 1.67),
        (0.5, 0.3, 1.666_666),
        (0.5, 0.0, 50.0),
        (0.5, 0.005, 50.0),
        (0.5, 0.005, 100.0),
        (0.0, 0.0, 0.0),
    ] {
        assert_eq!(rules(benefit, effort, roi), [], "{benefit} {effort} {roi}");
    }
    for (benefit, effort, roi) in [
        (0.85, 0.2, 99.0),
        (0.85, 0.2, 4.3),
        (0.5, 0.0, 0.0),
        (0.0, 0.5, 1.0),
    ] {
        assert_eq!(
            rules(benefit, effort, roi),
            [Rule::HintsRoi],
            "{benefit} {effort} {roi}"
        );
    }
}
