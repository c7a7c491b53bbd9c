//! State of an upstream.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcpproxy_wire::{Json, Revision};

/// State of an upstream.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum UpstreamState {
    /// Being connected to; calls wait for it.
    Starting(StartAttempt),
    /// Ready for calls.
    Ready {
        /// Time since when it is ready.
        since: SystemTime,
        /// Name and version as it gave them.
        server_info: Option<Json>,
        /// Revision spoken with it; nothing for tools built into the program.
        revision: Option<Revision>,
        /// Process that we started for it: its guard, where there is one.
        pid: Option<u32>,
    },
    /// Stopped because nobody used it; starts on use.
    Idle,
    /// Lost, or never reached; the next attempt is planned.
    Failed {
        /// Reason, without secrets.
        reason: Arc<str>,
        /// Number of failures in a row.
        attempt: u32,
        /// Time of the failure.
        since: SystemTime,
        /// Time until the next attempt, counted from the failure; nothing if only another configuration or a restart
        /// brings one.
        retry_in: Option<Duration>,
    },
    /// Stopped for good.
    Stopped,
}

/// Attempt to start a server, as far as it has got.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StartAttempt {
    /// Number of the attempt, counted from the last time that the server was well.
    pub attempt: u32,
    /// Time since when it is under way.
    pub since: SystemTime,
    /// Thing that it waits for.
    pub waiting_for: StartWait,
    /// Reason why the attempt before failed, without secrets.
    pub last_error: Option<Arc<str>>,
}

/// Thing that a starting server waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartWait {
    /// Slot among the servers that start at once.
    Slot,
    /// Its command, which installs a package before the server itself runs. Nobody sees when that is done.
    Installation,
    /// Its answer to the first request.
    Answer,
    /// Its list of tools.
    Tools,
}

// === impl StartAttempt ===

impl StartAttempt {
    /// Attempt that begins now.
    pub(crate) fn begin(
        attempt: u32,
        waiting_for: StartWait,
        last_error: Option<Arc<str>>,
    ) -> Self {
        Self {
            attempt,
            since: SystemTime::now(),
            waiting_for,
            last_error,
        }
    }
}

// === impl StartWait ===

impl StartWait {
    /// Words for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slot => "a start slot",
            Self::Installation => "installing",
            Self::Answer => "its answer",
            Self::Tools => "its tools",
        }
    }
}

// === impl UpstreamState ===

impl UpstreamState {
    /// Word for it: `starting`, `ready`, `idle`, `failed`, `stopped`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Starting(_) => "starting",
            Self::Ready { .. } => "ready",
            Self::Idle => "idle",
            Self::Failed { .. } => "failed",
            Self::Stopped => "stopped",
        }
    }
}
