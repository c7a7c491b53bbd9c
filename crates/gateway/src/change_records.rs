//! What goes on the record without being asked for: starts and stops, and changes of servers,
//! tools and configuration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_activity::{
    Engine, Log, LogEvent, LogOptions, RecordKind, RecordingPolicy, Role, Status, StoreError,
};
use mcpproxy_catalog::{Catalog, ServerListing};
use mcpproxy_upstream::{Observer, UpstreamState};
use mcpproxy_wire::Tool;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::Gateway;
use crate::contract_check::tell_of_definitions;
use crate::redaction;
use crate::servers::{Servers, needs_restart};
use crate::settings::{Durability, Settings, Store};

/// How often records that need not be kept any longer are looked for.
const PRUNE_PERIOD: Duration = Duration::from_mins(1);

/// Opens the log that the settings name.
pub(crate) fn open_log(settings: &Settings, role: Role) -> Result<Log, StoreError> {
    let options = LogOptions {
        data_dir: settings.data_dir.clone(),
        engine: engine(settings),
        role,
        policy: recording_policy(settings),
    };
    Log::start(&options, redaction::current())
}

/// Where the settings have records kept.
pub(crate) fn engine(settings: &Settings) -> Engine {
    match &settings.store {
        Store::Sqlite => Engine::Sqlite,
        Store::Postgres(address) => Engine::Postgres(address.expose().to_owned()),
    }
}

/// What the settings say about records.
pub(crate) fn recording_policy(settings: &Settings) -> RecordingPolicy {
    let activity = &settings.activity;
    RecordingPolicy {
        max_payload_bytes: activity.max_payload_bytes,
        is_strict: activity.durability == Durability::Strict,
        retention: Duration::from_hours(24 * u64::from(activity.retention_days)),
        max_records: activity.max_records,
    }
}

/// Puts what upstreams report into the catalog, and what changes on the record.
pub(crate) struct UpstreamObserver {
    pub(crate) catalog: Arc<Catalog>,
    /// Counts changes of what servers list besides tools.
    pub(crate) offerings_changed: Arc<watch::Sender<u64>>,
    pub(crate) log: Option<Log>,
}

impl Observer for UpstreamObserver {
    fn listed(&self, server: &str, tools: Vec<Tool>) {
        let before = self.definitions(server);
        self.catalog.replace(server, ServerListing { tools });
        tell_of_definitions(server, &self.catalog.snapshot());
        let (Some(log), Some(before)) = (&self.log, before) else {
            return;
        };
        let after = self.definitions(server).unwrap_or_default();
        let change = differences(&before, &after);
        if !change.is_empty() {
            log.record(note(RecordKind::ToolChange, Some(server), change));
        }
    }

    fn offerings_changed(&self, server: &str) {
        tracing::debug!(server, "server lists other prompts or resources");
        self.offerings_changed
            .send_modify(|generation| *generation += 1);
    }

    fn state_changed(&self, server: &str, state: &UpstreamState) {
        tracing::debug!(server, ?state, "server changed its state");
        let Some(log) = &self.log else {
            return;
        };
        match state {
            UpstreamState::Ready { .. } => {
                log.record(note(
                    RecordKind::ServerChange,
                    Some(server),
                    action("ready"),
                ));
            }
            UpstreamState::Failed { reason, .. } => log.record(LogEvent {
                status: Status::Error,
                error: Some(("UPSTREAM_UNAVAILABLE".to_owned(), reason.to_string())),
                ..note(RecordKind::ServerChange, Some(server), action("failed"))
            }),
            // It starts again when it is needed; nothing has changed for anybody.
            _ => {}
        }
    }
}

impl UpstreamObserver {
    /// The tools of a server as it sent them; nothing if it has not listed any yet.
    fn definitions(&self, server: &str) -> Option<BTreeMap<String, String>> {
        let snapshot = self.catalog.snapshot();
        let state = snapshot.server(server).filter(|state| state.is_listed())?;
        let definitions = state.tools().map(|entry| {
            let tool = entry.tool();
            (tool.name.to_string(), tool.raw.text().to_owned())
        });
        Some(definitions.collect())
    }
}

