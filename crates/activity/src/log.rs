//! Log: recording what happens.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use mcpproxy_redact::{OwnSecrets, Redactor};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};

use crate::archive::{Archive, Engine, open_store};
use crate::chain::files::{ChainFiles, LogRole};
use crate::draft::{Draft, DraftOutcome, RecordRedaction};
use crate::queue::{Ack, Room, WriteQueue, WriterCommand, written};
use crate::record::{RecordKind, Status};
use crate::store::published_tools::PublishedStore;
use crate::store::{OpenStore, Store, StoreError};
use crate::tokens::TokenStore;
use crate::writer::Writer;

/// Options that a log is started with.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// The folder of all state.
    pub data_dir: PathBuf,
    /// Engine that records are stored in.
    pub engine: Engine,
    /// Role of whoever writes.
    pub role: LogRole,
    /// Policy, which can change while the gateway runs.
    pub policy: RecordingPolicy,
}

/// Policy of recording: what is stored of a record, for how long, and what a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingPolicy {
    /// Bytes of arguments and of a response that are kept.
    pub max_payload_bytes: usize,
    /// Whether a call that writes waits until it is on disk.
    pub is_strict: bool,
    /// Time that a record is kept.
    pub retention: Duration,
    /// Number of records that are kept.
    pub max_records: Option<u64>,
}

/// Activity log, shared by everything that records something.
#[derive(Clone)]
pub struct Log(Arc<LogState>);

struct LogState {
    queue: Arc<WriteQueue>,
    archive: Archive,
    engine: Engine,
    policy: ArcSwap<RecordingPolicy>,
    redactor: ArcSwap<Redactor>,
    /// Calls by how they ended, in the order of [`Status::ALL`].
    counts: [AtomicU64; Status::ALL.len()],
    /// Calls on record that still wait for their outcome.
    under_way: AtomicU64,
    end: Mutex<Option<oneshot::Receiver<()>>>,
}

/// Counts of calls by how they ended, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = CallCounts))]
pub struct Counts {
    /// Calls and searches that worked.
    pub success: u64,
    /// Calls that failed.
    pub error: u64,
    /// Calls that were refused.
    pub blocked: u64,
    /// Calls whose outcome nobody saw.
    pub in_doubt: u64,
}

/// Health of the log.
#[derive(Debug, Clone)]
pub struct LogHealth {
    /// The engine: `sqlite` or `postgres`.
    pub store: &'static str,
    /// Reason that nothing can be written, while that is so.
    pub problem: Option<String>,
    /// Number of records that wait to be written.
    pub queued: usize,
    /// Number of refused calls that left no record, because there was no room for more.
    pub unrecorded_refusals: u64,
}

/// Event: something that happened without being asked for.
#[derive(Debug, Clone)]
pub struct LogEvent {
    /// Kind of what happened.
    pub kind: RecordKind,
    /// The server it is about.
    pub server: Option<String>,
    /// The tool it is about.
    pub tool: Option<String>,
    /// Status of what came of it.
    pub status: Status,
    /// Error: a code and a message.
    pub error: Option<(String, String)>,
    /// Details of what happened, for the metadata.
    pub details: Map<String, Value>,
}

impl Log {
    /// Opens the log and starts its writer. A store that does not answer is tried again; one that
    /// cannot be used stops the start.
    pub fn start(options: &LogOptions, redactor: Arc<Redactor>) -> Result<Self, StoreError> {
        let opened = open_store(&options.data_dir, &options.engine)?;
        Self::start_on(opened, options, redactor)
    }

    /// Starts the log on a store that is already open.
    pub fn start_on(
        opened: OpenStore,
        options: &LogOptions,
        redactor: Arc<Redactor>,
    ) -> Result<Self, StoreError> {
        let chain_files = ChainFiles::new(&options.data_dir);
        let queue = Arc::new(WriteQueue::new());
        let redaction = RecordRedaction {
            redactor: Arc::clone(&redactor),
            own: OwnSecrets::none(),
            limit: options.policy.max_payload_bytes,
        };
        let end = Writer::start(
            Arc::clone(&queue),
            opened.journal,
            chain_files.clone(),
            options.role,
            redaction,
        )?;
        Ok(Self(Arc::new(LogState {
            queue,
            archive: Archive::new(opened.store, chain_files, &options.engine),
            engine: options.engine.clone(),
            policy: ArcSwap::from_pointee(options.policy),
            redactor: ArcSwap::new(redactor),
            counts: Default::default(),
            under_way: AtomicU64::new(0),
            end: Mutex::new(Some(end)),
        })))
    }

