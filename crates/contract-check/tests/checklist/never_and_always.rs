//! What must never and what must always be.

use mcpproxy_contract::prelude::*;
use mcpproxy_contract::{Grants, Rule};
use mcpproxy_contract_check::{self as check, testing};

use crate::sample::*;
use crate::support::*;

// === Must never ===

/// Refused by a type: `refused/data_that_is_nothing.rs`, `refused/data_that_may_be_null.rs`. What
/// hides null behind a type of its own is refused by its schema, or else after the call.
#[tokio::test]
async fn never_return_null_as_data() {
    let registry = Registry::new("cards", Version::new(1, 0, 0));
    let found = registry.validate(null::Admitted).unwrap_err();
    assert!(
        found.iter().any(|one| one.rule == Rule::DataNotNull),
        "{found}"
    );
    let service = service_of(null::Hidden);
    let result = call(&service, "hide-null").await;
    assert_eq!(code(&result), "INTERNAL");
    let metrics = service.metrics();
    let counted = r#"mcp_tool_contract_violations_total{tool="hide-null"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
}

/// Refused by a type: `refused/output_without_hints.rs`. Refusals have hints as well.
#[tokio::test]
async fn never_omit_agent_hints() {
    let service = service();
    let stranger = ToolContext::new("agent", "1", Grants::only::<[&str; 0]>([]));
    for result in [
        service.call("get-card", json!({}), &stranger).await,
        service.call("get-card", json!({}), &agent()).await,
        service.call("no-tool", json!({}), &agent()).await,
    ] {
        assert_eq!(check::result(&result.to_json()), []);
    }
}

/// Refused by a type: `refused/parameter_without_a_rule.rs`, `refused/parameters_without_checks.rs`.
#[tokio::test]
async fn never_skip_input_validation() {
    let runs = Runs::default();
    let service = service_of(GetCard {
        runs: runs.clone(),
        work: fine,
    });
    service
        .call("get-card", json!({ "cardId": "" }), &agent())
        .await;
    assert_eq!(runs.count(), 0);
}

#[tokio::test]
async fn never_ignore_permissions() {
    let runs = Runs::default();
    let service = service_of(GetCard {
        runs: runs.clone(),
        work: fine,
    });
    let stranger = ToolContext::new("agent", "1", Grants::only(["cards:other"]));
    let arguments = json!({ "cardId": "card_1" });
    // Not even what was kept for somebody who may.
    call(&service, "get-card").await;
    assert_eq!(
        code(&service.call("get-card", arguments, &stranger).await),
        "FORBIDDEN"
    );
    assert_eq!(runs.count(), 1);
}

#[tokio::test]
async fn never_throw_unhandled_errors() {
    let service = service_of(GetCard {
        runs: Runs::default(),
        work: |_| panic!("a bug"),
    });
    assert_eq!(code(&call(&service, "get-card").await), "INTERNAL");
}

/// Refused by a type: `refused/parameters_changed.rs`. So a call that is repeated sees what the first
/// one saw.
#[tokio::test]
async fn never_mutate_input_parameters() {
    let seen = Seen::default();
    let service = service_of(Witness(seen.clone()));
    let result = call(&service, "see-card").await;
    assert!(result.error().is_none(), "{:?}", result.error());
    assert_eq!(*seen.lock().unwrap(), ["card_1", "card_1"]);
}

#[tokio::test]
async fn never_have_side_effects_in_query_operations() {
    let runs = Runs::default();
    let service = service_of(GetCard {
        runs: runs.clone(),
        work: fine,
    });
    // The count of runs stands for a state that a query must not change.
    let found = testing::queries_are_pure(&service, async || runs.count().to_string()).await;
    assert!(found.unwrap_err().to_string().contains("get-card"));
    testing::queries_are_pure(&service, async || "the same".to_owned())
        .await
        .unwrap();
}

#[tokio::test]
async fn never_have_side_effects_holds_for_what_only_a_second_call_changes_or_changes_back() {
    // As functions of the number of calls: what the second one changes, and what it changes back.
    for state in [|runs: u32| runs / 2, |runs: u32| runs % 2] {
        let runs = Runs::default();
        let service = service_of(GetCard {
            runs: runs.clone(),
            work: fine,
        });
        let found =
            testing::queries_are_pure(&service, async || state(runs.count()).to_string()).await;
        assert!(found.unwrap_err().to_string().contains("get-card"));
        assert_eq!(runs.count(), 2, "the one example, twice");
    }
}

/// Refused by a type: `refused/cached_mutation.rs`.
#[tokio::test]
async fn never_cache_mutation_operations() {
    let runs = Runs::default();
    let service = service_of(SetCard {
        runs: runs.clone(),
        work: fine,
    });
    for _ in 0..2 {
        assert!(!call(&service, "set-card").await.metadata().cached);
    }
    assert_eq!(runs.count(), 2);
}

