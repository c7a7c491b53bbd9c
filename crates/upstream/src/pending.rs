//! Calls that wait for an answer, each under an id of our own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpproxy_wire::Json;
use tokio::sync::oneshot;

use crate::CallError;

/// What came of a request.
pub(crate) type Answer = Result<Json, CallError>;

/// The waiting calls of one connection.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    next: AtomicU64,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    answers: HashMap<u64, oneshot::Sender<Answer>>,
    /// Why no answer will come any more.
    closed: Option<Arc<str>>,
}

/// One waiting call; dropping it forgets the id.
#[derive(Debug)]
pub(crate) struct Ticket {
    pending: Arc<Pending>,
    pub(crate) id: u64,
    answer: oneshot::Receiver<Answer>,
}

/// How far a message got: exactly one of writer and caller decides whether it is sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passage(Arc<AtomicU8>);

const QUEUED: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

// === impl Pending ===

impl Pending {
    /// Gives out an id to wait under; the error is why the connection is closed.
    pub(crate) fn register(self: &Arc<Self>) -> Result<Ticket, Arc<str>> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.lock();
        if let Some(reason) = &waiting.closed {
            return Err(Arc::clone(reason));
        }
        waiting.answers.insert(id, sender);
        drop(waiting);
        Ok(Ticket {
            pending: Arc::clone(self),
            id,
            answer,
        })
    }

    /// Hands an answer to whoever waits; false if nobody does.
    pub(crate) fn answer(&self, id: u64, answer: Answer) -> bool {
        let sender = self.lock().answers.remove(&id);
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// Ends every wait at once and refuses new ones; the first reason stays.
    pub(crate) fn close(&self, reason: &Arc<str>) {
        let mut waiting = self.lock();
        waiting.closed.get_or_insert_with(|| Arc::clone(reason));
        waiting.answers.clear();
    }

    /// Why the connection is closed.
    pub(crate) fn closed(&self) -> Arc<str> {
        let reason = self.lock().closed.clone();
        reason.unwrap_or_else(|| "the connection was closed".into())
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while the lock is held, so the map is whole either way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Ticket ===

impl Ticket {
    /// Waits for the answer; nothing means that the connection was closed.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.pending.lock().answers.remove(&self.id);
    }
}

// === impl Passage ===

impl Passage {
    /// The writer begins to send; false if the message was withdrawn before.
    pub(crate) fn begin(&self) -> bool {
        self.settle(BEGUN)
    }

    /// The caller gives up; true if no byte was or will be sent.
    pub(crate) fn withdraw(&self) -> bool {
        self.settle(WITHDRAWN) || self.0.load(Ordering::Acquire) == WITHDRAWN
    }

    fn settle(&self, outcome: u8) -> bool {
        self.0
            .compare_exchange(QUEUED, outcome, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_find_their_caller_and_closing_ends_every_wait() {
        let pending = Arc::new(Pending::default());
        let mut first = pending.register().expect("it is open");
        let mut second = pending.register().expect("it is open");
        assert_ne!(first.id, second.id);
        let json = Json::parse("1").expect("valid JSON");
        assert!(pending.answer(second.id, Ok(json.clone())));
        assert!(!pending.answer(second.id, Ok(json.clone())), "once only");
        assert_eq!(second.answer().await, Some(Ok(json.clone())));
        pending.close(&"gone".into());
        assert_eq!(first.answer().await, None);
        assert_eq!(
            pending.register().expect_err("it is closed").as_ref(),
            "gone"
        );
    }

    #[test]
    fn a_dropped_call_is_forgotten() {
        let pending = Arc::new(Pending::default());
        let ticket = pending.register().expect("it is open");
        let id = ticket.id;
        drop(ticket);
        assert!(!pending.answer(id, Ok(Json::parse("1").expect("valid JSON"))));
        assert!(pending.lock().answers.is_empty());
    }

    #[test]
    fn a_message_is_either_begun_or_withdrawn() {
        let passage = Passage::default();
        assert!(passage.withdraw() && passage.withdraw() && !passage.begin());
        let passage = Passage::default();
        assert!(passage.begin() && !passage.withdraw());
    }
}
