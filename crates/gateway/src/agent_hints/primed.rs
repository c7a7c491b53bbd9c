//! Observations from before the start, read back from the activity log.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_activity::{Archive, Filter, Record, RecordKind, Status};

use super::observed::ObservedCall;
use super::{ObservedHints, observed_by, says_something_of_the_tool};
use crate::background::Background;
use crate::failure::TOOL_ERROR;
use crate::records::Records;

/// Number of the newest calls that are read: more than the counts of any one tool remember.
const MOST_RECORDS: usize = 4_000;

/// Number that are read at once; records may be large, and nobody waits for these.
const PAGE: usize = 200;

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
    let mut calls: Vec<ObservedCall<'_>> = Vec::new();
    let (mut before, mut read) = (None, 0);
    while read < MOST_RECORDS {
        let page = match archive.page(&filter, before, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::debug!(%error, "what was called before cannot be read, hints start without it");
                break;
            }
        };
        read += page.records.len();
        calls.extend(page.records.into_iter().filter_map(observed));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    // The log gives the newest first.
    hints.prime(calls.iter().rev());
}

/// Call that a record tells of; nothing, if nobody knows how its tool did.
fn observed(record: Record) -> Option<ObservedCall<'static>> {
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
    let took = Duration::from_micros(u64::try_from(record.duration_us?).ok()?);
    let ended = record.timestamp.checked_add(took);
    let group = record.token_id.as_deref().unwrap_or_default();
    // Who has neither cannot be told from others of that name.
    let same_caller = record.session_id.or_else(|| record.token_id.clone());
    let qualified = format!("{}:{}", record.server_name?, record.tool_name?);
    Some(ObservedCall {
        caller: same_caller.map(Cow::from),
        tool: Cow::Owned(observed_by(group, &qualified).into_owned()),
        succeeded,
        took,
        at: ended.unwrap_or(record.timestamp),
    })
}
