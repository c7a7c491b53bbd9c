//! Reply to a request, before an adapter turns it into bytes.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mcpproxy_wire::{ResultText, RpcError};
use tokio::sync::mpsc;

use super::session::Session;

/// Messages that wait to be written; while there is no room, what an upstream sends waits too.
pub(crate) const WAITING_MESSAGES: usize = 64;

/// Whether messages can reach a client before the answer to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Nothing but the answer: a client that accepts no stream, or one message of a batch.
    AnswerOnly,
    /// Messages, then the answer.
    Stream,
}

/// Answer to a request.
pub enum Reply {
    /// The result, at once.
    Result(Result<ResultText, RpcError>),
    /// Messages first, at last the result.
    Messages(MessageStream),
    /// The session that `initialize` opened, and the result.
    Opened(NewSession),
}

/// Messages for a client, the last of which is the result of its request.
pub struct MessageStream {
    /// Messages as they come. Dropping this says that nobody reads them.
    pub messages: mpsc::Receiver<Outbound>,
    /// Future that makes the messages, to be driven until it ends; nothing if a task of its own
    /// makes them.
    pub driver: Option<BoxFuture<'static, ()>>,
}

/// Session that was opened.
pub struct NewSession {
    pub(crate) session: Arc<Session>,
    pub(crate) result: String,
}

/// Message or result that goes out to a client for its request.
#[derive(Debug)]
pub enum Outbound {
    /// A whole message.
    Message(String),
    /// The result, for the response that ends the request.
    Result(Result<ResultText, RpcError>),
}

impl Reply {
    /// Messages that the future made of their sender makes.
    pub(crate) fn driven<F>(driver: impl FnOnce(mpsc::Sender<Outbound>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (out, messages) = mpsc::channel(WAITING_MESSAGES);
        Self::Messages(MessageStream {
            messages,
            driver: Some(Box::pin(driver(out))),
        })
    }

    /// Messages that a task of its own makes.
    pub(crate) fn messages(messages: mpsc::Receiver<Outbound>) -> Self {
        Self::Messages(MessageStream {
            messages,
            driver: None,
        })
    }
}