// === Must always ===

#[tokio::test]
async fn always_return_the_tool_result_structure() {
    for result in results().await {
        let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
        assert!(
            keys == ["data", "agentHints", "metadata"]
                || keys == ["error", "agentHints", "metadata"],
            "{keys:?}"
        );
    }
}

#[tokio::test]
async fn always_include_agent_hints_with_all_required_fields() {
    let schema = mcpproxy_contract::agent_hints::schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for hints in all_hints().await {
        assert!(validator.is_valid(&hints), "{hints:#}");
    }
}

/// What the published schema refuses is refused by the call, of every tool, and what it admits is not.
#[tokio::test]
async fn always_validate_inputs_with_the_schema_that_is_published() {
    let service = service();
    for tool in published() {
        let schema = jsonschema::validator_for(&tool["inputSchema"]).unwrap();
        let name = tool["name"].as_str().unwrap();
        for (arguments, is_right) in [
            (json!({ "cardId": "card_1" }), true),
            (json!({}), false),
            (json!({ "cardId": 7 }), false),
            (json!({ "cardId": "deck_1" }), false),
            (json!({ "cardId": "card_1", "more": 1 }), false),
            (json!([]), false),
        ] {
            assert_eq!(schema.is_valid(&arguments), is_right, "{name} {arguments}");
            let result = service.call(name, arguments.clone(), &agent()).await;
            let refused = result.error().map(|error| error.code);
            let expected = (!is_right).then_some("INVALID_ARGUMENTS");
            assert_eq!(refused, expected, "{name} {arguments}");
        }
    }
}

#[tokio::test]
async fn always_check_permissions_before_execution() {
    let service = service();
    let stranger = ToolContext::new("agent", "1", Grants::only::<[&str; 0]>([]));
    for tool in service.registry().get_all() {
        let name = &tool.definition().name;
        let result = service
            .call(name, json!({ "cardId": "card_1" }), &stranger)
            .await;
        assert_eq!(code(&result), "FORBIDDEN");
    }
}

#[tokio::test]
async fn always_log_execution() {
    let agent = logged_agent();
    let service = service();
    for tool in service.registry().get_all() {
        let arguments = json!({ "cardId": "card_1" });
        let name = &tool.definition().name;
        service.call(name, arguments, &agent).await;
    }
    let lines = logged(&agent);
    assert_eq!(lines.matches("tool call started").count(), 5, "{lines}");
    assert_eq!(lines.matches("tool call ended").count(), 5, "{lines}");
}

#[tokio::test]
async fn always_handle_errors_gracefully() {
    for (made, category) in [
        (
            ToolError::invalid_parameter("/cardId", "is spent"),
            "validation",
        ),
        (ToolError::conflict("The card is being edited"), "business"),
        (
            ToolError::from(std::io::Error::other("/etc/secret")),
            "system",
        ),
    ] {
        let error = serde_json::to_value(made.published()).unwrap();
        assert_eq!(error["category"], category);
        assert!(!error.to_string().contains("/etc/secret"));
    }
}

#[tokio::test]
async fn always_calculate_the_confidence_score() {
    testing::confidence_moves(
        &service_of(Weighed),
        "weigh-text",
        json!({ "text": "a" }),
        json!({ "text": "abcd" }),
    )
    .await
    .unwrap();
    let arguments = json!({ "text": "ab" });
    let same = testing::confidence_moves(
        &service_of(Weighed),
        "weigh-text",
        arguments.clone(),
        arguments,
    )
    .await;
    assert!(same.unwrap_err().to_string().contains("it must rise"));
}

#[test]
fn always_provide_at_least_one_example() {
    assert!(
        definitions()
            .iter()
            .all(|one| !one["examples"].as_array().unwrap().is_empty())
    );
}

/// The parameters of each run.
type Seen = std::sync::Arc<std::sync::Mutex<Vec<String>>>;

/// Notes its parameters, and fails the first time for a reason that passes.
struct Witness(Seen);

impl Tool for Witness {
    const NAME: &'static str = "see-card";
    type Category = Query;
    type Params = CardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        definition(None, true)
    }

    async fn call(
        &self,
        params: &CardParams,
        _: &ToolContext,
    ) -> Result<ToolOutput<Card>, ToolError> {
        let mut seen = self.0.lock().unwrap();
        seen.push(params.card_id.to_string());
        if seen.len() == 1 {
            return Err(ToolError::unavailable("The database", "no route"));
        }
        Ok(answer(2))
    }
}
