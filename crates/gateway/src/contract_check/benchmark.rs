//! Checks of one answer as a call makes them, for the benchmark: without a gateway around them.

use std::sync::Mutex;

use mcpproxy_catalog::{Catalog, CatalogTool};
use mcpproxy_policy::Rights;
use mcpproxy_wire::CallResult;
use serde_json::Value;

use super::seen_in;
use super::watched::WatchedServers;
use crate::agent_hints::vetting;

/// Checks of answers, with a memory of their own.
#[derive(Default)]
pub struct AnswerChecks {
    servers: Mutex<WatchedServers>,
}

impl AnswerChecks {
    /// Does everything that an answer costs because its tool may be one of the contract. Gives the answer as it would be
    /// passed on, and how much is wrong.
    pub fn check(
        &self,
        tool: &CatalogTool,
        answer: CallResult,
        catalog: &Catalog,
    ) -> (CallResult, usize) {
        if !tool.announces_contract() || answer.asks_for_input() {
            return (answer, 0);
        }
        let (broken, hints) = self.watch(tool, &answer);
        let (answer, is_vetted) = Self::vet(tool, answer, hints, catalog);
        (answer, broken + usize::from(is_vetted))
    }

    /// The part that looks for what an answer breaks, and remembers it: how much that is, and the hints, decoded.
    pub fn watch(&self, tool: &CatalogTool, answer: &CallResult) -> (usize, Value) {
        let (seen, hints) = seen_in(&self.servers, tool, answer, false);
        (seen.all.len(), hints)
    }

    /// The part that vets what an answer suggests: the answer, and whether something was taken away.
    pub fn vet(
        tool: &CatalogTool,
        answer: CallResult,
        hints: Value,
        catalog: &Catalog,
    ) -> (CallResult, bool) {
        let (snapshot, rights) = (catalog.snapshot(), Rights::Administrator);
        let (answer, warning) = vetting::vetted(answer, hints, tool.server(), &snapshot, &rights);
        (answer, warning.is_some())
    }
}
