//! Names of servers and tools, looked up; what cannot be found is answered with what is near. What a caller may not use
//! cannot be found, and is not near either.

use std::sync::Arc;
use std::time::Instant;

use mcpproxy_catalog::{Availability, CatalogTool, ServerState};
use mcpproxy_policy::{AccessTo, Caller, Rights};
use mcpproxy_upstream::{CallError, CallSlot, Upstream, UpstreamState};

use super::status::without_host_files;
use super::{RunState, Servers};
use crate::failure::{Code, Failure};
use crate::request::{cut, split_name};
use crate::settings::ServerSettings;

/// Server that a call can go to.
pub(crate) struct ReachableServer {
    pub(crate) upstream: Upstream,
    pub(crate) settings: Arc<ServerSettings>,
}

impl ReachableServer {
    /// Waits for a place among the calls that the server gets at the same time, and until its tools
    /// are known. What the server says of a tool now counts, not what the agent saw earlier, nor what
    /// held when the call began to wait for its slot.
    pub(crate) async fn call_slot(
        &self,
        caller: &Caller,
        deadline: Instant,
    ) -> Result<CallSlot<'_>, CallError> {
        let slot = self.upstream.call_slot(caller, deadline).await?;
        self.upstream.fresh(deadline).await?;
        Ok(slot)
    }
}

impl Servers {
    /// Server that a call goes to, if it can be called at all.
    pub(crate) fn reachable(
        &self,
        name: &str,
        rights: &Rights,
    ) -> Result<ReachableServer, Failure> {
        let servers = self.configured.load();
        let server = servers.get(name);
        let Some(server) = server.filter(|_| rights.allow(AccessTo::Server(name))) else {
            return Err(self.unknown_server(name, rights));
        };
        let refused = |code, why: &str| Err(Failure::new(code, format!("Server '{name}' {why}")));
        match &server.run {
            RunState::Running(upstream) => Ok(ReachableServer {
                upstream: upstream.clone(),
                settings: Arc::clone(&server.settings),
            }),
            // Agents are not told of files of the host; those are in the log and in `status`.
            RunState::Broken(problem) => {
                let why = without_host_files(problem);
                let why = format!("cannot be started: {why}. The call was not sent.");
                refused(Code::UpstreamUnavailable, &why).map_err(Failure::not_retryable)
            }
            RunState::Disabled => refused(
                Code::ToolDisabled,
                "is disabled; a person has to set \"enabled\": true for it in the configuration",
            ),
            RunState::Quarantined => refused(
                Code::ServerQuarantined,
                "is quarantined; a person has to look at it and set \"quarantined\": false in the configuration",
            ),
            RunState::NotStarted => refused(
                Code::UpstreamUnavailable,
                "was not started by this command. The call was not sent.",
            ),
        }
    }

    /// Refuses a name that no server has.
    pub fn check_known(&self, name: &str, rights: &Rights) -> Result<(), Failure> {
        if self.configured.load().contains_key(name) && rights.allow(AccessTo::Server(name)) {
            return Ok(());
        }
        Err(self.unknown_server(name, rights))
    }

    /// Tool that a caller with these rights may use, as the catalog has it now.
    pub(crate) fn tool(
        &self,
        server: &str,
        tool: &str,
        rights: &Rights,
    ) -> Result<Arc<CatalogTool>, Failure> {
        let snapshot = self.catalog.snapshot();
        let entry = snapshot.find(server, tool);
        let Some(entry) = entry.filter(|entry| entry.is_within(rights)) else {
            let reachable = self.reachable(server, rights)?;
            if snapshot.server(server).is_some_and(ServerState::is_listed) {
                return Err(self.unknown_tool(server, tool, rights));
            }
            let why = match reachable.upstream.state() {
                UpstreamState::Failed { reason, .. } => format!("failed: {reason}"),
                _ => "is still starting".to_owned(),
            };
            let message = format!("Server '{server}' has not listed its tools, it {why}");
            return Err(Failure::new(Code::UpstreamUnavailable, message));
        };
        match entry.availability() {
            Availability::Callable => Ok(Arc::clone(entry)),
            Availability::ToolDisabled => Err(Failure::new(
                Code::ToolDisabled,
                format!(
                    "Tool '{server}:{tool}' is disabled; a person has to set \"enabled\": true for it in the configuration"
                ),
            )),
            Availability::ServerDisabled
            | Availability::ServerBroken
            | Availability::ServerQuarantined => {
                self.reachable(server, rights)?;
                Err(self.unknown_tool(server, tool, rights))
            }
        }
    }

    /// Splits `server:tool`.
    pub(crate) fn split_name<'a>(
        &self,
        name: &'a str,
        rights: &Rights,
    ) -> Result<(&'a str, &'a str), Failure> {
        split_name(name).map_err(|failure| self.with_nearest_tools(failure, name, rights))
    }

    /// Adds tools that are near: a name that cannot be split is likely that of a tool alone.
    pub(crate) fn with_nearest_tools(
        &self,
        mut failure: Failure,
        name: &str,
        rights: &Rights,
    ) -> Failure {
        let near = self.catalog.snapshot().nearest_tools(name, rights);
        if near.is_empty() {
            return failure;
        }
        failure.message.push_str(&did_you_mean(&near, ""));
        failure.with("nearest", near)
    }

    fn unknown_server(&self, name: &str, rights: &Rights) -> Failure {
        let near = self.catalog.snapshot().nearest_servers(name, rights);
        unknown(Code::UnknownServer, "Server", &cut(name, 100), near)
    }

    fn unknown_tool(&self, server: &str, tool: &str, rights: &Rights) -> Failure {
        let shown = cut(&format!("{server}:{tool}"), 300);
        let near = self.catalog.snapshot().nearest_tools(&shown, rights);
        unknown(Code::UnknownTool, "Tool", &shown, near)
    }
}

fn unknown(code: Code, kind: &str, shown: &str, near: Vec<String>) -> Failure {
    let hint = did_you_mean(&near, "; search with retrieve_tools");
    Failure::new(code, format!("{kind} '{shown}' does not exist{hint}")).with("nearest", near)
}

/// Question whether one of the nearest names is meant; something else where there are none.
pub(crate) fn did_you_mean(near: &[String], otherwise: &str) -> String {
    if near.is_empty() {
        return otherwise.to_owned();
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("'{name}'")).collect();
    format!(", did you mean {}?", quoted.join(" or "))
}
