//! Log of one running gateway.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_activity::{
    Archive, Engine, Log, LogHealth, LogOptions, LogRole, RecordingPolicy, StoreError,
};
use tokio::sync::watch;

use super::passed_on::PassedOnRequests;
use crate::background::Background;
use crate::settings::{Durability, Settings, StoreAddress, redaction};

/// Period of looking for records that need not be stored any longer.
const PRUNE_PERIOD: Duration = Duration::from_mins(1);

/// Log of one running gateway: records of calls, records of changes, and their removal.
#[derive(Debug)]
pub struct Records {
    log: Log,
    role: LogRole,
    pub(super) background: Background,
    /// Client requests of servers that clients come back for.
    pub(super) passed_on: Arc<PassedOnRequests>,
    /// Time that a client has to answer a client request.
    input_timeout: Mutex<Duration>,
}

impl Records {
    /// Opens the log that the settings name.
    pub(crate) fn open(
        settings: &Settings,
        role: LogRole,
        background: Background,
    ) -> Result<Self, StoreError> {
        let options = LogOptions {
            data_dir: settings.data_dir.clone(),
            engine: engine(settings),
            role,
            policy: recording_policy(settings),
        };
        Ok(Self {
            log: Log::start(&options, redaction::current())?,
            role,
            background,
            passed_on: Arc::default(),
            input_timeout: Mutex::new(settings.input_timeout),
        })
    }

    /// Archive of everything that was recorded.
    pub fn archive(&self) -> &Archive {
        self.log.archive()
    }

    /// Changes after each commit of the log.
    pub fn recorded(&self) -> watch::Receiver<u64> {
        self.log.recorded()
    }

    /// Health of the log.
    pub fn health(&self) -> LogHealth {
        self.log.health()
    }

    /// Log itself.
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Takes on what other settings say about records.
    pub(crate) fn apply(&self, settings: &Settings) {
        self.log.set_redactor(redaction::current());
        self.log.set_policy(recording_policy(settings));
        *self.lock_input_timeout() = settings.input_timeout;
    }

    /// Time that a client has to answer a client request.
    pub(super) fn input_timeout(&self) -> Duration {
        *self.lock_input_timeout()
    }

    fn lock_input_timeout(&self) -> MutexGuard<'_, Duration> {
        let timeout = self.input_timeout.lock();
        timeout.unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes records from before a moment; tells how many. What was begun is brought to its end
    /// even if nobody waits for it any more.
    pub async fn prune_before(&self, moment: jiff::Timestamp) -> Result<u64, StoreError> {
        let log = self.log.clone();
        let pruning = async move { log.prune_before(moment).await };
        let pruned = self.background.spawn_until_stop(pruning).await;
        let stops = || StoreError::Unavailable("the gateway stops".to_owned());
        pruned.ok().flatten().unwrap_or_else(|| Err(stops()))
    }

    /// Removes old records from time to time, for as long as the gateway runs.
    pub(crate) fn keep_pruned(&self) {
        if !self.is_daemon() {
            return;
        }
        let (log, stopping) = (self.log.clone(), self.background.stopping.clone());
        // Stopped between two rounds only, so that a removal under way is done before the log ends.
        self.background.spawn(async move {
            let mut due = tokio::time::interval(PRUNE_PERIOD);
            while stopping.run_until_cancelled(due.tick()).await.is_some() {
                match log.prune(jiff::Timestamp::now()).await {
                    Ok(0) => {}
                    Ok(count) => tracing::info!(count, "old records were removed"),
                    Err(error) => tracing::warn!(%error, "old records cannot be removed"),
                }
            }
        });
    }

    /// Whether this process is the daemon. A command lives for one call; what its servers do is no
    /// change of anything.
    pub(crate) fn is_daemon(&self) -> bool {
        self.role == LogRole::Daemon
    }
}

/// Engine that the settings have records kept in.
pub(super) fn engine(settings: &Settings) -> Engine {
    match &settings.store.url {
        StoreAddress::Sqlite => Engine::Sqlite,
        StoreAddress::Postgres(address) => Engine::Postgres(address.expose().to_owned()),
    }
}

/// Recording policy of the settings.
fn recording_policy(settings: &Settings) -> RecordingPolicy {
    let activity = &settings.activity;
    RecordingPolicy {
        max_payload_bytes: activity.max_payload_bytes,
        is_strict: activity.durability == Durability::Strict,
        retention: Duration::from_hours(24 * u64::from(activity.retention_days)),
        max_records: activity.max_records,
    }
}
