//! Accepting what a server of the tool contract announces now, although it breaks what it published.

use mcpproxy_catalog::ServerState;
use mcpproxy_policy::Rights;

use super::Servers;
use crate::contract_check::AcceptedTools;
use crate::failure::{Code, Failure};
use crate::request::{SHOWN_NAME, cut};

impl Servers {
    /// Has what a server announces now count as what it published, of one tool or of all. What changes is on record.
    pub async fn accept_contract(
        &self,
        server: &str,
        tool: Option<&str>,
    ) -> Result<AcceptedTools, Failure> {
        let rights = &Rights::Administrator;
        self.check_known(server, rights)?;
        let snapshot = self.catalog.snapshot();
        let state = snapshot.server(server);
        let Some(state) = state.filter(|state| ServerState::is_listed(state)) else {
            let message = format!(
                "Server '{server}' has not listed its tools, so nothing is known that could be accepted; `mcpproxy status` shows why"
            );
            return Err(Failure::new(Code::UpstreamUnavailable, message));
        };
        let tools = state.tools().cloned().collect();
        let accepted = self.contract.accept(server, tools, tool).await?;
        let Some(accepted) = accepted else {
            let name = format!("{server}:{}", cut(tool.unwrap_or_default(), SHOWN_NAME));
            let message = format!("Tool '{name}' is not offered, and was not published before");
            let failure = Failure::new(Code::UnknownTool, message);
            return Err(self.with_nearest_tools(failure, &name, rights, |_| true));
        };
        if !accepted.is_empty() {
            let (replaced, forgotten) = (&accepted.replaced, &accepted.forgotten);
            self.records.contract_accepted(server, replaced, forgotten);
        }
        Ok(accepted)
    }
}
