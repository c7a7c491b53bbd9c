//! The test kit: what an author asks of a service before it is published.
//!
//! Every check calls through [`Service::call`], as an agent would, and tells everything it finds
//! at once. Use them in tests of your own:
//!
//! ```no_run
//! # use mcpproxy_contract::Service;
//! # use mcpproxy_contract_check::testing;
//! # fn new_service() -> Service { unimplemented!() }
//! # async fn state() -> String { String::new() }
//! # async fn checks() -> Result<(), testing::Failures> {
//! let service = new_service();
//! testing::conforms(&service).await?;
//! testing::examples_hold(async || new_service()).await?;
//! testing::queries_are_pure(&service, async || state().await).await?;
//! testing::unchanged(&service, "tests/published.json")?;
//! # Ok(())
//! # }
//! ```

mod conforms;
mod evidence;
mod examples;
mod snapshot;

use std::fmt;

pub use conforms::conforms;
pub use evidence::{confidence_moves, queries_are_pure};
pub use examples::examples_hold;
pub use snapshot::unchanged;

use mcpproxy_contract::{CategoryEffect, Grants, Registered, Service, ToolContext, ToolResult};

/// Everything that is wrong. Its debug form is made for reading, because `unwrap` shows that.
#[derive(Clone, PartialEq, Eq)]
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

    /// The one thing that keeps a check from being made.
    fn one(found: String) -> Self {
        Self(vec![found])
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} things are not as the contract says:",
            self.0.len()
        )?;
        for one in &self.0 {
            write!(formatter, "\n  {one}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for Failures {}

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
