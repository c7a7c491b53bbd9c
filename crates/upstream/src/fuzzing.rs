//! Messages of a server, taken in as from a real one. For fuzz targets alone: the product is built
//! without the feature that makes this public, and nothing of it may depend on it.
//!
//! A caller waits here whose client declared all there is, so that whatever a server says finds
//! somebody.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_redact::Mask;
use mcpproxy_wire::rpc::INVALID_PARAMS;
use mcpproxy_wire::{Json, Protocol, RpcError, sse};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::UpstreamState;
use crate::call_error::UpstreamResponse;
use crate::client::incoming::{IncomingAction, IncomingMessages};
use crate::client::{ClientLink, ClientMessage, ClientNotification, ClientRequestKind, LogLevel};
use crate::lifecycle::readiness::Readiness;
use crate::process::lines::OutputLines;
use crate::transport::pending::PendingRequests;
use crate::transport::stdio::{OutputReader, QUEUE};

/// Longest message taken here, so that inputs of some thousand bytes can exceed it.
const LIMIT: usize = 512;

/// Resource that somebody subscribed to.
const WATCHED: &str = "test:a";

/// Replies that wait to be collected.
const WAITING_REPLIES: usize = 64;

/// Transport that bytes come over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzedTransport {
    /// As the output of a program.
    Lines,
    /// As the events of a stream of its own, which answers the request.
    OwnStream,
    /// As the events of a stream for everybody.
    SharedStream,
}

/// Outcome of all that a server sent.
#[derive(Debug, Default)]
pub struct FuzzedOutcome {
    /// Messages to the server.
    pub sent: Vec<String>,
    /// Notifications to the caller's client.
    pub notifications: Vec<ClientNotification>,
    /// Response to the caller's request, if there was one.
    pub response: Option<UpstreamResponse>,
}

/// Takes in all that a server sends, in pieces of the given size. Needs a Tokio runtime.
pub async fn take_in(bytes: &[u8], transport: FuzzedTransport, piece: usize) -> FuzzedOutcome {
    let (client, mut messages_to_client) = talkative().open();
    let readiness = Arc::new(Readiness::new(UpstreamState::Starting));
    let watched = readiness.offerings.subscriptions.subscribe(WATCHED);
    let pending = Arc::new(PendingRequests::default());
    let Ok(mut request) = pending.register() else {
        return FuzzedOutcome::default();
    };
    let (replies, mut messages) = mpsc::channel(WAITING_REPLIES);
    let server = FuzzedServer {
        incoming: IncomingMessages::new(readiness),
        pending: Arc::clone(&pending),
        replies,
    };
    let waiting = server.incoming.routes.enter(request.id, Some(&client));
    let id = request.id;
    let taking_in = async move {
        match transport {
            FuzzedTransport::Lines => server.speak_in_lines(bytes, piece).await,
            FuzzedTransport::OwnStream => server.speak_in_events(bytes, piece, Some(id)).await,
            FuzzedTransport::SharedStream => server.speak_in_events(bytes, piece, None).await,
        }
    };
    let (mut sent, mut notifications) = (Vec::new(), Vec::new());
    let collecting = async {
        while let Some(message) = messages.recv().await {
            sent.push(message);
        }
    };
    let listening = async {
        loop {
            notifications.extend(take(messages_to_client.next().await));
        }
    };
    tokio::select! {
        biased;
        // It never ends by itself.
        () = listening => {}
        _ = async { tokio::join!(taking_in, collecting) } => {}
    }
    while let Some(message) = messages_to_client.queued() {
        notifications.extend(take(message));
    }
    drop((waiting, watched));
    pending.close(&"all was heard".into());
    let response = request.response().await;
    FuzzedOutcome {
        sent,
        notifications,
        response,
    }
}

/// A server as far as we see it.
struct FuzzedServer {
    incoming: IncomingMessages,
    pending: Arc<PendingRequests>,
    replies: mpsc::Sender<String>,
}

impl FuzzedServer {
    async fn speak_in_lines(self, bytes: &[u8], piece: usize) {
        let Self {
            incoming,
            pending,
            replies,
        } = self;
        follow_lines((bytes, piece), LIMIT, (incoming, pending), replies).await;
    }

    async fn speak_in_events(self, bytes: &[u8], piece: usize, stream: Option<u64>) {
        let mut reader = sse::SseReader::new(LIMIT);
        for piece in bytes.chunks(piece.max(1)) {
            let Ok(events) = reader.feed(piece) else {
                break;
            };
            for event in events {
                let is_message = event.name.as_deref().is_none_or(|name| name == "message");
                if is_message && !event.data.is_empty() {
                    self.receive(&Bytes::from(event.data), stream).await;
                }
            }
        }
        answered(&self.incoming).await;
    }

