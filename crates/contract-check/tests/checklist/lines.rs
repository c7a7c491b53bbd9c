//! The 29 lines of the verification checklist.

use mcpproxy_contract::prelude::*;
use mcpproxy_contract::{CategoryName, Rule};
use mcpproxy_contract_check::{self as check, testing};
use serde_json::Value;

use crate::sample::*;
use crate::support::*;

#[test]
fn line_01_tool_has_a_unique_name_in_kebab_case() {
    let mut registry = Registry::new("cards", Version::new(1, 0, 0));
    let tool = || GetCard {
        runs: Runs::default(),
        work: fine,
    };
    registry.register(tool()).unwrap();
    let twice = registry.register(tool()).unwrap_err();
    assert_eq!(twice.iter().next().unwrap().rule, Rule::NameUnique);
    tool!(Camel, "getCard", Query, None, true);
    let camel = registry
        .register(Camel {
            runs: Runs::default(),
            work: fine,
        })
        .unwrap_err();
    assert_eq!(camel.iter().next().unwrap().rule, Rule::NameForm);
}

#[test]
fn line_02_description_is_clear_and_complete() {
    assert_eq!(
        broken_by(|tool| {
            let short = json!("Use when x, returns y, example z.");
            tool["description"] = short.clone();
            tool["_meta"]["dev.mcpproxy/definition"]["description"] = short;
        }),
        [Rule::DescriptionLength]
    );
}

#[tokio::test]
async fn line_03_all_parameters_are_validated() {
    let service = service();
    for tool in service.registry().get_all() {
        let name = &tool.definition().name;
        for wrong in [
            json!({}),
            json!({ "cardId": "x" }),
            json!({ "cardId": "card_1", "more": 1 }),
        ] {
            assert_eq!(
                code(&service.call(name, wrong, &agent()).await),
                "INVALID_ARGUMENTS"
            );
        }
    }
}

#[test]
fn line_04_permissions_are_defined() {
    assert!(
        definitions()
            .iter()
            .all(|one| one["permissions"].is_array())
    );
    assert_eq!(
        broken_definition("permissions", &Value::Null),
        [Rule::PermissionForm]
    );
}

/// Refused by a type: `refused/tool_without_a_category.rs`, `refused/category_of_ones_own.rs`.
#[test]
fn line_05_category_is_specified() {
    let categories: Vec<Value> = definitions()
        .iter()
        .map(|one| one["category"].clone())
        .collect();
    assert_eq!(
        categories,
        ["query", "analysis", "generation", "mutation", "mutation"]
    );
    assert_eq!(
        service()
            .registry()
            .get_by_category(CategoryName::Mutation)
            .count(),
        2
    );
    assert_eq!(
        broken_definition("category", &Value::Null),
        [Rule::CategoryKnown]
    );
}

/// Refused by a type: `refused/definition_that_is_incomplete.rs`.
#[test]
fn line_06_response_time_is_specified() {
    assert!(
        definitions()
            .iter()
            .all(|one| one["responseTime"] == "fast")
    );
    assert_eq!(
        broken_definition("responseTime", &Value::Null),
        [Rule::ResponseTimeKnown]
    );
}

/// Refused by a type: `refused/cached_mutation.rs`.
#[test]
fn line_07_cacheable_is_set_correctly() {
    let cacheable: Vec<Value> = definitions()
        .iter()
        .map(|one| one["cacheable"].clone())
        .collect();
    assert_eq!(cacheable, [true, false, false, false, false]);
    assert_eq!(
        broken_definition("cacheable", &Value::Null),
        [Rule::CacheableFits]
    );
}

/// Refused by a type: `refused/cache_ttl_of_zero.rs`.
#[test]
fn line_08_cache_ttl_is_set_if_cacheable() {
    assert_eq!(definitions()[0]["cacheTTL"], 60);
    assert!(definitions()[1].get("cacheTTL").is_none());
    assert_eq!(broken_definition("cacheTTL", &json!(0)), [Rule::CacheTtl]);
}

#[test]
fn line_09_idempotent_is_set_correctly() {
    let idempotent: Vec<Value> = definitions()
        .iter()
        .map(|one| one["idempotent"].clone())
        .collect();
    assert_eq!(idempotent, [true, true, false, false, true]);
    tool!(Unsteady, "read-card", Query, None, false);
    let registry = Registry::new("cards", Version::new(1, 0, 0));
    let found = registry
        .validate(Unsteady {
            runs: Runs::default(),
            work: fine,
        })
        .unwrap_err();
    assert_eq!(found.iter().next().unwrap().rule, Rule::IdempotentFits);
}

#[test]
fn line_10_at_least_one_example_is_provided() {
    assert_eq!(
        broken_definition("examples", &json!([])),
        [Rule::ExampleHolds]
    );
}

