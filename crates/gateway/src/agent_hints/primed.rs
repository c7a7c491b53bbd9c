//! What was observed before the start, read back from the activity log.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mcpproxy_activity::{Archive, Filter, Record, RecordKind, Status};
use uuid::Uuid;

use super::observed::{Observed, ObservedCall};
use super::{ObservedHints, says_something_of_the_tool};
use crate::background::Background;
use crate::failure::TOOL_ERROR;
use crate::records::Records;

/// How many of the newest calls are read: more than the counts of any one tool remember.
const MOST_RECORDS: usize = 4_000;

/// How many are read at once; records may be large, and nobody waits for these.
const PAGE: usize = 200;

/// What is needed of a record.
struct Past {
    caller: Option<String>,
    tool: String,
    succeeded: bool,
    began: Timestamp,
    took: std::time::Duration,
}

impl ObservedHints {
    /// Reads the newest calls of the log, beside everything else.
    pub(crate) fn read_past_calls(self: &Arc<Self>, records: &Records, background: &Background) {
        let archive = records.archive().clone();
        let hints = Arc::clone(self);
        background.spawn_until_stop(async move { prime(&archive, &hints).await });
    }
}

async fn prime(archive: &Archive, hints: &ObservedHints) {
    let filter = Filter {
        kind: Some(RecordKind::ToolCall),
        // What is called from now on is seen as it happens.
        to: Some(Timestamp::now()),
        ..Filter::default()
    };
    let mut calls: Vec<Past> = Vec::new();
    let mut before: Option<Uuid> = None;
    let mut read = 0;
    while read < MOST_RECORDS {
        let page = match archive.page(&filter, before, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::debug!(%error, "what was called before cannot be read, hints start without it");
                break;
            }
        };
        read += page.records.len();
        calls.extend(page.records.into_iter().filter_map(past));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    hints.prime(observed(&calls));
}

/// Calls, newest first, as if they had been seen.
fn observed(calls: &[Past]) -> Observed {
    let mut observed = Observed::default();
    for past in calls.iter().rev() {
        let took = SignedDuration::try_from(past.took).unwrap_or_default();
        observed.learn(&ObservedCall {
            caller: past.caller.as_deref(),
            tool: &past.tool,
            succeeded: past.succeeded,
            took: past.took,
            at: past.began.checked_add(took).unwrap_or(past.began),
        });
    }
    observed
}

/// What is to be learned from a record; nothing, if nobody knows how its tool did.
fn past(record: Record) -> Option<Past> {
    let succeeded = match record.status {
        Status::Success => true,
        Status::Error => {
            let code = record.error.as_ref()?.code.as_str();
            if code != TOOL_ERROR && !says_something_of_the_tool(code) {
                return None;
            }
            false
        }
        Status::Blocked | Status::InDoubt => return None,
    };
    let microseconds = u64::try_from(record.duration_us?).ok()?;
    Some(Past {
        caller: record.session_id.or(record.agent),
        tool: format!("{}:{}", record.server_name?, record.tool_name?),
        succeeded,
        began: record.timestamp,
        took: std::time::Duration::from_micros(microseconds),
    })
}
