//! Keeping records.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use mcpproxy_policy::{Intent, Operation, Warning};
use serde::Serialize;
use uuid::Uuid;

use crate::{Caller, Kind, Record, Status};

/// How many records are kept; the oldest make room.
const KEPT: usize = 1_000;

/// The record, shared by everything that writes to it.
#[derive(Debug, Clone, Default)]
pub struct Log(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    recent: VecDeque<Record>,
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
    pub fn open(&self, kind: Kind, caller: &Arc<Caller>, operation: Option<Operation>) -> Entry {
        Entry {
            log: self.clone(),
            record: Record {
                id: Uuid::now_v7(),
                request_id: Uuid::now_v7(),
                kind,
                timestamp: Timestamp::now(),
                duration_ms: 0.0,
                caller: Arc::clone(caller),
                server_name: None,
                tool_name: None,
                intent_type: operation,
                data_sensitivity: None,
                reason: None,
                status: Status::InDoubt,
                error_code: None,
                warnings: Vec::new(),
            },
            began: Instant::now(),
            closed: false,
            sent: false,
        }
    }

    /// The newest records, newest first.
    pub fn recent(&self, limit: usize) -> Vec<Record> {
        self.with(|kept| kept.recent.iter().rev().take(limit).cloned().collect())
    }

    /// How many calls ended how.
    pub fn counts(&self) -> Counts {
        self.with(|kept| kept.counts)
    }

    fn keep(&self, record: Record) {
        self.with(|kept| {
            match record.status {
                Status::Success => kept.counts.success += 1,
                Status::Error => kept.counts.error += 1,
                Status::Blocked => kept.counts.blocked += 1,
                Status::InDoubt => kept.counts.in_doubt += 1,
            }
            if kept.recent.len() == KEPT {
                kept.recent.pop_front();
            }
            kept.recent.push_back(record);
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
        self.record.declare(intent);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn open(log: &Log) -> Entry {
        log.open(Kind::ToolCall, &Arc::default(), Some(Operation::Write))
    }

    #[test]
    fn every_way_out_leaves_a_record() {
        let log = Log::default();
        open(&log).close(Status::Success, None);
        open(&log).close(Status::Blocked, Some("INTENT_MISMATCH"));
        open(&log).close(Status::Error, Some("UPSTREAM_TIMEOUT"));
        drop(open(&log));
        let mut sent = open(&log);
        sent.sending();
        drop(sent);
        let expected = Counts {
            success: 1,
            error: 2,
            blocked: 1,
            in_doubt: 1,
        };
        assert_eq!(log.counts(), expected);
        let newest = &log.recent(1)[0];
        assert_eq!(newest.status, Status::InDoubt);
        assert_eq!(log.recent(10)[3].kind, Kind::PolicyDecision);
    }

    #[test]
    fn old_records_make_room() {
        let log = Log::default();
        for _ in 0..KEPT + 5 {
            open(&log).close(Status::Success, None);
        }
        assert_eq!(log.recent(usize::MAX).len(), KEPT);
        assert_eq!(log.counts().success, KEPT as u64 + 5);
    }
}
