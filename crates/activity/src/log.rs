//! Keeping records.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mcpproxy_policy::{Intent, Operation, Warning};
use serde::Serialize;
use uuid::Uuid;

use crate::{Caller, Kind, Status};

/// The record, shared by everything that writes to it.
#[derive(Debug, Clone, Default)]
pub struct Log(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    counts: Counts,
}

/// How many calls ended how, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
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

/// A record that is still open.
///
/// Dropping it closes it as in doubt if the call was sent, and as failed if it was not.
#[derive(Debug)]
pub struct Entry {
    log: Log,
    record: Record,
    began: Instant,
    closed: bool,
    sent: bool,
}

impl Log {
    /// Opens the record of a request.
    pub fn open(&self, kind: Kind, _caller: &Arc<Caller>, _operation: Option<Operation>) -> Entry {
        Entry {
            log: self.clone(),
            record: Record {
                id: Uuid::now_v7(),
                request_id: Uuid::now_v7(),
                kind,
                duration_ms: 0.0,
                server_name: None,
                tool_name: None,
                status: Status::InDoubt,
                error_code: None,
                warnings: Vec::new(),
            },
            began: Instant::now(),
            closed: false,
            sent: false,
        }
    }

    /// How many calls ended how.
    pub fn counts(&self) -> Counts {
        self.with(|kept| kept.counts)
    }

    fn keep(&self, record: Record) {
        self.with(|kept| match record.status {
            Status::Success => kept.counts.success += 1,
            Status::Error => kept.counts.error += 1,
            Status::Blocked => kept.counts.blocked += 1,
            Status::InDoubt => kept.counts.in_doubt += 1,
        });
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Kept) -> T) -> T {
        // A writer cannot leave the list half changed, so a poisoned lock is still good.
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// === impl Entry ===

impl Entry {
    /// The record's id, which the caller gets back.
    pub fn id(&self) -> Uuid {
        self.record.id
    }

    /// The request's id, which the caller gets back.
    pub fn request_id(&self) -> Uuid {
        self.record.request_id
    }

    /// Notes the tool a call is about.
    pub fn about(&mut self, server: &str, tool: &str) {
        self.record.server_name = Some(server.to_owned());
        self.record.tool_name = Some(tool.to_owned());
    }

    /// Notes what the agent declared.
    pub fn declared(&mut self, intent: &Intent) {
        let _ = intent;
    }

    /// Notes what the caller is warned about.
    pub fn warned(&mut self, warnings: &[Warning]) {
        self.record.warnings.extend_from_slice(warnings);
    }

    /// The moment before the call goes out: from here on it may have an effect.
    pub fn sending(&mut self) {
        self.sent = true;
    }

    /// Closes the record of something that was done.
    pub fn close(mut self, status: Status, error_code: Option<&str>) {
        self.record.status = status;
        self.record.error_code = error_code.map(str::to_owned);
        if status == Status::Blocked {
            self.record.kind = Kind::PolicyDecision;
        }
        self.keep();
    }

    fn keep(&mut self) {
        self.closed = true;
        self.record.duration_ms = self.began.elapsed().as_secs_f64() * 1_000.0;
        self.log.keep(self.record.clone());
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        self.record.status = if self.sent {
            Status::InDoubt
        } else {
            Status::Error
        };
        self.record.error_code = Some("CALLER_GONE".to_owned());
        self.keep();
    }
}

#[derive(Debug, Clone)]
struct Record {
    id: Uuid,
    request_id: Uuid,
    duration_ms: f64,
    kind: Kind,
    status: Status,
    error_code: Option<String>,
    warnings: Vec<Warning>,
    server_name: Option<String>,
    tool_name: Option<String>,
}
