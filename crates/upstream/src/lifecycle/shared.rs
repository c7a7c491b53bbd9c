//! Parts of an upstream that its task and its handles share.

use std::sync::{Arc, Mutex, PoisonError};

use mcpproxy_redact::Mask;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::readiness::Readiness;
use crate::Runtime;
use crate::process::stderr::StderrTail;
use crate::spec::Spec;

/// One upstream, seen from its task and from its handles.
pub(crate) struct SharedUpstream {
    pub(crate) spec: Spec,
    pub(crate) runtime: Runtime,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) tail: Arc<StderrTail>,
    /// Mask for the upstream's secrets in what it says itself.
    pub(crate) mask: Mask,
    /// Permits for the calls that may run at the same time.
    pub(crate) slots: Semaphore,
    pub(crate) slot_count: usize,
    pub(crate) last_used: Mutex<Instant>,
}

// === impl SharedUpstream ===

impl SharedUpstream {
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
