//! Names of servers and tools, looked up; what cannot be found is answered with what is near.

use std::sync::Arc;
use std::time::Instant;

use mcpproxy_catalog::{Availability, CatalogTool};
use mcpproxy_upstream::{CallError, CallSlot, Upstream, UpstreamState};

use super::status::without_host_files;
use super::{RunState, Servers};
use crate::failure::{Code, Failure};
use crate::request::{ToolName, cut};
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
    pub(crate) async fn call_slot(&self, deadline: Instant) -> Result<CallSlot<'_>, CallError> {
        let slot = self.upstream.call_slot(deadline).await?;
        self.upstream.fresh(deadline).await?;
        Ok(slot)
    }
}

impl Servers {
    /// Server that a call goes to, if it can be called at all.
    pub(crate) fn reachable(&self, name: &str) -> Result<ReachableServer, Failure> {
        let servers = self.configured.load();
        let Some(server) = servers.get(name) else {
            return Err(self.unknown_server(name));
        };
        match &server.run {
            RunState::Running(upstream) => Ok(ReachableServer {
                upstream: upstream.clone(),
                settings: Arc::clone(&server.settings),
            }),
            RunState::Broken(problem) => Err(broken(name, problem)),
            RunState::Disabled => Err(Failure::new(
                Code::ToolDisabled,
                format!(
                    "Server '{name}' is disabled; a person has to set \"enabled\": true for it in the configuration"
                ),
            )),
            RunState::Quarantined => Err(Failure::new(
                Code::ServerQuarantined,
                format!(
                    "Server '{name}' is quarantined; a person has to look at it and set \"quarantined\": false in the configuration"
                ),
            )),
            RunState::NotStarted => Err(Failure::new(
                Code::UpstreamUnavailable,
                format!("Server '{name}' was not started by this command. The call was not sent."),
            )),
        }
    }

    /// Refuses a name that no server has.
    pub fn check_known(&self, name: &str) -> Result<(), Failure> {
        if self.configured.load().contains_key(name) {
            return Ok(());
        }
        Err(self.unknown_server(name))
    }

    /// Tool that agents may see, as the catalog has it now.
    pub(crate) fn tool(&self, server: &str, tool: &str) -> Result<Arc<CatalogTool>, Failure> {
        let snapshot = self.catalog.snapshot();
        let Some(entry) = snapshot.find(server, tool) else {
            let reachable = self.reachable(server)?;
            let is_listed = snapshot
                .server(server)
                .is_some_and(mcpproxy_catalog::ServerState::is_listed);
            if is_listed {
                return Err(self.unknown_tool(server, tool));
            }
            return Err(not_listed(server, &reachable.upstream.state()));
        };
        match entry.availability() {
            Availability::Callable => Ok(Arc::clone(entry)),
            Availability::ToolDisabled => Err(Failure::new(
                Code::ToolDisabled,
                format!(
                    "Tool '{server}:{tool}' is disabled; a person has to set \"enabled\": true for it in the configuration"
                ),
            )),
            Availability::ServerDisabled | Availability::ServerQuarantined => Err(self
                .reachable(server)
                .err()
                .unwrap_or_else(|| self.unknown_tool(server, tool))),
        }
    }

    /// Tool as the catalog has it, whether or not it may be called.
    pub(crate) fn listed_tool(&self, name: &ToolName) -> Option<Arc<CatalogTool>> {
        let snapshot = self.catalog.snapshot();
        snapshot.find(&name.server, &name.tool).map(Arc::clone)
    }

    /// Splits `server:tool`.
    pub(crate) fn tool_name(&self, name: &str) -> Result<ToolName, Failure> {
        ToolName::parse(name).map_err(|failure| self.with_nearest_tools(failure, name))
    }

    /// Adds tools that are near: a name that cannot be split is likely that of a tool alone.
    pub(crate) fn with_nearest_tools(&self, mut failure: Failure, name: &str) -> Failure {
        let near = self.catalog.snapshot().nearest_tools(name);
        if near.is_empty() {
            return failure;
        }
        failure.message.push_str(&did_you_mean(&near));
        failure.with("nearest", near)
    }

    fn unknown_server(&self, name: &str) -> Failure {
        let snapshot = self.catalog.snapshot();
        let near = snapshot.nearest_servers(name);
        let shown = cut(name, 100);
        Failure::new(
            Code::UnknownServer,
            format!("Server '{shown}' does not exist{}", did_you_mean(&near)),
        )
        .with("nearest", near)
    }

    fn unknown_tool(&self, server: &str, tool: &str) -> Failure {
        let snapshot = self.catalog.snapshot();
        let shown = cut(&format!("{server}:{tool}"), 300);
        let near = snapshot.nearest_tools(&shown);
        Failure::new(
            Code::UnknownTool,
            format!("Tool '{shown}' does not exist{}", did_you_mean(&near)),
        )
        .with("nearest", near)
    }
}

/// A server whose settings cannot be used. Agents are not told of files of the host; those are
/// in the log and in `status`.
fn broken(server: &str, problem: &str) -> Failure {
    let why = without_host_files(problem);
    Failure::new(
        Code::UpstreamUnavailable,
        format!("Server '{server}' cannot be started: {why}. The call was not sent."),
    )
    .not_retryable()
}

/// The tools of a server are not known, so nothing can be said about one of them.
fn not_listed(server: &str, state: &UpstreamState) -> Failure {
    let why = match state {
        UpstreamState::Failed { reason, .. } => format!("failed: {reason}"),
        _ => "is still starting".to_owned(),
    };
    Failure::new(
        Code::UpstreamUnavailable,
        format!("Server '{server}' has not listed its tools, it {why}"),
    )
}

fn did_you_mean(names: &[String]) -> String {
    if names.is_empty() {
        return "; search with retrieve_tools".to_owned();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!(", did you mean {}?", quoted.join(" or "))
}
