//! Checks of one answer as a call makes them, for the benchmark: without a gateway around them.

use std::sync::Mutex;

use mcpproxy_catalog::{Catalog, CatalogTool};
use mcpproxy_policy::Rights;
use mcpproxy_wire::CallResult;

use super::seen_in;
use super::watched::WatchedServers;
use crate::agent_hints::vetting;

/// Checks of answers, with a memory of their own.
#[derive(Default)]
pub struct AnswerChecks {
    servers: Mutex<WatchedServers>,
}

impl AnswerChecks {
    /// Does everything that an answer costs because its tool may be one of the contract: what it breaks is looked for and
    /// remembered, and what it suggests is vetted. Gives the answer as it would be passed on, and how much is wrong.
    pub fn check(
        &self,
        tool: &CatalogTool,
        answer: CallResult,
        catalog: &Catalog,
    ) -> (CallResult, usize) {
        if !tool.announces_contract() || answer.asks_for_input() {
            return (answer, 0);
        }
        let seen = seen_in(&self.servers, tool, &answer, false);
        let (snapshot, rights) = (catalog.snapshot(), Rights::Administrator);
        let (answer, warning) = vetting::vetted(answer, tool.server(), &snapshot, &rights);
        (answer, seen.all.len() + usize::from(warning.is_some()))
    }
}
