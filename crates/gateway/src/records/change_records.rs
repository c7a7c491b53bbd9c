//! Records of changes: starts and stops, and changes of servers, tools and configuration.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mcpproxy_activity::{LogEvent, RecordKind, Status};
use mcpproxy_upstream::UpstreamState;
use serde_json::{Map, Value, json};

use super::Records;
use crate::failure::Code;
use crate::settings::ServerSettings;

/// Tools of a server as it sent them, by their names.
pub(crate) type Definitions = BTreeMap<String, String>;

impl Records {
    pub(crate) fn gateway_started(&self) {
        if self.is_daemon() {
            let mut details = event("start");
            details.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
            self.log().record(change(RecordKind::System, None, details));
        }
    }

    pub(crate) fn gateway_stopped(&self) {
        if self.is_daemon() {
            self.log()
                .record(change(RecordKind::System, None, event("stop")));
        }
    }

    /// Records a configuration that was put in force.
    pub(crate) fn configuration_reloaded(&self) {
        self.log()
            .record(change(RecordKind::ConfigChange, None, event("reloaded")));
    }

    /// Records a configuration that could not be used.
    pub(crate) fn configuration_refused(&self, problem: &str) {
        self.log().record(LogEvent {
            status: Status::Error,
            error: Some(("INVALID_CONFIGURATION".to_owned(), problem.to_owned())),
            ..change(RecordKind::ConfigChange, None, event("refused"))
        });
    }

    /// Records servers that came, went or changed.
    pub(crate) fn servers_changed(
        &self,
        before: &HashMap<Arc<str>, Arc<ServerSettings>>,
        after: &HashMap<Arc<str>, Arc<ServerSettings>>,
    ) {
        if !self.is_daemon() {
            return;
        }
        let mut changes: Vec<(&str, &str)> = Vec::new();
        for (name, server) in after {
            let word = match before.get(name) {
                None => Some("added"),
                Some(old) => change_of_server(old, server),
            };
            changes.extend(word.map(|word| (&**name, word)));
        }
        let gone = before.keys().filter(|name| !after.contains_key(*name));
        changes.extend(gone.map(|name| (&**name, "removed")));
        changes.sort_unstable();
        for (server, word) in changes {
            self.log()
                .record(change(RecordKind::ServerChange, Some(server), event(word)));
        }
    }

    /// Records a server that somebody had started anew.
    pub(crate) fn server_restarted(&self, server: &str) {
        let details = event("restarted");
        self.log()
            .record(change(RecordKind::ServerChange, Some(server), details));
    }

    /// Records that a server can be called, or failed.
    pub(crate) fn server_state_changed(&self, server: &str, state: &UpstreamState) {
        if !self.is_daemon() {
            return;
        }
        let of_server = |word| change(RecordKind::ServerChange, Some(server), event(word));
        match state {
            UpstreamState::Ready { .. } => self.log().record(of_server("ready")),
            UpstreamState::Failed { reason, .. } => self.log().record(LogEvent {
                status: Status::Error,
                error: Some((
                    Code::UpstreamUnavailable.as_str().to_owned(),
                    reason.to_string(),
                )),
                ..of_server("failed")
            }),
            // It starts again when it is needed; nothing has changed for anybody.
            _ => {}
        }
    }

    /// Records which tools of a server came, went and changed.
    pub(crate) fn tools_changed(&self, server: &str, before: &Definitions, after: &Definitions) {
        let details = differences(before, after);
        if self.is_daemon() && !details.is_empty() {
            self.log()
                .record(change(RecordKind::ToolChange, Some(server), details));
        }
    }
}

/// Word for a change of a server.
fn change_of_server(old: &ServerSettings, new: &ServerSettings) -> Option<&'static str> {
    if old.enabled != new.enabled {
        return Some(if new.enabled { "enabled" } else { "disabled" });
    }
    if old.quarantined != new.quarantined {
        return Some(if new.quarantined {
            "quarantined"
        } else {
            "approved"
        });
    }
    if old.needs_restart(new) {
        return Some("changed");
    }
    (old.tools != new.tools).then_some("tools configured")
}

/// Tools that came, went and changed.
fn differences(before: &Definitions, after: &Definitions) -> Map<String, Value> {
    let added = after.keys().filter(|name| !before.contains_key(*name));
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    let changed = after.iter().filter_map(|(name, definition)| {
        let old = before.get(name)?;
        (old != definition).then_some(name)
    });
    let lists = [
        ("added", added.collect::<Vec<_>>()),
        ("removed", removed.collect()),
        ("changed", changed.collect()),
    ];
    let named = lists.into_iter().filter(|(_, names)| !names.is_empty());
    let named: Map<String, Value> = named
        .map(|(word, names)| (word.to_owned(), json!(names)))
        .collect();
    if named.is_empty() {
        return named;
    }
    let mut details = event("tools changed");
    details.extend(named);
    details
}

fn event(word: &str) -> Map<String, Value> {
    let mut details = Map::new();
    details.insert("event".to_owned(), json!(word));
    details
}

fn change(kind: RecordKind, server: Option<&str>, details: Map<String, Value>) -> LogEvent {
    LogEvent {
        kind,
        server: server.map(str::to_owned),
        tool: None,
        status: Status::Success,
        error: None,
        details,
    }
}
