//! Requests that wait for their responses, each under an id of our own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::request::cancellation;
use crate::call_error::UpstreamResponse;
use crate::{CallError, lock};

/// Requests of one connection that wait.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    next: AtomicU64,
    waiting: Mutex<WaitingSenders>,
}

#[derive(Debug, Default)]
struct WaitingSenders {
    senders: HashMap<u64, oneshot::Sender<UpstreamResponse>>,
    /// Reason why no response will come any more.
    closed: Option<Arc<str>>,
}

/// Request that waits; dropping it forgets the id.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pending: Arc<PendingRequests>,
    pub(crate) id: u64,
    response: oneshot::Receiver<UpstreamResponse>,
}

/// Request that has no response yet. Dropping it takes the request back: `cancel` sends the message for that.
#[derive(Debug)]
pub(super) struct UnansweredRequest<'a, C: FnOnce(Vec<u8>)> {
    id: u64,
    send_state: &'a SendState,
    cancel: Option<C>,
}

/// State of sending a message: exactly one of writer and caller decides whether it is sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct SendState(Arc<AtomicU8>);

const QUEUED: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

// === impl PendingRequests ===

impl PendingRequests {
    /// Gives out an id to wait under; the error is why the connection is closed.
    pub(crate) fn register(self: &Arc<Self>) -> Result<PendingRequest, Arc<str>> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, response) = oneshot::channel();
        let mut waiting = lock(&self.waiting);
        if let Some(reason) = &waiting.closed {
            return Err(Arc::clone(reason));
        }
        waiting.senders.insert(id, sender);
        drop(waiting);
        Ok(PendingRequest {
            pending: Arc::clone(self),
            id,
            response,
        })
    }

    /// Hands a response to whoever waits; false if nobody does.
    pub(crate) fn respond(&self, id: u64, response: UpstreamResponse) -> bool {
        let sender = lock(&self.waiting).senders.remove(&id);
        sender.is_some_and(|sender| sender.send(response).is_ok())
    }

    /// Ends every wait at once and refuses new ones; the first reason stays.
    pub(crate) fn close(&self, reason: &Arc<str>) {
        let mut waiting = lock(&self.waiting);
        waiting.closed.get_or_insert_with(|| Arc::clone(reason));
        waiting.senders.clear();
    }

    /// Reason why the connection is closed.
    pub(crate) fn closed(&self) -> Arc<str> {
        let reason = lock(&self.waiting).closed.clone();
        reason.unwrap_or_else(|| "the connection was closed".into())
    }
}

// === impl PendingRequest ===

impl PendingRequest {
    /// Waits for the response; nothing means that the connection was closed.
    pub(crate) async fn response(&mut self) -> Option<UpstreamResponse> {
        (&mut self.response).await.ok()
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        lock(&self.pending.waiting).senders.remove(&self.id);
    }
}

// === impl UnansweredRequest ===

impl<'a, C: FnOnce(Vec<u8>)> UnansweredRequest<'a, C> {
    pub(super) fn new(id: u64, send_state: &'a SendState, cancel: C) -> Self {
        Self {
            id,
            send_state,
            cancel: Some(cancel),
        }
    }

    /// Ends with the response, or with the reason why nobody waits for it any more.
    pub(super) fn end(mut self, response: UpstreamResponse) -> UpstreamResponse {
        if !matches!(response, Err(CallError::Timeout { .. })) {
            self.cancel = None;
        }
        response
    }
}

impl<C: FnOnce(Vec<u8>)> Drop for UnansweredRequest<'_, C> {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take()
            && !self.send_state.withdraw()
        {
            cancel(cancellation(self.id));
        }
    }
}

// === impl SendState ===

impl SendState {
    /// Whether the message may have been sent.
    pub(crate) fn is_begun(&self) -> bool {
        self.0.load(Ordering::Acquire) == BEGUN
    }

    /// Begins to send, for the writer; false if the message was withdrawn before.
    pub(crate) fn begin(&self) -> bool {
        self.settle(BEGUN)
    }

    /// Gives up, for the caller; true if no byte was or will be sent.
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
    use mcpproxy_wire::{Json, RpcResult};

    use super::*;

    #[tokio::test]
    async fn responses_find_their_request_and_closing_ends_every_wait() {
        let pending = Arc::new(PendingRequests::default());
        let mut first = pending.register().expect("it is open");
        let mut second = pending.register().expect("it is open");
        assert_ne!(first.id, second.id);
        let json = || RpcResult::unread(Json::empty_object());
        assert!(pending.respond(second.id, Ok(json())));
        assert!(!pending.respond(second.id, Ok(json())), "once only");
        assert!(matches!(second.response().await, Some(Ok(_))));
        pending.close(&"gone".into());
        assert!(first.response().await.is_none());
        assert_eq!(
            pending.register().expect_err("it is closed").as_ref(),
            "gone"
        );
    }

    #[test]
    fn a_dropped_request_is_forgotten() {
        let pending = Arc::new(PendingRequests::default());
        let pending_request = pending.register().expect("it is open");
        let id = pending_request.id;
        drop(pending_request);
        assert!(!pending.respond(id, Ok(RpcResult::unread(Json::empty_object()))));
        assert!(lock(&pending.waiting).senders.is_empty());
    }

    #[test]
    fn a_message_is_either_begun_or_withdrawn() {
        let send_state = SendState::default();
        assert!(send_state.withdraw() && send_state.withdraw() && !send_state.begin());
        let send_state = SendState::default();
        assert!(send_state.begin() && !send_state.withdraw());
    }
}