#[test]
fn line_11_at_least_one_tag_is_provided() {
    assert_eq!(broken_definition("tags", &json!([])), [Rule::TagPresent]);
    assert_eq!(service().registry().get_by_tag("cards").count(), 5);
}

/// Refused by a type: `refused/data_instead_of_an_output.rs`, `refused/result_made_by_hand.rs`.
#[tokio::test]
async fn line_12_handler_returns_the_tool_result_structure() {
    for result in results().await {
        assert_eq!(check::result(&result), [], "{result:#}");
        assert!(result.get("data").is_some() != result.get("error").is_some());
    }
}

/// Refused by a type: `refused/output_without_hints.rs`.
#[tokio::test]
async fn line_13_agent_hints_are_always_included() {
    for hints in all_hints().await {
        for key in schema()["required"].as_array().unwrap() {
            assert!(
                hints.get(key.as_str().unwrap()).is_some(),
                "{key} in {hints:#}"
            );
        }
    }
}

/// Refused by a type: `refused/confidence_as_a_number.rs`, `refused/confidence_made_by_hand.rs`,
/// `refused/confidence_of_a_suggestion_as_a_number.rs`.
#[test]
fn line_14_confidence_is_calculated() {
    let of = |found, wanted| {
        let evidence = Evidence::new(SourceQuality::High, completeness(found, wanted));
        evidence.confidence().value()
    };
    assert!(of(1, 4) < of(2, 4) && of(2, 4) < of(4, 4));
}

#[tokio::test]
async fn line_15_source_quality_is_specified() {
    for hints in all_hints().await {
        let word = hints["sourceQuality"].as_str().unwrap();
        assert!(["high", "medium", "low", "unknown"].contains(&word));
    }
}

#[tokio::test]
async fn line_16_validity_period_is_specified() {
    for hints in all_hints().await {
        let word = hints["validityPeriod"].as_str().unwrap();
        assert!(["immediate", "short", "medium", "long", "indefinite"].contains(&word));
    }
}

#[tokio::test]
async fn line_17_context_needed_is_a_list() {
    assert!(
        all_hints()
            .await
            .iter()
            .all(|hints| hints["contextNeeded"].is_array())
    );
}

#[tokio::test]
async fn line_18_assumptions_are_a_list() {
    assert!(
        all_hints()
            .await
            .iter()
            .all(|hints| hints["assumptions"].is_array())
    );
}

#[tokio::test]
async fn line_19_risk_factors_are_a_list() {
    assert!(
        all_hints()
            .await
            .iter()
            .all(|hints| hints["riskFactors"].is_array())
    );
}

#[tokio::test]
async fn line_20_dependencies_are_a_list() {
    assert!(
        all_hints()
            .await
            .iter()
            .all(|hints| hints["dependencies"].is_array())
    );
}

#[tokio::test]
async fn line_21_estimated_impact_has_benefit_effort_and_roi() {
    for hints in all_hints().await {
        let impact = &hints["estimatedImpact"];
        let number = |name: &str| impact[name].as_f64().unwrap();
        let expected = number("benefit") / number("effort").max(0.01);
        assert!((number("roi") - expected).abs() <= 0.005, "{impact}");
    }
}

#[tokio::test]
async fn line_22_preference_alignment_is_a_list() {
    assert!(
        all_hints()
            .await
            .iter()
            .all(|hints| hints["preferenceAlignment"].is_array())
    );
}

#[tokio::test]
async fn line_23_reasoning_is_included() {
    for hints in all_hints().await {
        let reasoning = hints["reasoning"].as_str().unwrap();
        assert!(
            reasoning.contains("onfidence") && reasoning.contains("roi"),
            "{reasoning}"
        );
    }
}

#[tokio::test]
async fn line_24_all_metadata_fields_are_populated() {
    for result in results().await {
        let metadata = &result["metadata"];
        for key in [
            "toolVersion",
            "timestamp",
            "executionTime",
            "serviceVersion",
            "traceId",
            "correlationId",
            "cached",
        ] {
            assert!(!metadata[key].is_null(), "{key} in {metadata}");
        }
    }
}

#[tokio::test]
async fn line_25_error_handling_is_implemented() {
    let work: Work = |run| match run {
        1 => Err(ToolError::not_found(
            "card",
            "card_1",
            "search-cards lists those that exist",
        )),
        2 => Err(ToolError::unavailable("The database", "no route")),
        _ => panic!("a bug"),
    };
    let service = service_of(SaveCard {
        runs: Runs::default(),
        work,
    });
    let mut told = Vec::new();
    for _ in 0..3 {
        let result = call(&service, "save-card").await;
        assert_eq!(check::result(&result.to_json()), []);
        told.push(code(&result).to_owned());
    }
    assert_eq!(told, ["NOT_FOUND", "UNAVAILABLE", "INTERNAL"]);
}

