//! A call under way, beside what its upstream sends to the client meanwhile.
//!
//! Most calls end without a message in between, and cost nothing here. This knows nothing of the
//! way to the client: everything for it goes through a channel, as [`Outbound`].

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use mcpproxy_gateway::client::{ClientMessage, ClientMessages, ClientNotification};
use mcpproxy_wire::ResultText;
use mcpproxy_wire::rpc::{self, RpcError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::reply::Outbound;
use super::session::Session;

/// Future of a call's result. It borrows nothing, so that it can outlive the message.
pub(crate) type CallFuture = Pin<Box<dyn Future<Output = Result<ResultText, RpcError>> + Send>>;

/// Call under way.
pub(crate) struct RunningCall {
    pub(crate) future: CallFuture,
    /// Messages that will reach its client.
    pub(crate) messages: ClientMessages,
    /// Its result, if that is there already.
    pub(crate) result: Option<Result<ResultText, RpcError>>,
}

/// Next thing that happens during a call.
#[derive(Debug)]
pub(crate) enum CallStep {
    /// Something for the client.
    Message(ClientMessage),
    /// The end.
    Done(Result<ResultText, RpcError>),
}

/// Call of a session client whose upstream has something for the client.
pub(crate) struct SessionCall {
    pub(crate) call: RunningCall,
    pub(crate) session: Arc<Session>,
    /// Time that the client has to answer a client request.
    pub(crate) limit: Duration,
}

/// Message that notifies a client.
pub(crate) fn notification(notification: &ClientNotification) -> String {
    rpc::notification(notification.method, notification.params.text())
}

// === impl RunningCall ===

impl RunningCall {
    /// Works until something happens. Messages come before the end even if it is there already,
    /// unless they are not taken at the moment. Nothing is lost when this is dropped.
    pub(crate) async fn next(&mut self, takes_messages: bool) -> CallStep {
        if self.result.is_none() {
            tokio::select! {
                message = self.messages.next(), if takes_messages => return CallStep::Message(message),
                result = &mut self.future => {
                    self.result = Some(result);
                    // A future that is done is not polled again, and frees what it holds.
                    self.future = Box::pin(std::future::pending());
                }
            }
        }
        if takes_messages && let Some(message) = self.messages.queued() {
            return CallStep::Message(message);
        }
        match self.result.take() {
            Some(result) => CallStep::Done(result),
            None => std::future::pending().await,
        }
    }
}

// === impl SessionCall ===

impl SessionCall {
    /// Goes on until the call ends, or nobody reads what goes out; then the call is dropped.
    pub(crate) async fn run(mut self, first: ClientMessage, out: mpsc::Sender<Outbound>) {
        let over = CancellationToken::new();
        let mut open = FuturesUnordered::new();
        let mut waiting = VecDeque::new();
        waiting.extend(self.message(first, &mut open, &over));
        let result = loop {
            // The call goes on while the client is slow to read; what its upstream sends has to wait.
            let has_room = waiting.is_empty();
            tokio::select! {
                () = out.closed() => return,
                Ok(room) = out.reserve(), if !has_room => {
                    if let Some(message) = waiting.pop_front() {
                        room.send(Outbound::Message(message));
                    }
                }
                Some(message) = open.next(), if !open.is_empty() => waiting.extend(message),
                step = self.call.next(has_room) => match step {
                    CallStep::Message(message) => waiting.extend(self.message(message, &mut open, &over)),
                    CallStep::Done(result) => break result,
                }
            }
        };
        over.cancel();
        while let Some(message) = open.next().await {
            waiting.extend(message);
        }
        while let Some(message) = self.call.messages.queued() {
            if let ClientMessage::Notification(notice) = message {
                waiting.push_back(notification(&notice));
            }
        }
        let messages = waiting.into_iter().map(Outbound::Message);
        for message in messages.chain([Outbound::Result(result)]) {
            if out.send(message).await.is_err() {
                return;
            }
        }
    }

    /// Text of a message to the client; the response to a client request is waited for among the open ones.
    fn message(
        &self,
        message: ClientMessage,
        open: &mut FuturesUnordered<BoxFuture<'static, Option<String>>>,
        over: &CancellationToken,
    ) -> Option<String> {
        match message {
            ClientMessage::Notification(notice) => Some(notification(&notice)),
            ClientMessage::Request(request) => {
                let (sent, text) = self.session.client_requests.open(request)?;
                open.push(Box::pin(sent.response(self.limit, over.clone())));
                Some(text)
            }
        }
    }
}

#[cfg(test)]
mod tests;