    async fn receive(&self, message: &Bytes, stream: Option<u64>) {
        match self.incoming.receive(message, stream) {
            IncomingAction::Response(id, response) => {
                self.pending.respond(id, response);
            }
            IncomingAction::Reply(message) => self.reply(message).await,
            IncomingAction::Relay(request) => {
                let replies = self.replies.clone();
                let reply = async move |message| drop(replies.send(message).await);
                if let Err(refusal) = self.incoming.routes.relay(request, reply) {
                    self.reply(refusal).await;
                }
            }
            IncomingAction::Notified | IncomingAction::Nothing | IncomingAction::Garbage(_) => {}
        }
    }

    async fn reply(&self, message: String) {
        // Whoever collects replies does so until the last one could come.
        let _ = self.replies.send(message).await;
    }
}

/// Waits until every request to the client has its response.
async fn answered(incoming: &IncomingMessages) {
    while incoming.routes.has_open_requests() {
        tokio::task::yield_now().await;
    }
}

/// Reads bytes, which come in pieces of a size, as the output of a program; passes on what would
/// be written to its input.
async fn follow_lines(
    (bytes, piece): (&[u8], usize),
    limit: usize,
    (incoming, pending): (IncomingMessages, Arc<PendingRequests>),
    replies: mpsc::Sender<String>,
) {
    let (queue, mut outgoing) = mpsc::channel(QUEUE);
    let (mut program, output) = tokio::io::duplex(piece.max(1));
    let writing = async move {
        // The reader reads to the end, which is when this is dropped.
        let _ = program.write_all(bytes).await;
    };
    let reader = OutputReader {
        name: "fuzzed".into(),
        mask: Mask::new(Vec::<String>::new()),
        incoming: incoming.clone(),
        pending,
    };
    let reading = async move {
        reader
            .read(OutputLines::new(output, limit), queue.downgrade())
            .await;
        answered(&incoming).await;
        // The last one who could write is gone now.
        drop(queue);
    };
    let passing_on = async move {
        while let Some(message) = outgoing.recv().await {
            let line = String::from_utf8_lossy(&message.line).into_owned();
            if replies.send(line).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(writing, reading, passing_on);
}

/// Client that declares everything and wants to know everything.
fn talkative() -> ClientLink {
    let everything = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {} });
    let mut client = ClientLink::new(Protocol::Session, "one");
    client.capabilities = Json::of(&everything);
    client.progress_token = Some(Json::of(&json!("theirs")));
    client.log_level = Some(LogLevel::Debug);
    client
}

/// Responds to a request; gives a notification.
fn take(message: ClientMessage) -> Option<ClientNotification> {
    match message {
        ClientMessage::Notification(notification) => Some(notification),
        ClientMessage::Request(request) => {
            let answer = match request.kind {
                ClientRequestKind::Elicitation => Ok(Json::of(&json!({ "action": "decline" }))),
                ClientRequestKind::Sampling | ClientRequestKind::Roots => {
                    Err(RpcError::new(INVALID_PARAMS, "The client does not want to"))
                }
            };
            request.respond(answer);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says all that a server can say, and is answered.
    async fn check(transport: FuzzedTransport, before: &str, after: &str) {
        let messages = [
            r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"?"}}"#,
            r#"{"jsonrpc":"2.0","id":"c","method":"sampling/createMessage","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ];
        let text: String = messages
            .iter()
            .map(|message| [before, message, after].concat())
            .collect();
        let FuzzedOutcome {
            sent,
            notifications,
            response,
        } = take_in(text.as_bytes(), transport, 7).await;
        for id in ["a", "b", "c"] {
            let id = format!(r#""id":"{id}""#);
            assert!(sent.iter().any(|message| message.contains(&id)), "{sent:?}");
        }
        assert_eq!(sent.len(), 3, "{sent:?}");
        assert_eq!(notifications.len(), 1, "{notifications:?}");
        let result = response.expect("a response").expect("a result");
        assert_eq!(result.json().text(), "{}");
    }

    #[tokio::test]
    async fn whichever_way_a_server_speaks_it_is_heard_and_answered() {
        check(FuzzedTransport::Lines, "", "\n").await;
        check(FuzzedTransport::OwnStream, "data: ", "\n\n").await;
        check(FuzzedTransport::SharedStream, "data: ", "\n\n").await;
    }
}
