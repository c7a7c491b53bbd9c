//! Failures of calls to an upstream.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_redact::Mask;
use mcpproxy_wire::{RpcError, RpcResult};
use tokio::time::{Instant, timeout_at};

use crate::StartAttempt;

/// Response of a server to a request.
pub(crate) type UpstreamResponse = Result<RpcResult, CallError>;

/// Reason why a call brought no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Server not there, or refusing us; nothing was executed.
    #[error("{reason}")]
    Unavailable {
        /// Defect, for people.
        reason: Arc<str>,
    },
    /// Deadline passed.
    #[error("no answer within {after:?}")]
    Timeout {
        /// Time that was waited.
        after: Duration,
        /// Whether the call may have taken effect.
        sent: bool,
    },
    /// Deadline passed while the server was still starting; nothing was sent.
    #[error("still starting, attempt {}", start.attempt)]
    StillStarting {
        /// Time that was waited.
        after: Duration,
        /// Attempt that was under way.
        start: Box<StartAttempt>,
    },
    /// Connection lost before the response came.
    #[error("{reason}")]
    Disconnected {
        /// Whether the call may have taken effect.
        sent: bool,
        /// Loss, as far as it is known.
        reason: Arc<str>,
    },
    /// Error of the protocol in place of a result.
    #[error("{0}")]
    Rpc(RpcError),
    /// Response that is none; the call may have taken effect.
    #[error("{reason}")]
    Malformed {
        /// Defect, for people.
        reason: Arc<str>,
    },
}

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

    /// Error with the upstream's secrets hidden in what the upstream says.
    pub(crate) fn masked(self, mask: &Mask) -> Self {
        match self {
            Self::Rpc(mut error) => {
                error.message = mask.apply(&error.message).into_owned();
                if let Some(data) = &mut error.data {
                    mask.apply_to(data);
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
            Self::Unavailable { .. } | Self::StillStarting { .. } => false,
            Self::Timeout { sent, .. } | Self::Disconnected { sent, .. } => *sent,
            Self::Rpc(_) | Self::Malformed { .. } => true,
        }
    }
}

/// Waits until a deadline; `sent` is whether the call may have taken effect by then.
pub(crate) async fn until_deadline<T>(
    deadline: Instant,
    sent: bool,
    work: impl Future<Output = T>,
) -> Result<T, CallError> {
    let started = Instant::now();
    timeout_at(deadline, work).await.map_err(|_| {
        let after = started.elapsed();
        CallError::Timeout { after, sent }
    })
}
