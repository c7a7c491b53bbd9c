//! What the pipeline makes of handlers and rules that panic, fail inside or do not end.

mod sample;

use std::time::Duration;

use mcpproxy_contract::prelude::*;
use sample::*;

fn get_card(work: Work) -> (Service, Runs) {
    let runs = Runs::default();
    let tool = GetCard {
        runs: runs.clone(),
        work,
    };
    (service_of(tool), runs)
}

#[tokio::test]
async fn a_panic_costs_one_call_and_the_service_goes_on() {
    let (service, _) = get_card(|run| match run {
        1 => panic!("secret of the house"),
        _ => Ok(()),
    });
    let result = call(&service, "get-card").await;
    assert_eq!(code(&result), "INTERNAL");
    let error = result.error().unwrap();
    let incident = error.details["incident"].as_str().unwrap();
    assert!(error.message.contains(incident));
    assert!(
        !result.to_json().to_string().contains("secret"),
        "nothing internal leaks"
    );
    assert!(call(&service, "get-card").await.error().is_none());
}

#[tokio::test]
async fn the_cause_of_an_internal_error_stays_inside() {
    let (service, _) = get_card(|_| {
        Err(std::io::Error::other("/home/somebody/password"))?;
        Ok(())
    });
    let result = call(&service, "get-card").await;
    assert_eq!(code(&result), "INTERNAL");
    assert!(!result.to_json().to_string().contains("password"));
}

/// A tool that never ends.
macro_rules! endless {
    ($tool:ident, $name:literal, $category:ty, $cache:expr, $idempotent:expr) => {
        struct $tool;
        impl Tool for $tool {
            const NAME: &'static str = $name;
            type Category = $category;
            type Params = CardParams;
            type Output = Card;
            fn definition() -> Definition<Self> {
                definition($cache, $idempotent)
            }
            async fn call(
                &self,
                _: &CardParams,
                _: &ToolContext,
            ) -> Result<ToolOutput<Card>, ToolError> {
                std::future::pending().await
            }
        }
    };
}
endless!(ReadForever, "read-forever", Query, None, true);
endless!(
    WriteForever,
    "write-forever",
    Mutation<Writes>,
    Uncached,
    false
);
endless!(SetForever, "set-forever", Mutation<Writes>, Uncached, true);

#[tokio::test(start_paused = true)]
async fn a_timeout_of_a_mutation_is_an_unknown_outcome() {
    let read = call(&service_of(ReadForever), "read-forever").await;
    assert_eq!(code(&read), "TIMEOUT");
    assert!(read.error().unwrap().retryable);
    assert!(
        read.error()
            .unwrap()
            .details
            .get("may_have_taken_effect")
            .is_none()
    );
    let write = call(&service_of(WriteForever), "write-forever").await;
    assert_eq!(code(&write), "OUTCOME_UNKNOWN");
    let error = write.error().unwrap();
    assert!(!error.retryable);
    assert!(
        error
            .message
            .contains("may have taken effect, check before repeating it")
    );
    assert_eq!(error.details["may_have_taken_effect"], true);
    let set = call(&service_of(SetForever), "set-forever").await;
    assert!(set.error().unwrap().retryable, "it can be repeated safely");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_given_up_makes_kept_results_old_as_well() {
    let mut registry = Registry::new("cards", Version::new(1, 0, 0));
    let runs = Runs::default();
    let read = GetCard {
        runs: runs.clone(),
        work: fine,
    };
    registry.register(read).unwrap();
    registry.register(WriteForever).unwrap();
    let service = registry.into_service().unwrap();
    call(&service, "get-card").await;
    let given_up = call(&service, "write-forever");
    let a_moment = Duration::from_millis(10);
    assert!(tokio::time::timeout(a_moment, given_up).await.is_err());
    assert!(!call(&service, "get-card").await.metadata().cached);
    let metrics = service.metrics();
    let abandoned = r#"mcp_tool_abandoned_total{tool="write-forever"} 1"#;
    assert!(metrics.contains(abandoned), "{metrics}");
    let ended = r#"mcp_tool_executions_total{tool="write-forever"} 0"#;
    assert!(metrics.contains(ended), "{metrics}");
}

mod panicking_rule {
    use super::*;

    #[derive(Serialize, Deserialize, JsonSchema, Validate)]
    pub(crate) struct Text {
        /// The text.
        #[garde(custom(with_a_bug), length(chars, max = 5))]
        text: String,
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the form garde asks for")]
    fn with_a_bug(text: &str, _: &()) -> garde::Result {
        match text {
            "boom" => panic!("a rule with a bug"),
            "bad" => Err(garde::Error::new("is bad")),
            _ => Ok(()),
        }
    }

    pub(crate) struct CheckText;

    impl Tool for CheckText {
        const NAME: &'static str = "check-text";
        type Category = Query;
        type Params = Text;
        type Output = Card;
        fn definition() -> Definition<Self> {
            let mut definition = definition::<Self>(None, true);
            definition.examples[0].params = json!({ "text": "fine" });
            definition
        }
        async fn call(&self, _: &Text, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
            Ok(answer(1))
        }
    }
}

#[tokio::test]
async fn a_rule_that_panics_costs_one_call() {
    let service = service_of(panicking_rule::CheckText);
    let boom = json!({ "text": "boom" });
    let result = service.call("check-text", boom, &agent()).await;
    assert_eq!(code(&result), "INTERNAL");
    let bad = json!({ "text": "bad" });
    let result = service.call("check-text", bad, &agent()).await;
    assert_eq!(code(&result), "INVALID_ARGUMENTS");
    let fine = json!({ "text": "fine" });
    let result = service.call("check-text", fine, &agent()).await;
    assert!(result.error().is_none());
}
