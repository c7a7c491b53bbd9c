//! What waits for a client, and who reads it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::{Client, Event};

/// Notices that wait to be read; those beyond it are dropped. Questions are limited where they
/// come from.
const WAITING_NOTICES: usize = 64;

/// What reaches a client during its request.
///
/// This is a channel but for one thing: who reads is not woken when the request is done. Nobody waits
/// for that here, and waking the connection of the client would cost each call a look at nothing.
#[derive(Debug)]
pub struct Events(pub(super) Arc<Client>);

/// What waits to be read.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    reader: Option<Waker>,
    /// Nobody will read any more.
    is_over: bool,
}

impl Queue {
    /// Adds an event; false if there is no room for it, or nobody to read it.
    pub(super) fn push(&self, event: Event) -> bool {
        let mut waiting = self.lock();
        let is_full = waiting.events.len() >= WAITING_NOTICES;
        if waiting.is_over || (is_full && matches!(event, Event::Notice(_))) {
            return false;
        }
        waiting.events.push_back(event);
        let reader = waiting.reader.take();
        drop(waiting);
        if let Some(reader) = reader {
            reader.wake();
        }
        true
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Event> {
        let mut waiting = self.lock();
        if let Some(event) = waiting.events.pop_front() {
            return Poll::Ready(event);
        }
        match &mut waiting.reader {
            Some(reader) => reader.clone_from(context.waker()),
            reader @ None => *reader = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events {
    /// The next event, when there is one. Nothing is lost when this is dropped.
    pub async fn next(&mut self) -> Event {
        poll_fn(|context| self.0.queue.poll(context)).await
    }

    /// An event that is there already.
    pub fn queued(&mut self) -> Option<Event> {
        self.0.queue.lock().events.pop_front()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut waiting = self.0.queue.lock();
        waiting.is_over = true;
        waiting.reader = None;
        // Outside of the lock: who asked is told by this, and may look here.
        let unread = std::mem::take(&mut waiting.events);
        drop(waiting);
        drop(unread);
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Json;
    use mcpproxy_wire::revision::Era;
    use serde_json::json;

    use super::*;
    use crate::client::{Declared, Question};

    fn client() -> (Arc<Client>, Events) {
        Client::new(Declared {
            capabilities: Json::of(&json!({ "sampling": {} })),
            ..Declared::nothing(Era::Session, "one")
        })
    }

    #[tokio::test]
    async fn notices_beyond_the_limit_are_dropped_and_questions_are_not() {
        let (client, mut events) = client();
        for _ in 0..WAITING_NOTICES + 10 {
            client.tell("notifications/message", Json::empty_object());
        }
        let asking = tokio::spawn(async move {
            let answer = client.ask(Question::Sampling, Json::empty_object());
            answer.await
        });
        let mut notices = 0;
        let ask = loop {
            match events.next().await {
                Event::Notice(_) => notices += 1,
                Event::Ask(ask) => break ask,
            }
        };
        assert_eq!(notices, WAITING_NOTICES);
        ask.answer(Ok(Json::empty_object()));
        assert!(asking.await.expect("it ends").is_ok());
        assert!(events.queued().is_none());
    }

    #[tokio::test]
    async fn who_asks_is_told_when_nobody_reads_any_more() {
        let (client, events) = client();
        let other = Arc::clone(&client);
        let asking = tokio::spawn(async move {
            let answer = other.ask(Question::Sampling, Json::empty_object());
            answer.await
        });
        // Until the question waits.
        while client.asked().open == 0 {
            tokio::task::yield_now().await;
        }
        drop(events);
        asking.await.expect("it ends").expect_err("no answer");
        let late = client.ask(Question::Sampling, Json::empty_object());
        late.await.expect_err("no answer either");
    }
}
