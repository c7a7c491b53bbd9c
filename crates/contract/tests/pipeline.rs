//! The pipeline: what happens to a call, step by step, whatever the handler does.
mod sample;

use std::time::Duration;

use mcpproxy_contract::Grants;
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
async fn a_result_has_data_hints_and_metadata() {
    let (service, _) = get_card(fine);
    let context = agent()
        .traced("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        .correlated("0192f0c1-2345-7abc-8def-0123456789ab");
    let result = service
        .call("get-card", json!({ "cardId": "card_1" }), &context)
        .await
        .to_json();
    assert_eq!(result["data"], json!({ "front": "Question", "run": 1 }));
    assert!(result.get("error").is_none());
    assert_eq!(result["metadata"]["toolVersion"], "1.2.3");
    assert_eq!(result["metadata"]["serviceVersion"], "2.0.0");
    assert_eq!(
        result["metadata"]["traceId"],
        "0af7651916cd43dd8448eb211c80319c"
    );
    assert_eq!(
        result["metadata"]["correlationId"],
        "0192f0c1-2345-7abc-8def-0123456789ab"
    );
    assert_eq!(result["metadata"]["cached"], false);
    assert!(result["metadata"]["executionTime"].as_f64().unwrap() >= 0.0);
    let timestamp = result["metadata"]["timestamp"].as_str().unwrap();
    assert!(timestamp.ends_with('Z'), "{timestamp} is in UTC");
    assert_eq!(
        result["agentHints"]["metadata"]["generatedBy"],
        "cards/get-card"
    );
}

#[tokio::test]
async fn permissions_come_first_and_the_missing_one_is_named() {
    let (service, runs) = get_card(fine);
    let context = ToolContext::new("agent", "1", Grants::only(["cards:see"]));
    // The parameters are wrong as well, but whoever may not call learns nothing about them.
    let result = service
        .call("get-card", json!({ "wrong": 1 }), &context)
        .await;
    assert_eq!(code(&result), "FORBIDDEN");
    let error = result.error().unwrap();
    assert_eq!(
        error.message,
        "Tool 'get-card' needs the permission cards:use"
    );
    assert_eq!(error.details["missing_permissions"], json!(["cards:use"]));
    let allowed = ToolContext::new("agent", "1", Grants::only(["cards:use"]));
    let arguments = json!({ "cardId": "card_1" });
    assert!(
        service
            .call("get-card", arguments, &allowed)
            .await
            .error()
            .is_none()
    );
    assert_eq!(runs.count(), 1);
}

#[tokio::test]
async fn wrong_parameters_never_reach_the_handler() {
    let (service, runs) = get_card(fine);
    for wrong in [
        json!({}),
        json!({ "cardId": 7 }),
        json!({ "cardId": "deck_1" }),
        json!(null),
    ] {
        let result = service.call("get-card", wrong, &agent()).await;
        assert_eq!(code(&result), "INVALID_ARGUMENTS");
        let error = result.error().unwrap();
        assert_eq!(error.details["input_schema"]["required"], json!(["cardId"]));
    }
    assert_eq!(runs.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_second_identical_query_is_answered_from_the_cache() {
    let (service, runs) = get_card(fine);
    let first = call(&service, "get-card").await;
    let second = call(&service, "get-card").await;
    assert!(!first.metadata().cached);
    assert!(second.metadata().cached);
    assert_eq!(run_of(&second), 1);
    assert_ne!(
        first.metadata().correlation_id,
        second.metadata().correlation_id
    );
    let other = service
        .call("get-card", json!({ "cardId": "card_2" }), &agent())
        .await;
    assert!(
        !other.metadata().cached,
        "another question is another result"
    );
    tokio::time::advance(Duration::from_secs(61)).await;
    let late = call(&service, "get-card").await;
    assert!(!late.metadata().cached, "its time is over");
    assert_eq!(runs.count(), 3);
}

#[tokio::test]
async fn what_was_made_for_one_caller_is_not_shown_to_another() {
    let (service, runs) = get_card(fine);
    let arguments = json!({ "cardId": "card_1" });
    let callers = [
        agent(),
        agent().in_session("a"),
        agent().in_session("b"),
        agent().for_user("user_1"),
        agent().for_user("user_2"),
    ];
    for caller in &callers {
        let result = service.call("get-card", arguments.clone(), caller).await;
        assert!(!result.metadata().cached, "{caller:?}");
    }
    for caller in &callers {
        let result = service.call("get-card", arguments.clone(), caller).await;
        assert!(result.metadata().cached, "{caller:?}");
    }
    assert_eq!(runs.count(), 5);
}

#[tokio::test]
async fn a_mutation_is_never_cached_and_makes_kept_results_old() {
    let mut registry = Registry::new("cards", Version::new(1, 0, 0));
    let (reads, writes) = (Runs::default(), Runs::default());
    let read = GetCard {
        runs: reads.clone(),
        work: fine,
    };
    let write = SetCard {
        runs: writes.clone(),
        work: |run| match run {
            3 => Err(ToolError::conflict("somebody else was first")),
            _ => Ok(()),
        },
    };
    registry.register(read).unwrap();
    registry.register(write).unwrap();
    let service = registry.into_service().unwrap();
    for expected in 1..=2 {
        let result = call(&service, "set-card").await;
        assert!(!result.metadata().cached);
        assert_eq!(run_of(&result), expected);
    }
    call(&service, "get-card").await;
    assert!(call(&service, "get-card").await.metadata().cached);
    assert_eq!(code(&call(&service, "set-card").await), "CONFLICT");
    let after = call(&service, "get-card").await;
    assert!(
        !after.metadata().cached,
        "even a failed change may have changed something"
    );
    assert_eq!((reads.count(), writes.count()), (2, 3));
}

#[tokio::test]
async fn an_error_is_not_kept() {
    let (service, runs) = get_card(|run| match run {
        1 => Err(ToolError::conflict("not now")),
        _ => Ok(()),
    });
    assert_eq!(code(&call(&service, "get-card").await), "CONFLICT");
    assert!(call(&service, "get-card").await.error().is_none());
    assert_eq!(runs.count(), 2);
}

mod limited {
    use super::*;
    tool!(Plain, "count-cards", Query, None, true);

    /// The same, but for a limit.
    pub(crate) struct Limited(pub(crate) Plain);

    impl Tool for Limited {
        const NAME: &'static str = "count-cards";
        type Category = Query;
        type Params = CardParams;
        type Output = Card;
        fn definition() -> Definition<Self> {
            Definition {
                rate_limit: Some(RateLimit::calls::<2, 1_000>()),
                ..definition(None, true)
            }
        }
        async fn call(
            &self,
            params: &CardParams,
            context: &ToolContext,
        ) -> Result<ToolOutput<Card>, ToolError> {
            self.0.call(params, context).await
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_counts_per_caller_and_says_when_to_come_back() {
    let service = service_of(limited::Limited(limited::Plain {
        runs: Runs::default(),
        work: fine,
    }));
    assert!(call(&service, "count-cards").await.error().is_none());
    tokio::time::advance(Duration::from_millis(400)).await;
    assert!(call(&service, "count-cards").await.error().is_none());
    let refused = call(&service, "count-cards").await;
    assert_eq!(code(&refused), "RATE_LIMITED");
    let error = refused.error().unwrap();
    assert_eq!(error.details["retry_after_ms"], 600);
    assert!(error.retryable);
    let other = agent().in_session("other");
    let result = service
        .call("count-cards", json!({ "cardId": "card_1" }), &other)
        .await;
    assert!(result.error().is_none(), "each caller has its own count");
    tokio::time::advance(Duration::from_millis(600)).await;
    assert!(call(&service, "count-cards").await.error().is_none());
    assert_eq!(code(&call(&service, "count-cards").await), "RATE_LIMITED");
}

#[tokio::test(start_paused = true)]
async fn a_caller_chose_the_name_that_its_calls_were_counted_by() {
    let service = service_of(limited::Limited(limited::Plain {
        runs: Runs::default(),
        work: fine,
    }));
    let arguments = || json!({ "cardId": "card_1" });
    let mut refused = 0;
    for number in 0..20 {
        let named = ToolContext::new(format!("agent-{number}"), "1", Grants::Everything);
        let named = named.in_session(number.to_string());
        let known = named.known_as("192.0.2.1", None);
        let result = service.call("count-cards", arguments(), &known).await;
        refused += u32::from(result.error().is_some());
    }
    assert_eq!(refused, 18, "two calls of each address");
    let other = agent().known_as("192.0.2.2", None);
    let result = service.call("count-cards", arguments(), &other).await;
    assert!(
        result.error().is_none(),
        "another address has its own count"
    );
}

#[tokio::test]
async fn results_are_kept_for_the_caller_that_the_host_knows_and_for_nobody_it_does_not() {
    let (service, runs) = get_card(fine);
    let arguments = || json!({ "cardId": "card_1" });
    let is_cached = async |cache: Option<&str>| {
        let known = agent().known_as("192.0.2.1", cache.map(str::to_owned));
        let result = service.call("get-card", arguments(), &known).await;
        result.metadata().cached
    };
    for (cache, expected) in [
        (Some("one"), false),
        (Some("one"), true),
        (Some("two"), false),
        (None, false),
        (None, false),
    ] {
        assert_eq!(is_cached(cache).await, expected, "{cache:?}");
    }
    assert_eq!(runs.count(), 4);
}

/// Each call is wrong in everything that is left to be checked; the first of it counts.
#[tokio::test(start_paused = true)]
async fn permissions_then_the_rate_limit_then_parameters_are_checked() {
    let runs = Runs::default();
    let service = service_of(limited::Limited(limited::Plain {
        runs: runs.clone(),
        work: fine,
    }));
    let stranger = ToolContext::new("agent", "1", Grants::only(["cards:see"]));
    let wrong = async |context: &ToolContext| {
        let result = service.call("count-cards", json!({ "wrong": 1 }), context);
        code(&result.await).to_owned()
    };
    // What is refused for its parameters has passed the limit, and counts.
    for _ in 0..2 {
        assert_eq!(wrong(&stranger).await, "FORBIDDEN");
        assert_eq!(wrong(&agent()).await, "INVALID_ARGUMENTS");
    }
    assert_eq!(wrong(&agent()).await, "RATE_LIMITED");
    assert_eq!(wrong(&stranger).await, "FORBIDDEN");
    assert_eq!(runs.count(), 0);
}

/// Whether a tool whose dependency is away once is called a second time.
async fn is_repeated<T: Tool>(make: impl Fn(Runs, Work) -> T) -> bool {
    let runs = Runs::default();
    let service = service_of(make(runs.clone(), |run| match run {
        1 => Err(ToolError::unavailable("The database", "no route")),
        _ => Ok(()),
    }));
    let result = call(&service, T::NAME).await;
    assert_eq!(result.error().is_none(), runs.count() == 2);
    runs.count() == 2
}

#[tokio::test(start_paused = true)]
async fn the_category_decides_what_is_repeated() {
    assert!(is_repeated(|runs, work| GetCard { runs, work }).await);
    assert!(is_repeated(|runs, work| RateDeck { runs, work }).await);
    assert!(
        is_repeated(|runs, work| SetCard { runs, work }).await,
        "idempotent"
    );
    assert!(
        !is_repeated(|runs, work| SaveCard { runs, work }).await,
        "not idempotent"
    );
    assert!(!is_repeated(|runs, work| MakeQuiz { runs, work }).await);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_repeated_once_and_only_for_what_may_pass() {
    let (service, runs) = get_card(|_| Err(ToolError::unavailable("The database", "no route")));
    assert_eq!(code(&call(&service, "get-card").await), "UNAVAILABLE");
    assert_eq!(runs.count(), 2);
    let (service, runs) = get_card(|_| Err(ToolError::internal("broken")));
    assert_eq!(code(&call(&service, "get-card").await), "INTERNAL");
    assert_eq!(runs.count(), 1);
}

mod old {
    use super::*;
    use jiff::civil::date;

    pub(crate) struct OldCard;

    impl Tool for OldCard {
        const NAME: &'static str = "fetch-card";
        type Category = Query;
        type Params = CardParams;
        type Output = Card;
        fn definition() -> Definition<Self> {
            let deprecated = Deprecation::replaced_by::<GetCard>(
                Version::new(1, 2, 0),
                date(2026, 1, 1),
                date(2026, 6, 1),
            );
            Definition {
                deprecated: Some(deprecated),
                ..definition(None, true)
            }
        }
        async fn call(
            &self,
            _: &CardParams,
            _: &ToolContext,
        ) -> Result<ToolOutput<Card>, ToolError> {
            Ok(answer(1))
        }
    }
}

#[tokio::test]
async fn a_deprecated_tool_warns_and_is_refused_after_its_time() {
    let mut registry = Registry::new("cards", Version::new(1, 0, 0));
    registry.register(old::OldCard).unwrap();
    let alone = Registry::into_service(registry).unwrap_err().to_string();
    assert!(
        alone.contains("the replacement 'get-card' is not registered"),
        "{alone}"
    );

    let mut registry = Registry::new("cards", Version::new(1, 0, 0));
    registry.register(old::OldCard).unwrap();
    registry
        .register(GetCard {
            runs: Runs::default(),
            work: fine,
        })
        .unwrap();
    let service = registry.into_service().unwrap();
    let mut context = agent();
    let arguments = json!({ "cardId": "card_1" });
    context.timestamp = "2026-05-31T23:59:59Z".parse().unwrap();
    let result = service
        .call("fetch-card", arguments.clone(), &context)
        .await
        .to_json();
    let warning = &result["agentHints"]["warnings"][0];
    assert_eq!(warning["type"], "deprecation");
    assert_eq!(warning["suggestedFix"], "use get-card");
    context.timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
    let result = service.call("fetch-card", arguments, &context).await;
    assert_eq!(code(&result), "TOOL_REMOVED");
    let error = result.error().unwrap();
    assert_eq!(
        error.message,
        "Tool 'fetch-card' was removed on 2026-06-01, use get-card"
    );
    assert_eq!(error.details["replacement"], "get-card");
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest_name() {
    let (service, _) = get_card(fine);
    let result = call(&service, "get-crad").await;
    assert_eq!(code(&result), "UNKNOWN_TOOL");
    assert_eq!(
        result.error().unwrap().message,
        "There is no tool 'get-crad', did you mean 'get-card'?"
    );
}

/// Suggests a tool that exists as a type and is not registered.
struct Astray;

impl Tool for Astray {
    const NAME: &'static str = "go-astray";
    type Category = Query;
    type Params = CardParams;
    type Output = Card;
    fn definition() -> Definition<Self> {
        definition(None, true)
    }
    async fn call(&self, _: &CardParams, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        let evidence = Evidence::new(SourceQuality::High, completeness(1, 1));
        let hints = found(&evidence, "the card")
            .suggest(Suggestion::to::<GetCard>())
            .suggest(Suggestion::to::<Self>());
        let front = "x".to_owned();
        Ok(ToolOutput::new(Card { front, run: 1 }, hints))
    }
}

#[tokio::test]
async fn a_suggestion_that_nobody_could_follow_is_taken_out() {
    let service = service_of(Astray);
    let result = call(&service, "go-astray").await;
    let actions: Vec<&str> = result
        .hints()
        .suggestions()
        .iter()
        .map(Suggestion::action)
        .collect();
    assert_eq!(actions, ["go-astray"]);
    let metrics = service.metrics();
    let counted = r#"mcp_tool_contract_violations_total{tool="go-astray"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn every_call_is_counted() {
    let (service, _) = get_card(|run| match run {
        2 => Err(ToolError::conflict("no")),
        3 => Err(ToolError::internal("no")),
        _ => Ok(()),
    });
    for card in ["card_1", "card_1", "card_2", "card_3", "bad"] {
        service
            .call("get-card", json!({ "cardId": card }), &agent())
            .await;
    }
    let limited = service_of(limited::Limited(limited::Plain {
        runs: Runs::default(),
        work: fine,
    }));
    for _ in 0..3 {
        call(&limited, "count-cards").await;
    }
    let text = service.metrics() + &limited.metrics();
    for line in [
        "# TYPE mcp_tool_executions counter",
        r#"mcp_tool_executions_total{tool="get-card"} 5"#,
        r#"mcp_tool_errors_total{tool="get-card",category="validation"} 1"#,
        r#"mcp_tool_errors_total{tool="get-card",category="business"} 1"#,
        r#"mcp_tool_errors_total{tool="get-card",category="system"} 1"#,
        r#"mcp_tool_cache_hits_total{tool="get-card"} 1"#,
        r#"mcp_tool_cache_misses_total{tool="get-card"} 1"#,
        r#"mcp_tool_rate_limited_total{tool="get-card"} 0"#,
        r#"mcp_tool_contract_violations_total{tool="get-card"} 0"#,
        "# TYPE mcp_tool_execution_seconds histogram",
        r#"mcp_tool_execution_seconds_bucket{le="60.0",tool="get-card"} 5"#,
        r#"mcp_tool_execution_seconds_bucket{le="+Inf",tool="get-card"} 5"#,
        r#"mcp_tool_execution_seconds_count{tool="get-card"} 5"#,
        r#"mcp_tool_executions_total{tool="count-cards"} 3"#,
        r#"mcp_tool_rate_limited_total{tool="count-cards"} 1"#,
    ] {
        assert!(
            text.lines().any(|one| one == line),
            "{line}\nis not in\n{text}"
        );
    }
    let uncached = r#"cache_hits_total{tool="count-cards"}"#;
    assert!(!text.contains(uncached), "the tool keeps nothing: {text}");
}

#[tokio::test(start_paused = true)]
async fn obs_4_refused_and_abandoned_calls_are_counted_besides_those_that_ended() {
    let service = service_of(limited::Limited(limited::Plain {
        runs: Runs::default(),
        work: fine,
    }));
    let stranger = ToolContext::new("agent", "1", Grants::only::<[&str; 0]>([]));
    let good = json!({ "cardId": "card_1" });
    service.call("count-cards", good.clone(), &stranger).await;
    service.call("count-cards", json!({}), &agent()).await;
    service.call("no-such-tool", json!({}), &agent()).await;
    for _ in 0..3 {
        call(&service, "count-cards").await;
    }
    service.count_refusal("count-cards", "SERVER_MISMATCH");
    service.count_refusal("of-the-caller", "UNKNOWN_TOOL");
    // A call that is dropped before it was asked even once has not begun.
    drop(call(&service, "count-cards"));

    let text = service.metrics();
    for line in [
        "# TYPE mcp_tool_refused counter",
        r#"mcp_tool_refused_total{tool="count-cards",code="FORBIDDEN"} 1"#,
        r#"mcp_tool_refused_total{tool="count-cards",code="INVALID_ARGUMENTS"} 1"#,
        r#"mcp_tool_refused_total{tool="count-cards",code="RATE_LIMITED"} 2"#,
        r#"mcp_tool_refused_total{tool="count-cards",code="SERVER_MISMATCH"} 1"#,
        r#"mcp_tool_refused_total{tool="unknown",code="UNKNOWN_TOOL"} 2"#,
        r#"mcp_tool_abandoned_total{tool="count-cards"} 0"#,
    ] {
        assert!(
            text.lines().any(|one| one == line),
            "{line}\nis not in\n{text}"
        );
    }
    assert!(!text.contains("of-the-caller"), "{text}");
}

#[tokio::test]
async fn obs_4_metrics_of_several_services_are_one_text_with_a_label_for_each() {
    let (one, _) = get_card(fine);
    let (two, _) = get_card(fine);
    call(&two, "get-card").await;
    let text = Service::metrics_of([("north", &one), ("south", &two)]);
    let executions = "# TYPE mcp_tool_executions counter";
    assert_eq!(text.matches(executions).count(), 1, "{text}");
    for line in [
        r#"mcp_tool_executions_total{server="north",tool="get-card"} 0"#,
        r#"mcp_tool_executions_total{server="south",tool="get-card"} 1"#,
        r#"mcp_tool_execution_seconds_count{server="south",tool="get-card"} 1"#,
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
}

/// Suggests tools of other services.
struct Outward;

impl Tool for Outward {
    const NAME: &'static str = "look-elsewhere";
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
        let list = Suggestion::elsewhere("decks", "list-decks");
        if params.card_id.to_string() == "card_2" {
            return Err(ToolError::conflict("no").suggest(list));
        }
        let evidence = Evidence::new(SourceQuality::High, completeness(1, 1));
        let nowhere = Suggestion::elsewhere("", "list-decks");
        let hints = found(&evidence, "the card").suggest(list).suggest(nowhere);
        let front = "x".to_owned();
        Ok(ToolOutput::new(Card { front, run: 1 }, hints))
    }
}

#[tokio::test]
async fn ex_4_a_suggestion_of_another_services_tool_is_sent_as_it_is() {
    let service = service_of(Outward);
    for card in ["card_1", "card_2"] {
        let params = json!({ "cardId": card });
        let result = service.call("look-elsewhere", params, &agent()).await;
        let hints = result.to_json()["agentHints"]["suggestedNextActions"].clone();
        let action = json!([{ "action": "decks:list-decks", "priority": "medium" }]);
        assert_eq!(hints, action, "{card}");
    }
}
