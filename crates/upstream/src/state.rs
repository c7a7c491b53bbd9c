//! State of an upstream.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcpproxy_wire::{Json, Revision};

/// State of an upstream.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum UpstreamState {
    /// Being connected to; calls wait for it.
    Starting,
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
        /// Time until the next attempt, counted from when the state was entered.
        retry_in: Duration,
    },
    /// Stopped for good.
    Stopped,
}

impl UpstreamState {
    /// Word for it: `starting`, `ready`, `idle`, `failed`, `stopped`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready { .. } => "ready",
            Self::Idle => "idle",
            Self::Failed { .. } => "failed",
            Self::Stopped => "stopped",
        }
    }
}
