//! Records of changes: starts and stops, and changes of servers, tools and configuration.

use std::collections::BTreeMap;

use mcpproxy_activity::{LogEvent, RecordKind, Status};
use mcpproxy_policy::TokenGrant;
use mcpproxy_upstream::UpstreamState;
use mcpproxy_wire::ListedItem;
use serde_json::{Map, json};

use super::Records;
use crate::failure::Code;
use crate::settings::ServerSettings;

impl Records {
    pub(crate) fn gateway_started(&self) {
        let mut started = change(RecordKind::System, None, "start");
        let version = json!(env!("CARGO_PKG_VERSION"));
        started.details.insert("version".to_owned(), version);
        self.record_of_daemon(started);
    }

    pub(crate) fn gateway_stopped(&self) {
        self.record_of_daemon(change(RecordKind::System, None, "stop"));
    }

    /// Records a configuration that was put in force.
    pub(crate) fn configuration_reloaded(&self) {
        let reloaded = change(RecordKind::ConfigChange, None, "reloaded");
        self.log().record(reloaded);
    }

    /// Records a configuration that could not be used.
    pub(crate) fn configuration_refused(&self, problem: &str) {
        let refused = change(RecordKind::ConfigChange, None, "refused");
        self.log()
            .record(failed(refused, "INVALID_CONFIGURATION", problem));
    }

    /// Records a token that was made, revoked or given another secret, with what a new one grants.
    pub(crate) fn token_changed(&self, name: &str, word: &str, grant: Option<&TokenGrant>) {
        let mut changed = change(RecordKind::TokenChange, None, word);
        changed.details.insert("token".to_owned(), json!(name));
        if let Some(grant) = grant {
            changed.details.insert("grant".to_owned(), json!(grant));
        }
        self.log().record(changed);
    }

    /// Records a server that came, went or changed.
    pub(crate) fn server_changed(
        &self,
        server: &str,
        before: Option<&ServerSettings>,
        after: Option<&ServerSettings>,
    ) {
        let word = match (before, after) {
            (None, _) => Some("added"),
            (_, None) => Some("removed"),
            (Some(old), Some(new)) => change_of_server(old, new),
        };
        if let Some(word) = word {
            self.record_of_daemon(change(RecordKind::ServerChange, Some(server), word));
        }
    }

    /// Records a change of a server in the configuration that a command without a daemon made.
    pub(crate) fn server_configured(&self, server: &str, word: &str) {
        self.log()
            .record(change(RecordKind::ServerChange, Some(server), word));
    }

    /// Records a server that somebody had started anew.
    pub(crate) fn server_restarted(&self, server: &str) {
        let restarted = change(RecordKind::ServerChange, Some(server), "restarted");
        self.log().record(restarted);
    }

    /// Records that somebody accepted what a server of the tool contract announces now: tools whose definition was
    /// replaced, and those that were forgotten.
    pub(crate) fn contract_accepted(
        &self,
        server: &str,
        replaced: &[String],
        forgotten: &[String],
    ) {
        let mut event = change(RecordKind::ToolChange, Some(server), "contract accepted");
        for (word, names) in [("replaced", replaced), ("forgotten", forgotten)] {
            event.details.insert(word.to_owned(), json!(names));
        }
        self.log().record(event);
    }

    /// Records that a server can be called, or failed.
    pub(crate) fn server_state_changed(&self, server: &str, state: &UpstreamState) {
        let of_server = |word| change(RecordKind::ServerChange, Some(server), word);
        self.record_of_daemon(match state {
            UpstreamState::Ready { .. } => of_server("ready"),
            UpstreamState::Failed { reason, .. } => {
                let code = Code::UpstreamUnavailable.as_str();
                failed(of_server("failed"), code, reason)
            }
            // It starts again when it is needed; nothing has changed for anybody.
            _ => return,
        });
    }

    /// Records which tools of a server came, went and changed.
    pub(crate) fn tools_changed(&self, server: &str, before: &[ListedItem], after: &[ListedItem]) {
        let (before, after) = (definitions(before), definitions(after));
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
        let named = named.map(|(word, names)| (word.to_owned(), json!(names)));
        let mut event = change(RecordKind::ToolChange, Some(server), "tools changed");
        event.details.extend(named);
        if event.details.len() > 1 {
            self.record_of_daemon(event);
        }
    }

    /// Records what is no change where a command lives for one call.
    fn record_of_daemon(&self, event: LogEvent) {
        if self.is_daemon() {
            self.log().record(event);
        }
    }
}

/// Word for a change of a server.
fn change_of_server(old: &ServerSettings, new: &ServerSettings) -> Option<&'static str> {
    if old.enabled != new.enabled {
        return Some(if new.enabled { "enabled" } else { "disabled" });
    }
    match (old.quarantined, new.quarantined) {
        (false, true) => Some("quarantined"),
        (true, false) => Some("approved"),
        _ if old.needs_restart(new) => Some("changed"),
        _ => {
            let is_same = old.tools == new.tools
                && old.enabled_tools == new.enabled_tools
                && old.disabled_tools == new.disabled_tools
                && old.coerce == new.coerce
                && old.check_arguments == new.check_arguments;
            (!is_same).then_some("tools configured")
        }
    }
}

/// Definitions of tools as their server sent them, by name.
fn definitions(tools: &[ListedItem]) -> BTreeMap<&str, &str> {
    let definitions = tools.iter().map(|tool| (&*tool.key, tool.raw.text()));
    definitions.collect()
}

fn change(kind: RecordKind, server: Option<&str>, event: &str) -> LogEvent {
    LogEvent {
        kind,
        server: server.map(str::to_owned),
        tool: None,
        status: Status::Success,
        error: None,
        details: Map::from_iter([("event".to_owned(), json!(event))]),
    }
}

fn failed(event: LogEvent, code: &str, reason: &str) -> LogEvent {
    LogEvent {
        status: Status::Error,
        error: Some((code.to_owned(), reason.to_owned())),
        ..event
    }
}
