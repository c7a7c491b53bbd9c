//! Connection that a fuzz target feeds in place of a server. The product is built without the feature that makes
//! this public, and nothing of it may depend on it. The rest of the target is in `fuzz/src/server.rs`.

use std::sync::Arc;

use mcpproxy_redact::Mask;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use crate::client::ClientLink;
use crate::client::call_routes::CallRoute;
use crate::client::incoming::{IncomingAction, IncomingMessages};
use crate::lifecycle::readiness::Readiness;
use crate::process::lines::OutputLines;
use crate::transport::pending::{PendingRequest, PendingRequests};
use crate::transport::stdio::{OutputReader, QUEUE};
use crate::{CallError, Subscription};

/// Connection with one request in flight.
pub struct FuzzedConnection {
    incoming: IncomingMessages,
    pending: Arc<PendingRequests>,
    request: PendingRequest,
    _route: CallRoute,
    _watched: Option<Subscription>,
}

impl FuzzedConnection {
    /// Connection with a request of this client in flight, under the id 1, and a subscription to `test:a`.
    pub fn new(client: &Arc<ClientLink>) -> Result<Self, Arc<str>> {
        let readiness = Arc::new(Readiness::new());
        let watched = readiness.subscriptions.subscribe("test:a");
        let incoming = IncomingMessages::new(readiness);
        let pending = Arc::new(PendingRequests::default());
        let request = pending.register()?;
        Ok(Self {
            _route: incoming.routes.enter(request.id, Some(client)),
            _watched: watched.ok(),
            incoming,
            pending,
            request,
        })
    }

    /// Takes a message from the stream of the request, or from the one that belongs to none.
    pub async fn receive(
        &self,
        message: String,
        is_own_stream: bool,
        replies: &mpsc::Sender<String>,
    ) {
        let stream = is_own_stream.then_some(self.request.id);
        let reply = match self.incoming.receive(&message.into(), stream) {
            IncomingAction::Response(id, response) => {
                self.pending.respond(id, response);
                return;
            }
            IncomingAction::Reply(reply) => reply,
            IncomingAction::Relay(request) => {
                let replies = replies.clone();
                let reply = async move |message| drop(replies.send(message).await);
                match self.incoming.routes.relay(request, reply) {
                    Ok(()) => return,
                    Err(refusal) => refusal,
                }
            }
            IncomingAction::Notified | IncomingAction::Nothing | IncomingAction::Garbage(_) => {
                return;
            }
        };
        let _ = replies.send(reply).await;
    }

    /// Takes the output of a program, in lines of at most so many bytes.
    pub async fn read(
        &self,
        output: impl AsyncRead + Unpin,
        limit: usize,
        replies: &mpsc::Sender<String>,
    ) {
        let (queue, mut outgoing) = mpsc::channel(QUEUE);
        let reader = OutputReader {
            name: "fuzzed".into(),
            mask: Mask::default(),
            incoming: self.incoming.clone(),
            pending: Arc::clone(&self.pending),
            log: None,
        };
        let reading = async {
            let lines = OutputLines::new(output, limit);
            reader.read(lines, queue.downgrade()).await;
            self.all_answered().await;
            // The last one who could write is gone now.
            drop(queue);
        };
        let writing = async {
            while let Some(message) = outgoing.recv().await {
                let line = String::from_utf8_lossy(&message.line).into_owned();
                let _ = replies.send(line).await;
            }
        };
        tokio::join!(reading, writing);
    }

    /// Waits until every request to the client has its response.
    pub async fn all_answered(&self) {
        while !crate::lock(&self.incoming.routes.open_requests).is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// JSON text of the result, or why there is none; nothing if there was no response.
    pub async fn response(mut self) -> Option<Result<String, CallError>> {
        self.pending.close(&"all was heard".into());
        let response = self.request.response().await?;
        Some(response.map(|result| result.json().text().to_owned()))
    }
}
