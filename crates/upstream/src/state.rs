//! How an upstream is doing, and how a call to one can fail.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcpproxy_redact::Mask;
use mcpproxy_wire::{Json, Revision, RpcError};
use serde_json::Value;

/// How an upstream is doing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum State {
    /// It is being connected to; calls wait for it.
    Starting,
    /// It answers.
    Ready {
        /// Since when.
        since: SystemTime,
        /// Name and version as it gave them.
        server_info: Option<Json>,
        /// The revision spoken with it; nothing for tools built into the program.
        revision: Option<Revision>,
        /// The process we started for it: its guard, where there is one.
        pid: Option<u32>,
    },
    /// It was stopped because nobody used it, and starts on use.
    Idle,
    /// It could not be reached, or was lost; the next attempt is planned.
    Failed {
        /// What happened, without secrets.
        reason: Arc<str>,
        /// How often in a row.
        attempt: u32,
        /// How long until the next attempt, counted from when the state was entered.
        retry_in: Duration,
    },
    /// It was stopped for good.
    Stopped,
}

/// Why a call brought no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server is not there, or refuses us; nothing was executed.
    #[error("{reason}")]
    Unavailable {
        /// What is wrong with it.
        reason: Arc<str>,
    },
    /// The deadline passed.
    #[error("no answer within {after:?}")]
    Timeout {
        /// How long was waited.
        after: Duration,
        /// Whether the call may have taken effect.
        sent: bool,
    },
    /// The connection was lost before the answer came.
    #[error("{reason}")]
    Disconnected {
        /// Whether the call may have taken effect.
        sent: bool,
        /// What is known of the loss.
        reason: Arc<str>,
    },
    /// The server answered with an error of the protocol.
    #[error("{0}")]
    Rpc(RpcError),
    /// The server answered with something that is no answer; the call may have taken effect.
    #[error("{reason}")]
    Malformed {
        /// What is wrong with it.
        reason: Arc<str>,
    },
}

// === impl State ===

impl State {
    /// One word for it: `starting`, `ready`, `idle`, `failed`, `stopped`.
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

// === impl CallError ===

impl CallError {
    pub(crate) fn unavailable(reason: impl Into<Arc<str>>) -> Self {
        Self::Unavailable {
            reason: reason.into(),
        }
    }

    pub(crate) fn malformed(reason: impl Into<Arc<str>>) -> Self {
        Self::Malformed {
            reason: reason.into(),
        }
    }

    pub(crate) fn disconnected(sent: bool, reason: impl Into<Arc<str>>) -> Self {
        Self::Disconnected {
            sent,
            reason: reason.into(),
        }
    }

    /// The same error with the upstream's secrets hidden in what the upstream says.
    pub(crate) fn masked(self, mask: &Mask) -> Self {
        match self {
            Self::Rpc(mut error) => {
                error.message = mask.apply(&error.message).into_owned();
                if let Some(data) = &mut error.data {
                    mask_strings(data, mask);
                }
                Self::Rpc(error)
            }
            Self::Malformed { reason } => Self::malformed(mask.apply(&reason)),
            other => other,
        }
    }

    /// Whether the call may have taken effect at the server.
    pub fn may_have_taken_effect(&self) -> bool {
        match self {
            Self::Unavailable { .. } => false,
            Self::Timeout { sent, .. } | Self::Disconnected { sent, .. } => *sent,
            Self::Rpc(_) | Self::Malformed { .. } => true,
        }
    }
}

fn mask_strings(value: &mut Value, mask: &Mask) {
    match value {
        Value::String(text) => *text = mask.apply(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_strings(item, mask)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|value| mask_strings(value, mask)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
