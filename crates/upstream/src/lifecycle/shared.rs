//! Parts of an upstream that its task and its handles share.

use std::sync::{Arc, Mutex};

use mcpproxy_redact::Mask;
use tokio::time::Instant;

use super::fair_slots::FairSlots;
use super::readiness::{LiveConnection, Need, Readiness};
use crate::process::stderr::StderrTail;
use crate::{CallError, Runtime, Spec, lock};

/// Upstream, seen from its task and from its handles.
pub(crate) struct SharedUpstream {
    pub(crate) spec: Spec,
    pub(crate) runtime: Runtime,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) tail: Arc<StderrTail>,
    /// Mask for the upstream's secrets in what it says itself.
    pub(crate) mask: Mask,
    /// Slots for the calls that may run at the same time.
    pub(crate) slots: FairSlots,
    pub(crate) last_used: Mutex<Instant>,
}

impl SharedUpstream {
    /// Connection to make a request on again that failed; nothing where it must not be made again.
    ///
    /// What was not sent goes to the next connection: repeating it cannot do anything twice. What was
    /// sent is repeated where that is allowed and the server is still there, only its response got lost on
    /// the way. A program that died over a request is not asked the same thing again.
    pub(crate) async fn repeat_on(
        &self,
        live: &LiveConnection,
        failure: &CallError,
        may_repeat: bool,
        deadline: Instant,
    ) -> Result<Option<LiveConnection>, CallError> {
        match failure {
            CallError::Disconnected { sent: false, .. } => {
                let next = Need::ConnectionAfter(&live.connection);
                self.readiness.wait(next, deadline).await.map(Some)
            }
            CallError::Disconnected { sent: true, .. }
                if may_repeat && live.connection.outlives_a_call() =>
            {
                Ok(Some(live.clone()))
            }
            _ => Ok(None),
        }
    }

    /// Remembers that somebody uses the upstream now.
    pub(crate) fn touch(&self) {
        if self.spec.idle_stop.is_some() {
            *lock(&self.last_used) = Instant::now();
        }
    }
}
