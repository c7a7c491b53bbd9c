//! Status of each server, for people and for agents.

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_catalog::{CatalogTool, ServerState};
use mcpproxy_policy::{AccessTo, Effect, Rights};
use mcpproxy_upstream::{StartAttempt, UpstreamState};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::warnings::{unknown_tools, warnings};
use super::{ConfiguredServer, RunState, Servers};
use crate::contract_check::ContractStatus;
use crate::failure::starting::{told_start, utc, without_host_files};

/// Number of the last lines of a server that are shown.
const LAST_LINES: usize = 5;

/// Words for what a server that failed waits for.
const NEXT_ATTEMPT: &str = "the next attempt";
const OTHER_CONFIGURATION: &str = "another configuration";

/// A server that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedServer {
    /// Its name.
    pub server: String,
    /// Why it failed.
    pub reason: String,
}

/// Status of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// The number of the attempt to start it that is under way, or that failed; counted from the last time it was well.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub attempt: Option<u32>,
    /// Since when it is in this state, in UTC.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub since: Option<String>,
    /// What it waits for: `a start slot`, `installing` for commands that install a package first, `its answer`, `its tools`;
    /// if it failed, `the next attempt`, or `another configuration` where only that or a restart helps.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub waiting_for: Option<Cow<'static, str>>,
    /// Why it failed or was lost last, also while the next attempt is under way.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_error: Option<String>,
    /// What is dangerous about its settings, although it can be used.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub warnings: Vec<String>,
    /// The last lines that it wrote for people in this attempt, if it is starting, or has failed.
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
        let is_first = |start: &StartAttempt| start.last_error.is_none();
        self.starting_with(is_first).is_empty() && self.contract().is_settled()
    }

    /// Names of the servers that are starting, also of those that failed and are tried again.
    pub fn starting(&self) -> Vec<String> {
        self.starting_with(|_| true)
    }

    fn starting_with(&self, is_meant: impl Fn(&StartAttempt) -> bool) -> Vec<String> {
        let servers = self.configured.load();
        let starting = servers.iter().filter(|(_, server)| {
            matches!(&server.run, RunState::Running(upstream)
                if matches!(upstream.state(), UpstreamState::Starting(start) if is_meant(&start)))
        });
        let mut names: Vec<String> = starting.map(|(name, _)| name.to_string()).collect();
        names.sort_unstable();
        names
    }

    /// Servers without which a list of tools is not whole, of those that a caller with these rights may use: the names of
    /// those that are starting, and those that failed. One that failed and is tried again is among the latter.
    pub(crate) fn missing(
        &self,
        rights: &Rights,
        only: Option<&str>,
    ) -> (Vec<String>, Vec<FailedServer>) {
        let (mut starting, mut failed) = (Vec::new(), Vec::new());
        let is_person = rights.allow(AccessTo::Administration);
        let servers = self.configured.load();
        let meant = servers.iter().filter(|(name, _)| {
            only.is_none_or(|only| ***name == *only)
                && (is_person || rights.allow(AccessTo::Server(name)))
        });
        for (name, server) in meant {
            match server.run.missing() {
                Some(MissingServers::Starting) => starting.push(name.to_string()),
                Some(MissingServers::Failed(reason)) => {
                    let masked = self.settings.mask().apply(&reason);
                    let told = if is_person {
                        &*masked
                    } else {
                        without_host_files(&masked)
                    };
                    failed.push(FailedServer {
                        server: name.to_string(),
                        reason: told.to_owned(),
                    });
                }
                None => {}
            }
        }
        starting.sort_unstable();
        failed.sort_unstable_by(|one, other| one.server.cmp(&other.server));
        (starting, failed)
    }

    /// Status of every server, by name.
    pub fn status(&self) -> Vec<ServerStatus> {
        let servers = self.configured.load();
        let mut servers: Vec<_> = servers.iter().collect();
        servers.sort_unstable_by_key(|(name, _)| *name);
        let servers = servers.into_iter();
        servers
            .map(|(name, server)| self.status_of(name, server))
            .collect()
    }

    /// Status of one server.
    pub fn server_status(&self, name: &str) -> Option<ServerStatus> {
        let servers = self.configured.load();
        Some(self.status_of(name, servers.get(name)?))
    }

    /// Waits until a server is starting no more, at most so long; not at all for one that does not run.
    pub(crate) async fn until_started(&self, name: &str, deadline: Instant) {
        let running = match self.configured.load().get(name).map(|server| &server.run) {
            Some(RunState::Running(upstream)) => upstream.clone(),
            _ => return,
        };
        running.started(deadline).await;
    }

    /// Status of the servers that a caller with these rights may use. Who is no administrator is told neither of reasons
    /// and output, which may name files of the host, nor of settings, nor of tools that it may not use.
    pub fn status_for(&self, rights: &Rights) -> Vec<ServerStatus> {
        let mut servers = self.status_with_reasons(rights);
        if !rights.allow(AccessTo::Administration) {
            for server in &mut servers {
                server.reason = None;
                server.last_error = None;
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
            let told = |reason: Option<String>| {
                reason.map(|reason| without_host_files(&reason).to_owned())
            };
            let own = std::mem::take(server);
            *server = ServerStatus {
                reason: told(own.reason),
                last_error: told(own.last_error),
                warnings: Vec::new(),
                stderr: Vec::new(),
                annotated: annotated(tools.iter().copied()),
                tools: tools.len(),
                contract: None,
                ..own
            };
        }
        servers
    }

    fn status_of(&self, name: &str, server: &ConfiguredServer) -> ServerStatus {
        let snapshot = self.catalog.snapshot();
        let mut status = ServerStatus {
            name: name.to_owned(),
            warnings: warnings(&server.settings),
            contract: self.contract_status(name),
            tools: snapshot
                .server(name)
                .map_or(0, |known| known.tools().count()),
            annotated: snapshot
                .server(name)
                .map_or(0, |known| annotated(known.tools())),
            ..ServerStatus::default()
        };
        let masked = |reason: &str| Some(self.settings.mask().apply(reason).into_owned());
        let state = match &server.run {
            RunState::Disabled => "disabled",
            RunState::Quarantined => "quarantined",
            RunState::NotStarted => "not started",
            RunState::Broken(problem) => {
                status.reason = masked(problem);
                status.last_error.clone_from(&status.reason);
                status.waiting_for = Some(OTHER_CONFIGURATION.into());
                "failed"
            }
            RunState::Running(upstream) => {
                let state = upstream.state();
                match &state {
                    UpstreamState::Ready {
                        revision, since, ..
                    } => {
                        status.revision = revision.map(|revision| revision.as_str().into());
                        let listed = snapshot.server(name).into_iter();
                        let tools = listed.flat_map(ServerState::tools);
                        let tools: Vec<&str> = tools.map(|tool| &**tool.name()).collect();
                        status
                            .warnings
                            .extend(unknown_tools(&server.settings, &tools));
                        status.since = Some(utc(*since));
                    }
                    UpstreamState::Starting(start) => {
                        status.attempt = Some(start.attempt);
                        status.since = Some(utc(start.since));
                        status.waiting_for = Some(start.waiting_for.as_str().into());
                        status.last_error = start.last_error.as_deref().and_then(masked);
                        status.stderr = upstream.stderr_tail(LAST_LINES);
                    }
                    UpstreamState::Failed {
                        reason,
                        attempt,
                        since,
                        retry_in,
                    } => {
                        status.attempt = Some(*attempt);
                        status.since = Some(utc(*since));
                        let next = retry_in.map_or(OTHER_CONFIGURATION, |_| NEXT_ATTEMPT);
                        status.waiting_for = Some(next.into());
                        status.reason = masked(reason);
                        status.last_error.clone_from(&status.reason);
                        status.stderr = upstream.stderr_tail(LAST_LINES);
                    }
                    _ => {}
                }
                state.as_str()
            }
        };
        status.state = state.into();
        status
    }

    /// What is told to an agent of a server that is starting, after its name.
    pub(crate) fn told(&self, start: &StartAttempt) -> String {
        let last = start.last_error.as_deref();
        let last = last.map(|last| self.settings.mask().apply(last).into_owned());
        told_start(start, last.as_deref().map(without_host_files))
    }
}

/// Reason why the tools of a server are missing in a list.
enum MissingServers {
    /// It starts for the first time.
    Starting,
    /// It failed, for this reason, and may be starting again.
    Failed(Arc<str>),
}

impl RunState {
    /// Reason why its tools are missing, if they are. Every list asks, so only the state is looked at.
    fn missing(&self) -> Option<MissingServers> {
        match self {
            Self::Broken(problem) => Some(MissingServers::Failed(problem.as_str().into())),
            Self::Running(upstream) => match upstream.state() {
                UpstreamState::Starting(start) => Some(
                    start
                        .last_error
                        .map_or(MissingServers::Starting, MissingServers::Failed),
                ),
                UpstreamState::Failed { reason, .. } => Some(MissingServers::Failed(reason)),
                _ => None,
            },
            Self::Disabled | Self::Quarantined | Self::NotStarted => None,
        }
    }
}

/// Number of tools whose effect is known.
fn annotated<'t>(tools: impl Iterator<Item = &'t Arc<CatalogTool>>) -> usize {
    let is_known = |tool: &&Arc<CatalogTool>| !matches!(tool.effect(), Effect::Unknown { .. });
    tools.filter(is_known).count()
}

#[cfg(test)]
mod tests;
