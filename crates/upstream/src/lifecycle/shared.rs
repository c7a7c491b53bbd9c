//! Parts of an upstream that its task and its handles share.

use std::sync::{Arc, Mutex};

use mcpproxy_redact::Mask;
use tokio::time::Instant;

use super::fair_slots::FairSlots;
use super::readiness::{LiveConnection, Need, Readiness};
use crate::process::server_log::{LogSource, ServerLog};
use crate::process::stderr::StderrTail;
use crate::{CallError, Runtime, Spec, lock};

/// Upstream, seen from its task and from its handles.
pub(crate) struct SharedUpstream {
    pub(crate) spec: Spec,
    pub(crate) runtime: Runtime,
    pub(crate) readiness: Arc<Readiness>,
    /// End of what the newest process wrote to its standard error.
    pub(crate) tail: Mutex<Arc<StderrTail>>,
    /// Log of all that its processes print; only programs have one.
    pub(crate) log: Option<Arc<ServerLog>>,
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

    /// Empty tail for the lines of a process that is going to start, in place of the one before.
    pub(crate) fn begin_tail(&self) -> Arc<StderrTail> {
        let tail = Arc::new(StderrTail::new(self.mask.clone()));
        *lock(&self.tail) = Arc::clone(&tail);
        tail
    }

    /// The last lines that the newest process wrote to its standard error, at most so many, secrets hidden.
    pub(crate) fn last_lines(&self, most: usize) -> Vec<String> {
        let tail = Arc::clone(&lock(&self.tail));
        tail.last(most)
    }

    /// Writes a line of ours to the log of the server.
    pub(crate) fn log(&self, text: &str) {
        if let Some(log) = &self.log {
            log.line(LogSource::Gateway, text.as_bytes());
        }
    }

    /// Remembers that somebody uses the upstream now.
    pub(crate) fn touch(&self) {
        if self.spec.idle_stop.is_some() {
            *lock(&self.last_used) = Instant::now();
        }
    }
}
