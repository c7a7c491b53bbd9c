//! What the tests are made of: a service, what it publishes and answers, and its log.

use std::sync::{Arc, Mutex, OnceLock};

use mcpproxy_contract::prelude::*;
use mcpproxy_contract::{Rule, wire};
use mcpproxy_contract_check as check;
use serde_json::Value;

use crate::sample::*;

/// A service with a tool of every category.
pub(crate) fn service() -> Service {
    let mut registry = Registry::new("cards", Version::new(2, 0, 0));
    let runs = Runs::default;
    registry
        .register(GetCard {
            runs: runs(),
            work: fine,
        })
        .unwrap();
    registry
        .register(RateDeck {
            runs: runs(),
            work: fine,
        })
        .unwrap();
    registry
        .register(MakeQuiz {
            runs: runs(),
            work: fine,
        })
        .unwrap();
    registry
        .register(SaveCard {
            runs: runs(),
            work: fine,
        })
        .unwrap();
    registry
        .register(DropCard {
            runs: runs(),
            work: fine,
        })
        .unwrap();
    registry.into_service().unwrap()
}

pub(crate) fn published() -> Vec<Value> {
    service().registry().get_all().map(wire::tool).collect()
}

/// The definition of each tool as it travels.
pub(crate) fn definitions() -> Vec<Value> {
    let take = |tool: &Value| tool["_meta"]["dev.mcpproxy/definition"].clone();
    published().iter().map(take).collect()
}

/// A result of each tool, and one refusal.
pub(crate) async fn results() -> Vec<Value> {
    let service = service();
    let mut results = Vec::new();
    for tool in service.registry().get_all() {
        results.push(call(&service, &tool.definition().name).await.to_json());
    }
    results.push(
        service
            .call("get-card", json!({}), &agent())
            .await
            .to_json(),
    );
    results
}

pub(crate) async fn all_hints() -> Vec<Value> {
    results()
        .await
        .into_iter()
        .map(|mut result| result["agentHints"].take())
        .collect()
}

/// The rules that a changed definition of `get-card` breaks.
pub(crate) fn broken_by(change: impl Fn(&mut Value)) -> Vec<Rule> {
    let mut tool = published().remove(0);
    change(&mut tool);
    check::definition(&tool)
        .into_iter()
        .map(|one| one.rule)
        .collect()
}

/// The same for a change of the definition itself.
pub(crate) fn broken_definition(name: &str, value: &Value) -> Vec<Rule> {
    broken_by(|tool| tool["_meta"]["dev.mcpproxy/definition"][name] = value.clone())
}

/// The log of this program. All tests write to it; a trace id tells whose line it is.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn log() -> &'static Lines {
    static LINES: OnceLock<Lines> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::set_global_default(log).unwrap();
        lines
    })
}

/// An agent whose calls can be told from all others in the log.
pub(crate) fn logged_agent() -> ToolContext {
    log();
    agent()
}

/// What the log has of this agent's calls.
pub(crate) fn logged(agent: &ToolContext) -> String {
    let all = String::from_utf8_lossy(&log().0.lock().unwrap()).into_owned();
    let own = all.lines().filter(|line| line.contains(&agent.trace_id));
    own.collect::<Vec<_>>().join("\n")
}

/// A tool that is as confident as the text it gets is long.
pub(crate) struct Weighed;

#[derive(Debug, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct Text {
    /// The text.
    #[garde(length(chars, max = 4))]
    text: String,
}

impl Tool for Weighed {
    const NAME: &'static str = "weigh-text";
    type Category = Analysis;
    type Params = Text;
    type Output = Card;

    fn definition() -> Definition<Self> {
        let mut definition = definition::<Self>(None, true);
        definition.examples[0].params = json!({ "text": "ab" });
        definition
    }

    async fn call(&self, params: &Text, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        let length = params.text.len() as u64;
        let evidence = Evidence::new(SourceQuality::High, completeness(length, 4));
        let card = Card {
            front: params.text.clone(),
            run: 1,
        };
        Ok(ToolOutput::new(card, found(&evidence, "the weight")))
    }
}

pub(crate) mod null {
    use super::*;

    /// Null behind a type of its own, as its schema shows.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(transparent)]
    pub(crate) struct Maybe(Option<String>);

    impl Data for Maybe {}

    /// Null behind a type whose schema does not show it.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(transparent)]
    pub(crate) struct Concealed(#[schemars(with = "String")] Option<String>);

    impl Data for Concealed {}

    pub(crate) struct Admitted;
    pub(crate) struct Hidden;

    macro_rules! of_null {
        ($tool:ty, $name:literal, $output:ident) => {
            impl Tool for $tool {
                const NAME: &'static str = $name;
                type Category = Query;
                type Params = CardParams;
                type Output = $output;
                fn definition() -> Definition<Self> {
                    let mut definition = definition::<Self>(None, true);
                    definition.examples[0].expected_result = json!("text");
                    definition
                }
                async fn call(
                    &self,
                    _: &CardParams,
                    _: &ToolContext,
                ) -> Result<ToolOutput<$output>, ToolError> {
                    let evidence = Evidence::new(SourceQuality::High, completeness(1, 1));
                    Ok(ToolOutput::new($output(None), found(&evidence, "nothing")))
                }
            }
        };
    }
    of_null!(Admitted, "admit-null", Maybe);
    of_null!(Hidden, "hide-null", Concealed);
}
