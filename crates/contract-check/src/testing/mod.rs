//! The test kit: what an author asks of a service before it is published.
//!
//! Every check calls through [`Service::call`], as an agent would, and tells everything it finds
//! at once. The guide for authors shows them in use.

mod conforms;
mod evidence;
mod examples;
mod purity;
mod snapshot;

use std::fmt;

pub use conforms::conforms;
pub use evidence::{confidence_is_computed, confidence_moves};
pub use examples::examples_hold;
pub use purity::queries_are_pure;
pub use snapshot::unchanged;

use mcpproxy_contract::{CategoryEffect, Grants, Registered, Service, ToolContext, ToolResult};

/// Everything that is wrong. Its debug form is made for reading, because `unwrap` shows that.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} things are not as the contract says:\n  {}", .0.len(), .0.join("\n  "))]
pub struct Failures(Vec<String>);

impl Failures {
    /// Nothing wrong, or everything that is.
    fn none_or(found: Vec<String>) -> Result<(), Self> {
        if found.is_empty() {
            Ok(())
        } else {
            Err(Self(found))
        }
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// An agent that may do everything, in a session of its own so that nothing kept is in its way.
fn tester() -> ToolContext {
    let session = uuid::Uuid::now_v7().to_string();
    ToolContext::new("test-kit", env!("CARGO_PKG_VERSION"), Grants::Everything).in_session(session)
}

/// Whether the kit may call a tool wherever it likes.
fn is_harmless(tool: &Registered) -> bool {
    tool.definition().effect == CategoryEffect::Reads
}

/// Whether a tool refused because its time is over: then it does what it announced, and there is
/// nothing else to see. Without this, the tests of a service would fail on the day of removal.
fn is_removed(result: &ToolResult) -> bool {
    result
        .error()
        .is_some_and(|error| error.code == "TOOL_REMOVED")
}

/// Why an example shows nothing, if it fails.
fn failed_example(name: &str, number: usize, result: &ToolResult) -> Option<String> {
    let error = result.error().filter(|_| !is_removed(result))?;
    Some(format!(
        "{name}: example {number} fails: {}: {}",
        error.code, error.message
    ))
}

/// Calls every example of a tool, each as a new caller.
async fn call_examples(service: &Service, tool: &Registered) -> Vec<(usize, ToolResult)> {
    let definition = tool.definition();
    let mut results = Vec::new();
    for (index, example) in definition.examples.iter().enumerate() {
        let caller = tester();
        let call = service.call(&definition.name, example.params.clone(), &caller);
        results.push((index + 1, call.await));
    }
    results
}
