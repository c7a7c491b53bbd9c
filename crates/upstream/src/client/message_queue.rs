//! Messages that wait for the client of one request.
//!
//! A channel of our own, for one measured reason: closing a tokio channel wakes its reader. Here the
//! reader is the connection of the client, and it would be woken at the end of every call to find
//! nothing. This queue wakes the reader for messages alone.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::messages::ClientMessage;

/// Most notifications that wait to be read; those beyond it are dropped. Requests are limited where
/// they come from.
pub(super) const WAITING_NOTIFICATIONS: usize = 64;

/// Queue of messages with one reader.
#[derive(Debug, Default)]
pub(super) struct MessageQueue(Mutex<QueuedMessages>);

#[derive(Debug, Default)]
struct QueuedMessages {
    messages: VecDeque<ClientMessage>,
    reader: Option<Waker>,
    /// Nobody will read any more.
    is_closed: bool,
}

impl MessageQueue {
    /// Adds a message; false if there is no room for it, or nobody to read it.
    pub(super) fn push(&self, message: ClientMessage) -> bool {
        let mut queued = self.lock();
        let is_full = queued.messages.len() >= WAITING_NOTIFICATIONS;
        let is_dropped = is_full && matches!(message, ClientMessage::Notification(_));
        if queued.is_closed || is_dropped {
            return false;
        }
        queued.messages.push_back(message);
        let reader = queued.reader.take();
        drop(queued);
        if let Some(reader) = reader {
            reader.wake();
        }
        true
    }

    /// Next message, when there is one.
    pub(super) async fn next(&self) -> ClientMessage {
        poll_fn(|context| self.poll(context)).await
    }

    /// Message that is there already.
    pub(super) fn pop(&self) -> Option<ClientMessage> {
        self.lock().messages.pop_front()
    }

    /// Refuses further messages and drops those that wait.
    pub(super) fn close(&self) {
        let mut queued = self.lock();
        queued.is_closed = true;
        queued.reader = None;
        // Dropped outside of the lock: dropping a request wakes who waits for its response, and that
        // one may look here.
        let unread = std::mem::take(&mut queued.messages);
        drop(queued);
        drop(unread);
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<ClientMessage> {
        let mut queued = self.lock();
        if let Some(message) = queued.messages.pop_front() {
            return Poll::Ready(message);
        }
        match &mut queued.reader {
            Some(reader) => reader.clone_from(context.waker()),
            reader @ None => *reader = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, QueuedMessages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
