//! What a person is told about the running gateway.

use serde::Serialize;
use serde_json::{Value, json};

use mcpproxy_activity::{Filter, Status};
use mcpproxy_upstream::UpstreamState;
use mcpproxy_wire::Revision;

use crate::Gateway;
use crate::servers::Running;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// One word for it.
    pub state: &'static str,
    /// The revision of the protocol that is spoken with it; nothing while it is not ready, and for
    /// servers inside this program.
    pub revision: Option<&'static str>,
    /// Why it is not ready, for people: it may name files of the host.
    pub reason: Option<String>,
    /// The last lines that it wrote for people, if it failed.
    pub stderr: Vec<String>,
    /// How many tools it has.
    pub tools: usize,
}

impl Gateway {
    /// Whether every server that should run has answered once or failed.
    pub fn is_settled(&self) -> bool {
        self.servers_starting().is_empty()
    }

    /// The servers that have not answered yet.
    pub fn servers_starting(&self) -> Vec<String> {
        let servers = self.servers.load();
        let mut names: Vec<String> = servers
            .iter()
            .filter(|(_, server)| {
                matches!(&server.running, Running::Yes(upstream)
                    if matches!(upstream.state(), UpstreamState::Starting))
            })
            .map(|(name, _)| name.to_string())
            .collect();
        names.sort_unstable();
        names
    }

    /// The state of the gateway and of every server, for `status`.
    pub async fn status(&self) -> Value {
        let activity = self.activity_status().await;
        let settings = self.settings.load();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "uptime_seconds": self.started.elapsed().as_secs(),
            "data_dir": settings.data_dir,
            "intent_declaration": {
                "mode": settings.rules.mode,
                "strict_server_validation": settings.rules.strict_server_validation,
                "unannotated": settings.rules.unannotated,
            },
            "configuration_problem": self.configuration_problem(),
            "servers": self.servers_status(),
            "tools": self.catalog.snapshot().tools().count(),
            "calls": self.log.counts(),
            "activity": activity,
        })
    }

    /// How the log is, and how many calls nobody saw the outcome of.
    async fn activity_status(&self) -> Value {
        let in_doubt = Filter {
            status: Some(Status::InDoubt),
            ..Filter::default()
        };
        let found = self.log.archive().count(&in_doubt).await;
        let mut health = json!(self.log.health());
        // Calls that are under way have no outcome on record either, but they will.
        let in_doubt = found
            .as_ref()
            .map(|count| count.saturating_sub(self.log.under_way()));
        health["in_doubt"] = json!(in_doubt.ok());
        if let Err(problem) = found
            && health["problem"].is_null()
        {
            health["problem"] = json!(problem.to_string());
        }
        health
    }

    /// How every server is, by name.
    pub fn servers_status(&self) -> Vec<ServerStatus> {
        let servers = self.servers.load();
        let snapshot = self.catalog.snapshot();
        let mut names: Vec<_> = servers.keys().collect();
        names.sort_unstable();
        names
            .into_iter()
            .filter_map(|name| servers.get(name).map(|server| (name, server)))
            .map(|(name, server)| {
                let (state, reason) = describe(&server.running);
                ServerStatus {
                    name: name.to_string(),
                    state,
                    revision: revision(&server.running),
                    reason: reason.map(|reason| self.mask.load().apply(&reason).into_owned()),
                    stderr: stderr(&server.running),
                    tools: snapshot
                        .server(name)
                        .map_or(0, |server| server.tools().count()),
                }
            })
            .collect()
    }
}

/// The revision that is spoken with a server.
fn revision(running: &Running) -> Option<&'static str> {
    let Running::Yes(upstream) = running else {
        return None;
    };
    match upstream.state() {
        UpstreamState::Ready { revision, .. } => revision.map(Revision::as_str),
        _ => None,
    }
}

/// The last lines that a server which is not well wrote for people, secrets hidden.
fn stderr(running: &Running) -> Vec<String> {
    const SHOWN: usize = 5;
    match running {
        Running::Yes(upstream) if matches!(upstream.state(), UpstreamState::Failed { .. }) => {
            let lines = upstream.stderr_tail();
            lines[lines.len().saturating_sub(SHOWN)..].to_vec()
        }
        _ => Vec::new(),
    }
}

/// The state of a server in one word, and why it is not ready.
fn describe(running: &Running) -> (&'static str, Option<String>) {
    match running {
        Running::Broken(problem) => ("failed", Some(problem.clone())),
        Running::Disabled => ("disabled", None),
        Running::Quarantined => ("quarantined", None),
        Running::NotStarted => ("not started", None),
        Running::Yes(upstream) => match upstream.state() {
            UpstreamState::Starting => ("starting", None),
            UpstreamState::Ready { .. } => ("ready", None),
            UpstreamState::Idle => ("idle", None),
            UpstreamState::Failed { reason, .. } => ("failed", Some(reason.to_string())),
            UpstreamState::Stopped => ("stopped", None),
            _ => ("unknown", None),
        },
    }
}
