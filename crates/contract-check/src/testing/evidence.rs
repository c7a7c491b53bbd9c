//! Does confidence move with the evidence, and do tools that read change nothing?

use serde_json::Value;

use super::{Failures, call_examples, failed_example, is_harmless, tester};
use mcpproxy_contract::Service;

/// Calls a tool twice, once where there is little to go by and once where there is much, and asks
/// for less confidence in the first answer than in the second.
pub async fn confidence_moves(
    service: &Service,
    tool: &str,
    little: Value,
    much: Value,
) -> Result<(), Failures> {
    let mut values = Vec::new();
    for arguments in [little, much] {
        let result = service.call(tool, arguments, &tester()).await;
        if let Some(error) = result.error() {
            let (code, message) = (&error.code, &error.message);
            let told = format!("{tool}: the call fails: {code}: {message}");
            return Err(Failures(vec![told]));
        }
        values.push(result.hints().confidence().value());
    }
    let (little, much) = (values[0], values[1]);
    if little < much {
        return Ok(());
    }
    Err(Failures(vec![format!(
        "{tool}: confidence is {little} with little evidence and {much} with much, it must rise"
    )]))
}

/// Calls the examples of every tool that says it reads, and compares the state before and after:
/// `state` gives a text that is different whenever something has changed. An example that fails is
/// told as well, because it shows nothing.
pub async fn queries_are_pure(
    service: &Service,
    state: impl AsyncFn() -> String,
) -> Result<(), Failures> {
    let mut found = Vec::new();
    for tool in service
        .registry()
        .get_all()
        .filter(|tool| is_harmless(tool))
    {
        let name = &tool.definition().name;
        let before = state().await;
        for (number, result) in call_examples(service, tool).await {
            found.extend(failed_example(name, number, &result));
        }
        if state().await != before {
            found.push(format!(
                "{name}: it says that it reads, but something has changed"
            ));
        }
    }
    Failures::none_or(found)
}
