//! Small tools that do what a test asks of them.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses some of them"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcpproxy_contract::prelude::*;
use mcpproxy_contract::{Category, Grants, ToolResult};
use serde_json::Value;

branded_id!(
    /// A card.
    pub(crate) CardId, "card"
);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CardParams {
    /// The card.
    #[garde(dive)]
    pub(crate) card_id: CardId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Card {
    pub(crate) front: String,
    /// How often the handler ran.
    pub(crate) run: u32,
}

impl Data for Card {}

/// What a handler does, as a function of how often it ran.
pub(crate) type Work = fn(u32) -> Result<(), ToolError>;

/// Counts its runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs(Arc<AtomicU32>);

impl Runs {
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// A definition that keeps every rule, for tests to break.
pub(crate) fn definition<T: Tool>(
    cache: <T::Category as Category>::Cache,
    idempotent: bool,
) -> Definition<T> {
    Definition {
        version: Version::new(1, 2, 3),
        description: Description {
            what: "Reads or changes one card",
            when: "a test needs a tool",
            returns: "the card",
            uses: &["see what the pipeline does"],
        },
        permissions: &["cards:use"],
        response_time: ResponseTime::Fast,
        cache,
        idempotent,
        examples: vec![Example {
            description: "One card",
            params: json!({ "cardId": "card_1" }),
            expected_result: json!({ "front": "Question", "run": 1 }),
        }],
        tags: &["cards"],
        rate_limit: None,
        deprecated: None,
    }
}

/// A card with hints that rest on something.
pub(crate) fn answer(run: u32) -> ToolOutput<Card> {
    let evidence = Evidence::new(SourceQuality::High, completeness(1, 1));
    let front = "Question".to_owned();
    ToolOutput::new(Card { front, run }, found(&evidence, "the card"))
}

/// Declares a tool whose handler counts its run and then does what `work` says.
macro_rules! tool {
    ($tool:ident, $name:literal, $category:ty, $cache:expr, $idempotent:expr) => {
        pub(crate) struct $tool {
            pub(crate) runs: Runs,
            pub(crate) work: Work,
        }
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
                let run = self.runs.next();
                (self.work)(run)?;
                Ok(answer(run))
            }
        }
    };
}
pub(crate) use tool;

tool!(GetCard, "get-card", Query, Some(Ttl::seconds::<60>()), true);
tool!(LookUp, "look-up", Query, None, true);
tool!(RateDeck, "rate-deck", Analysis, None, true);
tool!(MakeQuiz, "make-quiz", Generation, None, false);
tool!(SaveCard, "save-card", Mutation<Writes>, Uncached, false);
tool!(SetCard, "set-card", Mutation<Writes>, Uncached, true);
tool!(DropCard, "drop-card", Mutation<Destroys>, Uncached, true);

#[expect(clippy::unnecessary_wraps, reason = "the form of all work")]
pub(crate) fn fine(_: u32) -> Result<(), ToolError> {
    Ok(())
}

/// A service of one tool.
pub(crate) fn service_of<T: Tool>(tool: T) -> Service {
    let mut registry = Registry::new("cards", Version::new(2, 0, 0));
    registry.register(tool).unwrap();
    registry.into_service().unwrap()
}

/// An agent that may do everything.
pub(crate) fn agent() -> ToolContext {
    ToolContext::new("agent", "1.0.0", Grants::Everything)
}

pub(crate) async fn call(service: &Service, name: &str) -> ToolResult {
    let arguments = json!({ "cardId": "card_1" });
    service.call(name, arguments, &agent()).await
}

/// The code of the error a call must have ended with.
pub(crate) fn code(result: &ToolResult) -> &str {
    result.error().expect("the call fails").code
}

/// How often the handler had run when this result was made.
pub(crate) fn run_of(result: &ToolResult) -> &Value {
    &result.data().expect("the call works")["run"]
}
