//! A request that is worked on, beside what its server tells and asks the client meanwhile.
//!
//! Most requests end without a word in between, and cost nothing here. This knows nothing of the
//! way to the client: everything for it goes through a channel, see [`Told`].

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use mcpproxy_gateway::client::{ClientMessage, ClientMessages, ClientNotification};
use mcpproxy_wire::rpc::{self, RpcError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::asked::Asking;
use crate::peer::Peer;

/// Messages that wait to be written; while there is no room, what a server says waits too.
pub(crate) const WAITING_MESSAGES: usize = 64;

/// What gives the result of a request. It borrows nothing, so that it can outlive the message.
pub(crate) type Work = Pin<Box<dyn Future<Output = Result<String, RpcError>> + Send>>;

/// A request that is worked on.
pub(crate) struct Running {
    work: Work,
    events: ClientMessages,
    result: Option<Result<String, RpcError>>,
}

/// What happens next during a request.
#[derive(Debug)]
pub(crate) enum Step {
    /// Something for the client.
    Event(ClientMessage),
    /// The end.
    Done(Result<String, RpcError>),
}

/// What goes to a client during a request.
#[derive(Debug)]
pub(crate) enum Told {
    /// A whole message.
    Message(String),
    /// The result, for the answer that ends the request.
    Answer(Result<String, RpcError>),
}

/// A request of a session whose server has something for the client.
pub(crate) struct Conversation {
    /// The request.
    pub(crate) running: Running,
    /// The client.
    pub(crate) peer: Arc<Peer>,
    /// How long it may take to answer a question.
    pub(crate) limit: Duration,
}

/// The message that tells a client something.
pub(crate) fn told(notice: &ClientNotification) -> String {
    rpc::notification(notice.method, notice.params.text())
}

// === impl Running ===

impl Running {
    /// Work that has not begun, and what will reach its client.
    pub(crate) fn new(work: Work, events: ClientMessages) -> Self {
        Self {
            work,
            events,
            result: None,
        }
    }

    /// Works until something happens. Events come before the end even if it is there already,
    /// unless they are not taken at the moment. Nothing is lost when this is dropped.
    pub(crate) async fn next(&mut self, takes_events: bool) -> Step {
        if self.result.is_none() {
            tokio::select! {
                event = self.events.next(), if takes_events => return Step::Event(event),
                result = &mut self.work => {
                    self.result = Some(result);
                    // What is done is not asked again, and frees what it holds.
                    self.work = Box::pin(std::future::pending());
                }
            }
        }
        if takes_events && let Some(event) = self.queued() {
            return Step::Event(event);
        }
        match self.result.take() {
            Some(result) => Step::Done(result),
            None => std::future::pending().await,
        }
    }

    /// Keeps an end that was looked at too early, to be given again.
    pub(crate) fn finished(&mut self, result: Result<String, RpcError>) {
        self.result = Some(result);
    }

    /// An event that is there already.
    pub(crate) fn queued(&mut self) -> Option<ClientMessage> {
        self.events.queued()
    }
}

// === impl Conversation ===

impl Conversation {
    /// Goes on until the request ends, or nobody hears what is told; then the work is dropped.
    pub(crate) async fn hold(mut self, first: ClientMessage, out: mpsc::Sender<Told>) {
        let over = CancellationToken::new();
        let mut open = FuturesUnordered::new();
        let mut waiting = VecDeque::new();
        waiting.extend(self.take(first, &mut open, &over));
        let result = loop {
            // The work goes on while the client is slow to read; what it says has to wait.
            let has_room = waiting.is_empty();
            tokio::select! {
                () = out.closed() => return,
                Ok(room) = out.reserve(), if !has_room => {
                    if let Some(message) = waiting.pop_front() {
                        room.send(Told::Message(message));
                    }
                }
                Some(message) = open.next(), if !open.is_empty() => waiting.extend(message),
                step = self.running.next(has_room) => match step {
                    Step::Event(event) => waiting.extend(self.take(event, &mut open, &over)),
                    Step::Done(result) => break result,
                }
            }
        };
        over.cancel();
        while let Some(message) = open.next().await {
            waiting.extend(message);
        }
        while let Some(event) = self.running.queued() {
            if let ClientMessage::Notification(notice) = event {
                waiting.push_back(told(&notice));
            }
        }
        let messages = waiting.into_iter().map(Told::Message);
        for message in messages.chain([Told::Answer(result)]) {
            if out.send(message).await.is_err() {
                return;
            }
        }
    }

    /// The message that an event is; a question is waited for among the open ones.
    fn take(
        &self,
        event: ClientMessage,
        open: &mut FuturesUnordered<BoxFuture<'static, Option<String>>>,
        over: &CancellationToken,
    ) -> Option<String> {
        match event {
            ClientMessage::Notification(notice) => Some(told(&notice)),
            ClientMessage::Request(ask) => {
                let (asking, request) = Asking::begin(&self.peer, ask)?;
                open.push(Box::pin(asking.pursue(self.limit, over.clone())));
                Some(request)
            }
        }
    }
}

#[cfg(test)]
mod tests;