impl Gateway {
    pub(crate) fn note_start(&self) {
        if self.role == Role::Daemon {
            let mut details = action("start");
            details.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
            self.log.record(note(RecordKind::System, None, details));
        }
    }

    pub(crate) fn note_stop(&self) {
        if self.role == Role::Daemon {
            self.log
                .record(note(RecordKind::System, None, action("stop")));
        }
    }

    /// A configuration that was taken, or could not be.
    pub(crate) fn note_configuration(&self, problem: Option<&str>) {
        let noted = match problem {
            None => note(RecordKind::ConfigChange, None, action("reloaded")),
            Some(problem) => LogEvent {
                status: Status::Error,
                error: Some(("INVALID_CONFIGURATION".to_owned(), problem.to_owned())),
                ..note(RecordKind::ConfigChange, None, action("refused"))
            },
        };
        self.log.record(noted);
    }

    /// Servers that came, went or changed.
    pub(crate) fn note_servers(&self, before: &Servers, after: &Servers) {
        if self.role != Role::Daemon {
            return;
        }
        let mut changes: Vec<(&str, &str)> = Vec::new();
        for (name, server) in after {
            match before.get(name) {
                None => changes.push((name, "added")),
                Some(old) if old.settings.enabled != server.settings.enabled => {
                    let word = if server.settings.enabled {
                        "enabled"
                    } else {
                        "disabled"
                    };
                    changes.push((name, word));
                }
                Some(old) if old.settings.quarantined != server.settings.quarantined => {
                    let word = if server.settings.quarantined {
                        "quarantined"
                    } else {
                        "approved"
                    };
                    changes.push((name, word));
                }
                Some(old) if needs_restart(&old.settings, &server.settings) => {
                    changes.push((name, "changed"));
                }
                Some(old) if old.settings.tools != server.settings.tools => {
                    changes.push((name, "tools configured"));
                }
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|name| !after.contains_key(*name));
        changes.extend(gone.map(|name| (&**name, "removed")));
        changes.sort_unstable();
        for (server, word) in changes {
            self.log
                .record(note(RecordKind::ServerChange, Some(server), action(word)));
        }
    }

    /// A server that somebody had started anew.
    pub(crate) fn note_restarted(&self, server: &str) {
        let restarted = note(RecordKind::ServerChange, Some(server), action("restarted"));
        self.log.record(restarted);
    }

    /// Removes records from before a moment; tells how many. What was begun is brought to its end
    /// even if nobody waits for it any more.
    pub async fn prune_before(&self, moment: jiff::Timestamp) -> Result<u64, StoreError> {
        let log = self.log.clone();
        let stopping = self.stopping.clone();
        let pruning = async move {
            tokio::select! {
                removed = log.prune_before(moment) => removed,
                () = stopping.cancelled() => Err(stopped()),
            }
        };
        let pruning = self.tasks.spawn_on(pruning, &self.general);
        pruning.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Removes old records from time to time, for as long as the gateway runs.
    pub(crate) fn keep_pruned(&self) {
        if self.role != Role::Daemon {
            return;
        }
        let log = self.log.clone();
        let stopping = self.stopping.clone();
        self.tasks.spawn(async move {
            let mut due = tokio::time::interval(PRUNE_PERIOD);
            loop {
                tokio::select! {
                    () = stopping.cancelled() => return,
                    _ = due.tick() => {}
                }
                match log.prune(jiff::Timestamp::now()).await {
                    Ok(0) => {}
                    Ok(count) => tracing::info!(count, "old records were removed"),
                    Err(error) => tracing::warn!(%error, "old records cannot be removed"),
                }
            }
        });
    }
}

/// Which tools came, went and changed.
fn differences(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Map<String, Value> {
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
    let mut details = action("tools changed");
    details.extend(named);
    details
}

fn stopped() -> StoreError {
    StoreError::Unavailable("the gateway stops".to_owned())
}

fn action(word: &str) -> Map<String, Value> {
    let mut details = Map::new();
    details.insert("event".to_owned(), json!(word));
    details
}

fn note(kind: RecordKind, server: Option<&str>, details: Map<String, Value>) -> LogEvent {
    LogEvent {
        kind,
        server: server.map(str::to_owned),
        tool: None,
        status: Status::Success,
        error: None,
        details,
    }
}
