//! Do tools that read change nothing?

use super::{Failures, call_examples, failed_example, is_harmless};
use mcpproxy_contract::Service;

/// Calls the examples of every tool that says it reads, all of them twice, and compares the state
/// before and after: `state` gives a text that is different whenever something has changed, and the
/// same text for a service that keeps nothing. An example that fails is told as well, because it
/// shows nothing.
pub async fn queries_are_pure(
    service: &Service,
    state: impl AsyncFn() -> String,
) -> Result<(), Failures> {
    Failures::none_or(changed_by_queries(service, state).await)
}

pub(super) async fn changed_by_queries(
    service: &Service,
    state: impl AsyncFn() -> String,
) -> Vec<String> {
    let mut found = Vec::new();
    let tools = service.registry().get_all();
    for tool in tools.filter(|tool| is_harmless(tool)) {
        let name = &tool.definition().name;
        let before = state().await;
        for (number, result) in call_examples(service, tool).await {
            found.extend(failed_example(name, number, &result));
        }
        let between = state().await;
        // What the first call changed, the second may change back: the state is the same after each.
        call_examples(service, tool).await;
        if between != before || state().await != before {
            found.push(format!(
                "{name}: it says that it reads, but something has changed"
            ));
        }
    }
    found
}
