//! Messages that wait for the client of one request.
//!
//! No tokio channel, for one measured reason: dropping the last sender wakes the reader. Here the reader is the
//! connection of the client, and it would be woken at the end of every call to find nothing, see
//! `docs/decisions/0013-order-of-messages.md`.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::Notify;

use super::messages::ClientMessage;
use crate::lock;

/// Most bytes of notifications that wait to be read; those beyond it are dropped. Requests are limited where they
/// come from.
pub(super) const WAITING_BYTES: usize = 1024 * 1024;
/// Bytes that a notification counts for besides its text.
pub(super) const OVERHEAD: usize = 128;

/// Queue of messages with one reader.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    queued: Mutex<QueuedMessages>,
    is_filled: Notify,
}

#[derive(Debug, Default)]
struct QueuedMessages {
    messages: VecDeque<ClientMessage>,
    bytes: usize,
    /// Nobody will read any more.
    is_closed: bool,
}

impl MessageQueue {
    /// Adds a message; false if there is no room for it, or nobody to read it.
    pub(super) fn push(&self, message: ClientMessage) -> bool {
        let mut queued = lock(&self.queued);
        let bytes = weight(&message);
        if queued.is_closed || (bytes > 0 && queued.bytes >= WAITING_BYTES) {
            return false;
        }
        queued.bytes += bytes;
        queued.messages.push_back(message);
        drop(queued);
        self.is_filled.notify_one();
        true
    }

    /// Next message, when there is one.
    pub(super) async fn next(&self) -> ClientMessage {
        loop {
            if let Some(message) = self.pop() {
                return message;
            }
            self.is_filled.notified().await;
        }
    }

    /// Message that is there already.
    pub(super) fn pop(&self) -> Option<ClientMessage> {
        let mut queued = lock(&self.queued);
        let message = queued.messages.pop_front()?;
        queued.bytes -= weight(&message);
        Some(message)
    }

    /// Refuses further messages and drops those that wait.
    pub(super) fn close(&self) {
        let mut queued = lock(&self.queued);
        queued.is_closed = true;
        // Dropped outside of the lock: dropping a request wakes who waits for its response, and that
        // one may look here.
        let unread = std::mem::take(&mut queued.messages);
        drop(queued);
        drop(unread);
    }
}

/// Bytes that a message counts for.
fn weight(message: &ClientMessage) -> usize {
    match message {
        ClientMessage::Notification(notification) => notification.params.text().len() + OVERHEAD,
        ClientMessage::Request(_) => 0,
    }
}