    /// Records something that happened without being asked for.
    pub fn record(&self, event: LogEvent) {
        let Some(room) = self.queue().room_now(0) else {
            return self.queue().count_unrecorded();
        };
        self.push_event(event, room, None);
    }

    /// Records something that happened without being asked for, and waits until it is on disk.
    pub(crate) async fn record_durably(&self, event: LogEvent) -> Result<(), StoreError> {
        let room = self.queue().room(0, default_deadline()).await?;
        let (ack, acknowledged) = oneshot::channel();
        self.push_event(event, room, Some(ack));
        written(acknowledged, default_deadline()).await
    }

    fn push_event(&self, event: LogEvent, room: Room, ack: Option<Ack>) {
        let draft = Draft {
            server: event.server,
            tool: event.tool,
            details: event.details,
            ..Draft::new(event.kind, Arc::default(), self.redaction())
        };
        self.queue().push(WriterCommand::Record {
            draft: Arc::new(draft),
            outcome: Some(DraftOutcome::immediate(event.status, event.error)),
            ack,
            room: Some(room),
        });
    }

    /// Archive of everything that was recorded.
    pub fn archive(&self) -> &Archive {
        &self.0.archive
    }

    /// Tokens, in the same database.
    pub fn tokens(&self) -> TokenStore {
        TokenStore::beside(Store::clone(self.archive()))
    }

    /// Tools that servers published, in the same database.
    pub fn published_tools(&self) -> PublishedStore {
        PublishedStore::beside(Store::clone(self.archive()))
    }

    /// Counter that changes after each commit.
    pub fn recorded(&self) -> watch::Receiver<u64> {
        self.queue().commits.subscribe()
    }

    /// Counts of calls by how they ended.
    pub fn counts(&self) -> Counts {
        let count = |status: Status| self.0.counts[status as usize].load(Ordering::Relaxed);
        Counts {
            success: count(Status::Success),
            error: count(Status::Error),
            blocked: count(Status::Blocked),
            in_doubt: count(Status::InDoubt),
        }
    }

    /// Number of calls that are on record and still wait for their outcome.
    pub fn under_way(&self) -> u64 {
        self.0.under_way.load(Ordering::Relaxed)
    }

    /// Health of the log.
    pub fn health(&self) -> LogHealth {
        LogHealth {
            store: match self.0.engine {
                Engine::Sqlite => "sqlite",
                Engine::Postgres(_) => "postgres",
            },
            problem: self.queue().problem().map(|problem| problem.to_string()),
            queued: self.queue().len(),
            unrecorded_refusals: self.queue().unrecorded.load(Ordering::Relaxed),
        }
    }

    /// Sets the policy from now on.
    pub fn set_policy(&self, policy: RecordingPolicy) {
        self.0.policy.store(Arc::new(policy));
    }

    /// Sets the redactor from now on.
    pub fn set_redactor(&self, redactor: Arc<Redactor>) {
        self.0.redactor.store(redactor);
    }

    /// Policy of recording that holds now.
    pub fn policy(&self) -> RecordingPolicy {
        **self.0.policy.load()
    }

    /// Writes what waits and ends the chain in order.
    pub async fn stop(&self) {
        self.queue().push(WriterCommand::Stop);
        let end = self.0.end.lock();
        let end = end.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(end) = end {
            // A writer that panicked has nothing left to write.
            let _ = end.await;
        }
    }

    pub(crate) fn queue(&self) -> &WriteQueue {
        &self.0.queue
    }

    pub(crate) fn count(&self, status: Status) {
        self.0.counts[status as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_under_way(&self, change: i8) {
        if change > 0 {
            self.0.under_way.fetch_add(1, Ordering::Relaxed);
        } else {
            self.0.under_way.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn redaction(&self) -> RecordRedaction {
        RecordRedaction {
            redactor: self.0.redactor.load_full(),
            own: OwnSecrets::none(),
            limit: self.policy().max_payload_bytes,
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Log").field(&self.health()).finish()
    }
}

/// Deadline of a record's wait for its turn when its call has no deadline of its own.
pub(crate) fn default_deadline() -> Instant {
    Instant::now() + Duration::from_secs(30)
}
