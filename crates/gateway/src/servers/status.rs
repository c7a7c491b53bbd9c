//! Status of each server, for people and for agents.

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_catalog::{CatalogTool, ServerState};
use mcpproxy_policy::{AccessTo, Effect, Rights};
use mcpproxy_upstream::UpstreamState;
use serde::{Deserialize, Serialize};

use super::warnings::warnings;
use super::{RunState, Servers};
use crate::contract_check::ContractStatus;

/// Number of the last lines of a server that are shown.
const LAST_LINES: usize = 5;

/// Status of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// One word for it.
    pub state: Cow<'static, str>,
    /// The revision of the protocol that is spoken with it; nothing while it is not ready, and for
    /// servers inside this program.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub revision: Option<Cow<'static, str>>,
    /// Why it is not ready, for people: it may name files of the host.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reason: Option<String>,
    /// What is dangerous about its settings, although it can be used.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub warnings: Vec<String>,
    /// The last lines that it wrote for people, if it failed.
    pub stderr: Vec<String>,
    /// Number of its tools.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub tools: usize,
    /// Number of its tools of which it is known whether they read, write or destroy.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = u64, required))]
    pub annotated: usize,
    /// How it keeps the tool contract, if it announces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<ContractStatus>,
}

impl Servers {
    /// Whether every server that should run has answered once or failed, and what it lists was looked at.
    pub fn is_settled(&self) -> bool {
        self.starting().is_empty() && self.contract().is_settled()
    }

    /// Names of the servers that have not answered yet.
    pub fn starting(&self) -> Vec<String> {
        let servers = self.configured.load();
        let starting = servers.iter().filter(|(_, server)| {
            matches!(&server.run, RunState::Running(upstream)
                if matches!(upstream.state(), UpstreamState::Starting))
        });
        let mut names: Vec<String> = starting.map(|(name, _)| name.to_string()).collect();
        names.sort_unstable();
        names
    }

    /// Status of every server, by name.
    pub fn status(&self) -> Vec<ServerStatus> {
        let servers = self.configured.load();
        let mut servers: Vec<_> = servers.iter().collect();
        servers.sort_unstable_by_key(|(name, _)| *name);
        let servers = servers.into_iter();
        servers
            .map(|(name, server)| ServerStatus {
                warnings: warnings(&server.settings),
                ..self.status_of(name, &server.run)
            })
            .collect()
    }

    /// Status of the servers that a caller with these rights may use. Who is no administrator is told neither of reasons
    /// and output, which may name files of the host, nor of settings, nor of tools that it may not use.
    pub fn status_for(&self, rights: &Rights) -> Vec<ServerStatus> {
        let mut servers = self.status_with_reasons(rights);
        if !rights.allow(AccessTo::Administration) {
            for server in &mut servers {
                server.reason = None;
            }
        }
        servers
    }

    /// Status as [`Self::status_for`] has it, with the reasons why servers are not ready, as far as they name no files
    /// of the host.
    pub fn status_with_reasons(&self, rights: &Rights) -> Vec<ServerStatus> {
        let mut servers = self.status();
        if rights.allow(AccessTo::Administration) {
            return servers;
        }
        servers.retain(|server| rights.allow(AccessTo::Server(&server.name)));
        let snapshot = self.catalog.snapshot();
        for server in &mut servers {
            let known = snapshot.server(&server.name).into_iter();
            let tools = known.flat_map(ServerState::tools);
            let tools = tools.filter(|tool| tool.is_within(rights));
            let tools: Vec<&Arc<CatalogTool>> = tools.collect();
            let reason = server.reason.take();
            *server = ServerStatus {
                name: std::mem::take(&mut server.name),
                state: std::mem::take(&mut server.state),
                revision: server.revision.take(),
                reason: reason.map(|reason| without_host_files(&reason).to_owned()),
                warnings: Vec::new(),
                stderr: Vec::new(),
                annotated: annotated(tools.iter().copied()),
                tools: tools.len(),
                contract: None,
            };
        }
        servers
    }

    fn status_of(&self, name: &str, run: &RunState) -> ServerStatus {
        let snapshot = self.catalog.snapshot();
        let mut status = ServerStatus {
            name: name.to_owned(),
            state: Cow::default(),
            revision: None,
            reason: None,
            warnings: Vec::new(),
            stderr: Vec::new(),
            contract: self.contract_status(name),
            tools: snapshot
                .server(name)
                .map_or(0, |known| known.tools().count()),
            annotated: snapshot
                .server(name)
                .map_or(0, |known| annotated(known.tools())),
        };
        let masked = |reason: &str| Some(self.settings.mask().apply(reason).into_owned());
        let state = match run {
            RunState::Disabled => "disabled",
            RunState::Quarantined => "quarantined",
            RunState::NotStarted => "not started",
            RunState::Broken(problem) => {
                status.reason = masked(problem);
                "failed"
            }
            RunState::Running(upstream) => match upstream.state() {
                UpstreamState::Starting => "starting",
                UpstreamState::Idle => "idle",
                UpstreamState::Stopped => "stopped",
                UpstreamState::Ready { revision, .. } => {
                    status.revision = revision.map(|revision| revision.as_str().into());
                    "ready"
                }
                UpstreamState::Failed { reason, .. } => {
                    status.reason = masked(&reason);
                    let lines = upstream.stderr_tail();
                    status.stderr = lines[lines.len().saturating_sub(LAST_LINES)..].to_vec();
                    "failed"
                }
                _ => "unknown",
            },
        };
        status.state = state.into();
        status
    }
}

/// Number of tools whose effect is known.
fn annotated<'t>(tools: impl Iterator<Item = &'t Arc<CatalogTool>>) -> usize {
    let is_known = |tool: &&Arc<CatalogTool>| !matches!(tool.effect(), Effect::Unknown { .. });
    tools.filter(is_known).count()
}

/// Reason why a server does not run, without files of the host: agents are not told of those.
pub fn without_host_files(problem: &str) -> &str {
    if problem.contains(['/', '\\']) {
        "a person finds the reason with `mcpproxy status`"
    } else {
        problem
    }
}
