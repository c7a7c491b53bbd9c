//! Messages of a server, taken in as from a real one. A caller waits whose client declared all there is, so that
//! whatever a server says finds somebody.

use mcpproxy_upstream::CallError;
use mcpproxy_upstream::client::{
    ClientLink, ClientMessage, ClientNotification, ClientRequestKind, LogLevel,
};
use mcpproxy_upstream::fuzzing::FuzzedConnection;
use mcpproxy_wire::rpc::INVALID_PARAMS;
use mcpproxy_wire::{Json, Protocol, RpcError, sse};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

/// Longest message taken here, so that inputs of some thousand bytes can exceed it.
const LIMIT: usize = 512;

/// Replies that wait to be collected.
const WAITING_REPLIES: usize = 64;

/// Transport that bytes come over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzedTransport {
    /// Output of a program.
    Lines,
    /// Events of a stream of its own, which answers the request.
    OwnStream,
    /// Events of a stream for everybody.
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
    pub response: Option<Result<String, CallError>>,
}

/// Takes in all that a server sends, in pieces of the given size. Needs a Tokio runtime.
pub async fn take_in(bytes: &[u8], transport: FuzzedTransport, piece: usize) -> FuzzedOutcome {
    let piece = piece.max(1);
    let (client, mut messages_to_client) = talkative().open();
    let Ok(connection) = FuzzedConnection::new(&client) else {
        return FuzzedOutcome::default();
    };
    let (replies, mut messages) = mpsc::channel(WAITING_REPLIES);
    let taking_in = async {
        // Dropped with this, so that collecting ends.
        let replies = replies;
        match transport {
            FuzzedTransport::Lines => {
                let (mut program, output) = tokio::io::duplex(piece);
                let writing = async move {
                    // The reader reads to the end, which is when this is dropped.
                    let _ = program.write_all(bytes).await;
                };
                tokio::join!(writing, connection.read(output, LIMIT, &replies));
            }
            FuzzedTransport::OwnStream | FuzzedTransport::SharedStream => {
                let is_own = transport == FuzzedTransport::OwnStream;
                let mut reader = sse::SseReader::new(LIMIT);
                for piece in bytes.chunks(piece) {
                    let Ok(events) = reader.feed(piece) else {
                        break;
                    };
                    for event in events {
                        let is_message = event.name.as_deref().is_none_or(|name| name == "message");
                        if is_message && !event.data.is_empty() {
                            connection.receive(event.data, is_own, &replies).await;
                        }
                    }
                }
                connection.all_answered().await;
            }
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
    FuzzedOutcome {
        sent,
        notifications,
        response: connection.response().await,
    }
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
