//! A record on its way to the store.

use std::sync::Arc;

use mcpproxy_policy::Caller;
use mcpproxy_redact::OwnSecrets;
use serde_json::{Map, json};
use uuid::Uuid;

use crate::chain::Head;
use crate::draft::{Draft, Ending, Prepared, Redaction};
use crate::queue::{Ack, Room};
use crate::record::{ChainLink, RecordKind, Status};
use crate::row::{Cell, Row, no_outcome};
use crate::store::{Change, StoreError, What};

/// A record that is to be written.
pub(super) struct PendingRecord {
    pub(super) prepared: Arc<Prepared>,
    /// What came of it; nothing for a call that is about to be sent.
    pub(super) outcome: Option<Vec<Cell>>,
    pub(super) ack: Option<Ack>,
    /// Given back when the record is written.
    pub(super) _room: Option<Room>,
}

// === impl PendingRecord ===

impl PendingRecord {
    /// The row as it has to be, with its place at the end of the chain.
    pub(super) fn change(&self, chain: Uuid, head: &mut Head, before: Option<ChainLink>) -> Change {
        let request = &self.prepared.request;
        let (what, outcome, opened, closed) = match &self.outcome {
            None => {
                let link = head.open(chain, request);
                (What::Insert, no_outcome(), Some(link), None)
            }
            Some(outcome) => {
                let link = head.close(chain, request, outcome, before.as_ref());
                let what = if before.is_some() {
                    What::Complete
                } else {
                    What::Insert
                };
                (what, outcome.clone(), before, Some(link))
            }
        };
        let has_error = outcome.get(5).is_some_and(|code| *code != Cell::Null);
        let words = (what == What::Insert || has_error).then(|| self.prepared.words(&outcome));
        Change {
            what,
            row: Row {
                request: Arc::clone(request),
                outcome,
                chain,
                opened,
                closed,
            },
            words,
        }
    }
}

/// Tells whoever waits.
pub(super) fn answer(ack: Option<Ack>, result: Result<(), StoreError>) {
    if let Some(ack) = ack {
        // Whoever asked may have gone; the record is there either way.
        let _ = ack.send(result);
    }
}

/// The record of refused calls that there was no room to record one by one.
pub(super) fn refused_unrecorded(count: u64, redaction: Redaction) -> (Draft, Ending) {
    let mut details = Map::new();
    details.insert("event".to_owned(), json!("refused_unrecorded"));
    details.insert("count".to_owned(), json!(count));
    let draft = Draft {
        id: Uuid::now_v7(),
        request_id: Uuid::now_v7(),
        kind: RecordKind::System,
        caller: Arc::new(Caller::default()),
        operation: None,
        server: None,
        tool: None,
        intent: None,
        sensitivity: None,
        arguments: None,
        details,
        redaction,
    };
    let message = format!(
        "{count} calls were refused while the log could not be written; none of them was made"
    );
    let ending = Ending {
        status: Status::Error,
        duration: None,
        response: None,
        error: Some(("STORE_UNAVAILABLE".to_owned(), message)),
        warnings: Vec::new(),
        own: OwnSecrets::none(),
    };
    (draft, ending)
}
