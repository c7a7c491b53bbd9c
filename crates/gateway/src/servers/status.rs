//! Status of each server, for people and for agents.

use std::borrow::Cow;

use mcpproxy_upstream::UpstreamState;
use mcpproxy_wire::Revision;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{RunState, Servers};

/// Status of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// One word for it.
    pub state: Cow<'static, str>,
    /// The revision of the protocol that is spoken with it; nothing while it is not ready, and for
    /// servers inside this program.
    #[schema(required)]
    pub revision: Option<Cow<'static, str>>,
    /// Why it is not ready, for people: it may name files of the host.
    #[schema(required)]
    pub reason: Option<String>,
    /// The last lines that it wrote for people, if it failed.
    pub stderr: Vec<String>,
    /// Number of its tools.
    #[schema(value_type = u64)]
    pub tools: usize,
}

impl Servers {
    /// Whether every server that should run has answered once or failed.
    pub fn is_settled(&self) -> bool {
        self.starting().is_empty()
    }

    /// The servers that have not answered yet.
    pub fn starting(&self) -> Vec<String> {
        let servers = self.configured.load();
        let mut names: Vec<String> = servers
            .iter()
            .filter(|(_, server)| {
                matches!(&server.run, RunState::Running(upstream)
                    if matches!(upstream.state(), UpstreamState::Starting))
            })
            .map(|(name, _)| name.to_string())
            .collect();
        names.sort_unstable();
        names
    }

    /// Status of every server, by name.
    pub fn status(&self) -> Vec<ServerStatus> {
        let servers = self.configured.load();
        let snapshot = self.catalog.snapshot();
        let mut names: Vec<_> = servers.keys().collect();
        names.sort_unstable();
        names
            .into_iter()
            .filter_map(|name| servers.get(name).map(|server| (name, server)))
            .map(|(name, server)| {
                let (state, reason) = describe(&server.run);
                ServerStatus {
                    name: name.to_string(),
                    state: state.into(),
                    revision: revision(&server.run).map(Into::into),
                    reason: reason.map(|reason| self.settings.mask().apply(&reason).into_owned()),
                    stderr: stderr(&server.run),
                    tools: snapshot
                        .server(name)
                        .map_or(0, |server| server.tools().count()),
                }
            })
            .collect()
    }
}

/// Why a server does not run, without files of the host: agents are not told of those.
pub fn without_host_files(problem: &str) -> &str {
    if problem.contains(['/', '\\']) {
        "a person finds the reason with `mcpproxy status`"
    } else {
        problem
    }
}

/// The revision that is spoken with a server.
fn revision(run: &RunState) -> Option<&'static str> {
    let RunState::Running(upstream) = run else {
        return None;
    };
    match upstream.state() {
        UpstreamState::Ready { revision, .. } => revision.map(Revision::as_str),
        _ => None,
    }
}

/// The last lines that a server which is not well wrote for people, secrets hidden.
fn stderr(run: &RunState) -> Vec<String> {
    const SHOWN: usize = 5;
    match run {
        RunState::Running(upstream) if matches!(upstream.state(), UpstreamState::Failed { .. }) => {
            let lines = upstream.stderr_tail();
            lines[lines.len().saturating_sub(SHOWN)..].to_vec()
        }
        _ => Vec::new(),
    }
}

/// The state of a server in one word, and why it is not ready.
fn describe(run: &RunState) -> (&'static str, Option<String>) {
    match run {
        RunState::Broken(problem) => ("failed", Some(problem.clone())),
        RunState::Disabled => ("disabled", None),
        RunState::Quarantined => ("quarantined", None),
        RunState::NotStarted => ("not started", None),
        RunState::Running(upstream) => match upstream.state() {
            UpstreamState::Starting => ("starting", None),
            UpstreamState::Ready { .. } => ("ready", None),
            UpstreamState::Idle => ("idle", None),
            UpstreamState::Failed { reason, .. } => ("failed", Some(reason.to_string())),
            UpstreamState::Stopped => ("stopped", None),
            _ => ("unknown", None),
        },
    }
}