#[tokio::test]
async fn line_26_logging_is_added() {
    let work: Work = |run| match run {
        1 => Ok(()),
        _ => Err(ToolError::internal("the disk is on fire")),
    };
    let runs = Runs::default();
    let agent = logged_agent();
    let service = service_of(SaveCard { runs, work });
    for _ in 0..2 {
        let arguments = json!({ "cardId": "card_1" });
        service.call("save-card", arguments, &agent).await;
    }
    // Only lines that carry the trace id are looked at, so these show that all of them do.
    let lines = logged(&agent);
    let expected = [
        "tool call started params={\"cardId\":\"card_1\"}",
        "tool call ended",
        "object of 2 fields (front, run)",
        "tool call failed",
        "the disk is on fire",
    ];
    for text in expected {
        assert!(lines.contains(text), "{text} in {lines}");
    }
}

#[tokio::test]
async fn err_2_validation_errors_are_logged_with_their_violations_and_without_what_was_sent() {
    let agent = logged_agent();
    let service = service_of(Weighed);
    let wrong = [
        json!({ "text": "open sesame" }),
        json!({ "text": 12345 }),
        json!({ "txt": "open sesame" }),
    ];
    for arguments in wrong {
        service.call("weigh-text", arguments, &agent).await;
    }
    let lines = logged(&agent);
    let refused: Vec<&str> = lines
        .lines()
        .filter(|line| line.contains("tool call refused"))
        .collect();
    assert_eq!(refused.len(), 3, "{lines}");
    for (line, told) in refused.iter().zip([
        r#""path":"/text""#,
        "is not of the type that the tool takes",
        "unknown parameter, did you mean 'text'?",
    ]) {
        assert!(line.contains("INVALID_ARGUMENTS"), "{line}");
        assert!(line.contains(told), "{told} in {line}");
        assert!(
            !line.contains("sesame") && !line.contains("12345"),
            "{line}"
        );
    }
    service.call("weigh-txt", json!({}), &agent).await;
    let lines = logged(&agent);
    assert!(lines.contains("UNKNOWN_TOOL"), "{lines}");
}

/// A process reads this variable once, so the test runs itself again in one that asks for no stacks.
#[tokio::test]
async fn obs_3_errors_are_logged_with_their_stack_whatever_the_environment_says() {
    fn deep_inside(run: u32) -> Result<(), ToolError> {
        match run {
            1 => Err(ToolError::internal("the disk is on fire")),
            _ => panic!("a bug"),
        }
    }
    const VARIABLE: &str = "RUST_BACKTRACE";
    if std::env::var(VARIABLE).as_deref() != Ok("0") {
        let name = "lines::obs_3_errors_are_logged_with_their_stack_whatever_the_environment_says";
        let ran = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(VARIABLE, "0")
            .env_remove("RUST_LIB_BACKTRACE")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&ran.stdout);
        assert!(told.contains("1 passed"), "{told}");
        return;
    }
    let agent = logged_agent();
    let service = service_of(SaveCard {
        runs: Runs::default(),
        work: deep_inside,
    });
    for _ in 0..2 {
        let arguments = json!({ "cardId": "card_1" });
        let result = service.call("save-card", arguments, &agent).await;
        let told = result.to_json().to_string();
        assert!(!told.contains("deep_inside"), "{told}");
    }
    let lines = logged(&agent);
    let failed = |cause: &str| {
        let mut lines = lines.lines();
        lines.find(|line| line.contains(cause)).unwrap_or_default()
    };
    for cause in ["the disk is on fire", "the tool panicked: a bug"] {
        let line = failed(cause);
        assert!(line.contains("deep_inside"), "{cause}: {lines}");
    }
}

#[tokio::test]
async fn line_27_metrics_are_emitted() {
    let service = service();
    call(&service, "get-card").await;
    call(&service, "get-card").await;
    service.call("get-card", json!({}), &agent()).await;
    let metrics = service.metrics();
    for counted in [
        r#"mcp_tool_executions_total{tool="get-card"} 3"#,
        r#"mcp_tool_execution_seconds_count{tool="get-card"} 3"#,
        r#"mcp_tool_cache_hits_total{tool="get-card"} 1"#,
        r#"mcp_tool_cache_misses_total{tool="get-card"} 1"#,
        r#"mcp_tool_errors_total{tool="get-card",category="validation"} 1"#,
    ] {
        assert!(metrics.contains(counted), "{counted} in {metrics}");
    }
}

#[tokio::test]
async fn line_28_tests_are_written() {
    testing::conforms(&service(), async || String::new())
        .await
        .unwrap();
    testing::examples_hold(async || service()).await.unwrap();
}

#[test]
fn line_29_tool_is_registered_in_the_registry() {
    let service = service();
    let registry = service.registry();
    assert_eq!(registry.get_all().count(), 5);
    assert_eq!(
        registry.get("get-card").unwrap().definition().name,
        "get-card"
    );
    assert!(registry.get("get-nothing").is_none());
}
