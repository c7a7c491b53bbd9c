//! Record on its way to the store.

use std::sync::Arc;

use mcpproxy_policy::Caller;
use serde_json::{Map, json};
use uuid::Uuid;

use crate::chain::ChainHead;
use crate::draft::{Draft, DraftOutcome, RecordRedaction};
use crate::queue::{Ack, Room};
use crate::record::{ChainLink, RecordKind, Status};
use crate::row::{OutcomeColumns, RequestColumns, Row};
use crate::store::StoreError;

/// Record that is to be written.
pub(super) struct PendingRecord {
    pub(super) id: Uuid,
    pub(super) request: Arc<RequestColumns>,
    /// Outcome; nothing for a call that is about to be sent.
    pub(super) outcome: Option<OutcomeColumns>,
    pub(super) ack: Option<Ack>,
    /// Given back when the record is written.
    pub(super) _room: Option<Room>,
}

// === impl PendingRecord ===

impl PendingRecord {
    /// Row as it has to be, with its place at the end of the chain; `before` is its link from
    /// before the call was sent.
    pub(super) fn row(&self, chain: Uuid, head: &mut ChainHead, before: Option<ChainLink>) -> Row {
        let request = &self.request;
        let (outcome, opened, closed) = match &self.outcome {
            None => {
                let link = head.open(chain, request);
                (OutcomeColumns::in_doubt(), Some(link), None)
            }
            Some(outcome) => {
                let link = head.close(chain, request, outcome, before.as_ref());
                (outcome.clone(), before, Some(link))
            }
        };
        Row {
            request: Arc::clone(request),
            outcome,
            chain,
            opened,
            closed,
        }
    }
}

/// Tells whoever waits.
pub(super) fn acknowledge(ack: Option<Ack>, result: Result<(), StoreError>) {
    if let Some(ack) = ack {
        // Whoever asked may have gone; the record is there either way.
        let _ = ack.send(result);
    }
}

/// Record of refused calls that there was no room to record one by one.
pub(super) fn refused_unrecorded(count: u64, redaction: RecordRedaction) -> (Draft, DraftOutcome) {
    let mut details = Map::new();
    details.insert("event".to_owned(), json!("refused_unrecorded"));
    details.insert("count".to_owned(), json!(count));
    let draft = Draft {
        details,
        ..Draft::new(RecordKind::System, Arc::new(Caller::default()), redaction)
    };
    let message = format!(
        "{count} calls were refused while the log could not be written; none of them was made"
    );
    let error = ("STORE_UNAVAILABLE".to_owned(), message);
    (draft, DraftOutcome::immediate(Status::Error, Some(error)))
}
