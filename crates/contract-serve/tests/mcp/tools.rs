//! Small tools that show what reaches them, break, and wait.

use std::sync::Arc;

use mcpproxy_contract::prelude::*;
use tokio::sync::{Notify, mpsc};

/// Which card.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CardParams {
    /// The name of the card.
    #[garde(length(chars, min = 1, max = 100))]
    pub(crate) card: String,
}

/// A card.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Card {
    /// What is asked.
    pub(crate) front: String,
}

/// The context of a call, as the tool saw it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Seen {
    agent: String,
    version: String,
    user: String,
    session: String,
    trace: String,
    correlation: String,
    metadata: serde_json::Map<String, serde_json::Value>,
}

impl Data for Card {}
impl Data for Seen {}

/// No parameters.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct Nothing {}

/// A parameter whose rule breaks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct Fragile {
    /// Only "x" is right, and "y" breaks the rule itself.
    #[garde(length(chars, max = 10), custom(breaks))]
    value: String,
}

fn breaks<C>(value: &str, _: &C) -> garde::Result {
    assert_ne!(value, "y", "a secret of the rule");
    if value == "x" {
        Ok(())
    } else {
        Err(garde::Error::new("must be x"))
    }
}

pub(crate) struct GetCard;
pub(crate) struct DeleteCard;
pub(crate) struct ShowContext;
pub(crate) struct BreakDown;
pub(crate) struct BreakRule;

/// Waits until it is released, and tells when it begins and ends.
pub(crate) struct WaitLong(pub(crate) Waiting);

/// How a test follows [`WaitLong`].
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) events: mpsc::UnboundedSender<Event>,
    pub(crate) release: Arc<Notify>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Began,
    Ended,
}

/// Tells that a call is over, whether it came to its end or was dropped.
struct TellsOnDrop(mpsc::UnboundedSender<Event>);

impl Drop for TellsOnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Ended);
    }
}

/// All the tools, and nobody who follows the one that waits.
pub(crate) fn service() -> Service {
    let (events, _) = mpsc::unbounded_channel();
    let release = Arc::default();
    service_with(Waiting { events, release })
}

pub(crate) fn service_with(waiting: Waiting) -> Service {
    let mut registry = Registry::new("cards", Version::new(4, 5, 6));
    registry.register(GetCard).expect("keeps the contract");
    registry.register(DeleteCard).expect("keeps the contract");
    registry.register(ShowContext).expect("keeps the contract");
    registry.register(BreakDown).expect("keeps the contract");
    registry.register(BreakRule).expect("keeps the contract");
    registry
        .register(WaitLong(waiting))
        .expect("keeps the contract");
    registry.into_service().expect("no replacement is missing")
}

fn hints(what: &str) -> AgentHints {
    let evidence = Evidence::new(SourceQuality::High, completeness(1, 1));
    found(&evidence, what)
}

/// What all the tools here publish alike.
pub(crate) fn definition<T: Tool>(
    cache: <T::Category as mcpproxy_contract::Category>::Cache,
    permissions: &'static [&'static str],
    example: Example,
) -> Definition<T> {
    Definition {
        version: Version::new(1, 0, 0),
        description: Description {
            what: "Does what its name says",
            when: "a test needs exactly that",
            returns: "what there is to see of it",
            uses: &["test the adapter"],
        },
        permissions,
        response_time: ResponseTime::Slow,
        cache,
        idempotent: true,
        examples: vec![example],
        tags: &["test"],
        rate_limit: None,
        deprecated: None,
    }
}

fn example(params: serde_json::Value, expected_result: serde_json::Value) -> Example {
    Example {
        description: "As it is meant",
        params,
        expected_result,
    }
}

pub(crate) fn card_example() -> Example {
    example(json!({ "card": "one" }), json!({ "front": "one" }))
}

impl Tool for GetCard {
    const NAME: &'static str = "get-card";
    type Category = Query;
    type Params = CardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        definition(None, &["cards:read"], card_example())
    }

    async fn call(
        &self,
        params: &CardParams,
        _: &ToolContext,
    ) -> Result<ToolOutput<Card>, ToolError> {
        if params.card == "missing" {
            let error = ToolError::not_found("card", &params.card, "see which there are");
            return Err(error.suggest(Suggestion::to::<ShowContext>()));
        }
        let front = params.card.clone();
        let next = Suggestion::with::<DeleteCard>(params).described("throw it away");
        Ok(ToolOutput::new(
            Card { front },
            hints("the card").suggest(next),
        ))
    }
}

impl Tool for DeleteCard {
    const NAME: &'static str = "delete-card";
    type Category = Mutation<Destroys>;
    type Params = CardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        definition(Uncached, &["cards:delete"], card_example())
    }

    async fn call(
        &self,
        params: &CardParams,
        _: &ToolContext,
    ) -> Result<ToolOutput<Card>, ToolError> {
        let front = params.card.clone();
        Ok(ToolOutput::new(Card { front }, hints("the card")))
    }
}

impl Tool for ShowContext {
    const NAME: &'static str = "show-context";
    type Category = Query;
    type Params = Nothing;
    type Output = Seen;

    fn definition() -> Definition<Self> {
        let seen = json!({
            "agent": "a", "version": "1", "user": "", "session": "", "trace": "", "correlation": "",
            "metadata": {},
        });
        definition(None, &[], example(json!({}), seen))
    }

    async fn call(
        &self,
        _: &Nothing,
        context: &ToolContext,
    ) -> Result<ToolOutput<Seen>, ToolError> {
        let seen = Seen {
            agent: context.agent_id.clone(),
            version: context.agent_version.clone(),
            user: context.user_id.clone().unwrap_or_default(),
            session: context.session_id.clone().unwrap_or_default(),
            trace: context.trace_id.clone(),
            correlation: context.correlation_id.to_string(),
            metadata: context.metadata.clone(),
        };
        Ok(ToolOutput::new(seen, hints("the context")))
    }
}

impl Tool for BreakDown {
    const NAME: &'static str = "break-down";
    type Category = Query;
    type Params = Nothing;
    type Output = Card;

    fn definition() -> Definition<Self> {
        definition(None, &[], example(json!({}), json!({ "front": "" })))
    }

    async fn call(&self, _: &Nothing, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        panic!("a secret of the handler")
    }
}

impl Tool for BreakRule {
    const NAME: &'static str = "break-rule";
    type Category = Query;
    type Params = Fragile;
    type Output = Card;

    fn definition() -> Definition<Self> {
        definition(
            None,
            &[],
            example(json!({ "value": "x" }), json!({ "front": "" })),
        )
    }

    async fn call(&self, params: &Fragile, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        let front = params.value.clone();
        Ok(ToolOutput::new(Card { front }, hints("the card")))
    }
}

impl Tool for WaitLong {
    const NAME: &'static str = "wait-long";
    type Category = Query;
    type Params = Nothing;
    type Output = Card;

    fn definition() -> Definition<Self> {
        definition(None, &[], example(json!({}), json!({ "front": "" })))
    }

    async fn call(&self, _: &Nothing, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        let _tells = TellsOnDrop(self.0.events.clone());
        let _ = self.0.events.send(Event::Began);
        self.0.release.notified().await;
        let front = "released".to_owned();
        Ok(ToolOutput::new(Card { front }, hints("the card")))
    }
}
