//! What a server sends, taken in as from a real one. For fuzz targets alone: the product is built
//! without the feature that makes this public, and nothing of it may depend on it.
//!
//! A caller waits here that declared all it can be asked, so that whatever a server says finds
//! somebody.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::INVALID_PARAMS;
use mcpproxy_wire::{Json, RpcError, sse};
use serde_json::json;
use tokio::sync::mpsc;

use crate::State;
use crate::board::Board;
use crate::client::incoming::{IncomingAction, IncomingMessages};
use crate::client::{ClientLink, ClientMessage, ClientNotification, ClientRequestKind, LogLevel};
use crate::pending::{Answer, Pending};
use crate::stdio::fuzzing::follow_lines;
use crate::subscription::Watched;

/// The longest message taken here, so that inputs of some thousand bytes can exceed it.
const LIMIT: usize = 512;

/// A resource that somebody is told of.
const WATCHED: &str = "test:a";

/// Replies that wait to be collected.
const WAITING_REPLIES: usize = 64;

/// The way that bytes come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As the output of a program.
    Lines,
    /// As the events of a stream of its own, which answers the request.
    OwnStream,
    /// As the events of a stream for everybody.
    SharedStream,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Heard {
    /// The messages to the server.
    pub sent: Vec<String>,
    /// What the caller was told.
    pub told: Vec<ClientNotification>,
    /// The answer to the caller's request, if there was one.
    pub answer: Option<Answer>,
}

/// Takes in all that a server sends, in pieces of the given size. Needs a Tokio runtime.
pub async fn hear(bytes: &[u8], way: Way, piece: usize) -> Heard {
    let (client, mut events) = talkative().open();
    let board = Arc::new(Board::new(State::Starting));
    let watched = Watched::watch(&board, WATCHED);
    let pending = Arc::new(Pending::default());
    let Ok(mut ticket) = pending.register() else {
        return Heard::default();
    };
    let (replies, mut messages) = mpsc::channel(WAITING_REPLIES);
    let server = Server {
        inlet: IncomingMessages::new(&board),
        pending: Arc::clone(&pending),
        replies,
    };
    let waiting = server.inlet.routes.enter(ticket.id, Some(&client));
    let request = ticket.id;
    let hearing = async move {
        match way {
            Way::Lines => server.speak_in_lines(bytes, piece).await,
            Way::OwnStream => server.speak_in_events(bytes, piece, Some(request)).await,
            Way::SharedStream => server.speak_in_events(bytes, piece, None).await,
        }
    };
    let (mut sent, mut told) = (Vec::new(), Vec::new());
    let collecting = async {
        while let Some(message) = messages.recv().await {
            sent.push(message);
        }
    };
    let listening = async {
        loop {
            told.extend(take(events.next().await));
        }
    };
    tokio::select! {
        biased;
        // It never ends by itself.
        () = listening => {}
        _ = async { tokio::join!(hearing, collecting) } => {}
    }
    while let Some(event) = events.queued() {
        told.extend(take(event));
    }
    drop((waiting, watched));
    pending.close(&"all was heard".into());
    let answer = ticket.answer().await;
    Heard { sent, told, answer }
}

/// A server as far as we see it.
struct Server {
    inlet: IncomingMessages,
    pending: Arc<Pending>,
    replies: mpsc::Sender<String>,
}

impl Server {
    async fn speak_in_lines(self, bytes: &[u8], piece: usize) {
        let Self {
            inlet,
            pending,
            replies,
        } = self;
        follow_lines((bytes, piece), LIMIT, (inlet, pending), replies).await;
    }

    async fn speak_in_events(self, bytes: &[u8], piece: usize, stream: Option<u64>) {
        let mut reader = sse::Reader::new(LIMIT);
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
        answered(&self.inlet).await;
    }

    async fn receive(&self, message: &Bytes, stream: Option<u64>) {
        match self.inlet.receive(message, stream) {
            IncomingAction::Response(id, answer) => {
                self.pending.answer(id, answer);
            }
            IncomingAction::Reply(message) => self.reply(message).await,
            IncomingAction::Relay(request) => {
                let replies = self.replies.clone();
                let reply = async move |message| drop(replies.send(message).await);
                if let Err(refusal) = self.inlet.routes.relay(request, reply) {
                    self.reply(refusal).await;
                }
            }
            IncomingAction::Nothing | IncomingAction::Garbage(_) => {}
        }
    }

    async fn reply(&self, message: String) {
        // Whoever collects replies does so until the last one could come.
        let _ = self.replies.send(message).await;
    }
}

/// Waits until every question has its answer.
pub(crate) async fn answered(inlet: &IncomingMessages) {
    while inlet.routes.has_open_requests() {
        tokio::task::yield_now().await;
    }
}

/// A client that can be asked everything, and wants to be told everything.
fn talkative() -> ClientLink {
    let everything = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {} });
    let mut client = ClientLink::new(Protocol::Session, "one");
    client.capabilities = Json::of(&everything);
    client.progress_token = Some(Json::of(&json!("theirs")));
    client.log_level = Some(LogLevel::Debug);
    client
}

/// Answers what the client is asked; gives what it is told.
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
    async fn check(way: Way, before: &str, after: &str) {
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
        let Heard { sent, told, answer } = hear(text.as_bytes(), way, 7).await;
        for id in ["a", "b", "c"] {
            let id = format!(r#""id":"{id}""#);
            assert!(sent.iter().any(|message| message.contains(&id)), "{sent:?}");
        }
        assert_eq!(sent.len(), 3, "{sent:?}");
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(answer, Some(Ok(Json::of(&json!({})))));
    }

    #[tokio::test]
    async fn whichever_way_a_server_speaks_it_is_heard_and_answered() {
        check(Way::Lines, "", "\n").await;
        check(Way::OwnStream, "data: ", "\n\n").await;
        check(Way::SharedStream, "data: ", "\n\n").await;
    }
}
