//! What the task and the handles of an upstream share.

use std::sync::{Arc, Mutex, PoisonError};

use mcpproxy_redact::Mask;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::Runtime;
use crate::board::Board;
use crate::spec::Spec;
use crate::stderr::Tail;

/// One upstream, seen from its task and from its handles.
pub(crate) struct Shared {
    pub(crate) spec: Spec,
    pub(crate) runtime: Runtime,
    pub(crate) board: Arc<Board>,
    pub(crate) tail: Arc<Tail>,
    /// Hides the upstream's secrets in what it says itself.
    pub(crate) mask: Mask,
    /// One for each call that may run at the same time.
    pub(crate) slots: Semaphore,
    pub(crate) slot_count: usize,
    pub(crate) last_used: Mutex<Instant>,
}

// === impl Shared ===

impl Shared {
    pub(crate) fn last_used(&self) -> Instant {
        *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers that somebody uses the upstream now.
    pub(crate) fn touch(&self) {
        if self.spec.idle_stop.is_some() {
            *self
                .last_used
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    }
}
