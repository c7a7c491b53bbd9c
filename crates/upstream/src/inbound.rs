//! What a server sends us, whichever way it comes.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_wire::item::Kind;
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::rpc::{Id, METHOD_NOT_FOUND};
use mcpproxy_wire::{Json, Message, RpcError, rpc};
use serde_json::value::RawValue;

use crate::CallError;
use crate::board::Board;
use crate::callers::{Asked, Callers};
use crate::client::{Client, Question};
use crate::pending::Answer;

/// What to do about a message.
pub(crate) enum Inbound {
    /// Hand the answer to whoever waits under the id.
    Answer(u64, Answer),
    /// Send this back.
    Reply(String),
    /// Have this answered, see [`Callers::answer`].
    Ask(Asked),
    /// Nothing more.
    Done,
    /// It is no message; the reason is for the log.
    Garbage(String),
}

/// Where what a server sends takes effect.
#[derive(Debug, Clone)]
pub(crate) struct Inlet {
    pub(crate) board: Arc<Board>,
    pub(crate) callers: Arc<Callers>,
}

impl Inlet {
    pub(crate) fn new(board: &Arc<Board>) -> Self {
        Self {
            board: Arc::clone(board),
            callers: Arc::default(),
        }
    }

    /// Reads one message, which came on the stream of the request with the id, if on any.
    ///
    /// An announced change of tools makes the listing stale here, at the moment it is read, so
    /// that no later decision rests on what was listed before.
    pub(crate) fn receive(&self, bytes: &Bytes, stream: Option<u64>) -> Inbound {
        match Message::parse(bytes) {
            Ok(Message::Response {
                id: Some(id),
                outcome,
            }) => match id.number() {
                Some(number) => Inbound::Answer(
                    number,
                    outcome
                        .map(|raw| Json::slice_of(bytes, raw))
                        .map_err(CallError::Rpc),
                ),
                None => Inbound::Garbage("it answers a request that was never made".to_owned()),
            },
            Ok(Message::Response { id: None, outcome }) => Inbound::Garbage(match outcome {
                Err(error) => format!("it reports an error for no request: {error}"),
                Ok(_) => "it is an answer without an id".to_owned(),
            }),
            Ok(Message::Request { id, method, params }) => {
                let params = params.map(|raw| Json::slice_of(bytes, raw));
                self.asked(id, &method, params, stream)
            }
            Ok(Message::Notification { method, params }) => {
                let params = params.map(|raw| Json::slice_of(bytes, raw));
                self.told(&method, params, stream);
                Inbound::Done
            }
            Err(error) => match Message::salvage_id(bytes).and_then(Id::number) {
                Some(number) => Inbound::Answer(
                    number,
                    Err(CallError::malformed(format!(
                        "the answer is no JSON-RPC response: {}",
                        error.message
                    ))),
                ),
                None => Inbound::Garbage(error.message),
            },
        }
    }

    /// A request of the server. Folders are nobody's to give away to a server that others use as
    /// well, so only questions that concern one call are passed on.
    fn asked(
        &self,
        id: Id<'_>,
        method: &str,
        params: Option<Json>,
        stream: Option<u64>,
    ) -> Inbound {
        if method == "ping" {
            return Inbound::Reply(rpc::response(id, "{}"));
        }
        let refuse = |message: String| {
            let error = RpcError::new(METHOD_NOT_FOUND, message);
            Inbound::Reply(rpc::error_response(Some(id), &error))
        };
        let question = match Question::of_method(method) {
            Some(question @ (Question::Elicitation | Question::Sampling)) => question,
            Some(Question::Roots) | None => return refuse(format!("Method not found: {method}")),
        };
        match self.client(stream) {
            Some(client) => {
                let params = params.unwrap_or_else(Json::empty_object);
                Inbound::Ask(Asked::new(id, question, params, client))
            }
            None => refuse(format!(
                "Nothing tells which caller is meant by {method}: it belongs to no request, and not all requests are of one client"
            )),
        }
    }

    /// A notification of the server.
    fn told(&self, method: &str, params: Option<Json>, stream: Option<u64>) {
        match method {
            "notifications/tools/list_changed" => self.board.announce_change(),
            "notifications/prompts/list_changed" => self.board.shelf.announce(&[Kind::Prompt]),
            "notifications/resources/list_changed" => {
                let kinds = [Kind::Resource, Kind::Template];
                self.board.shelf.announce(&kinds);
            }
            "notifications/resources/updated" => {
                let uri = params.as_ref().and_then(|params| member(params, "uri"));
                let uri = uri.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
                if let Some(uri) = uri {
                    self.board.shelf.watched.update(&uri);
                }
            }
            "notifications/subscriptions/acknowledged" => {
                if let Some(params) = params {
                    self.acknowledged(&params);
                }
            }
            "notifications/progress" => {
                let Some(params) = params else { return };
                let token = member(&params, "progressToken").and_then(|raw| raw.get().parse().ok());
                if let Some(client) = token.and_then(|id| self.callers.of(id)) {
                    client.progress(&params);
                }
            }
            "notifications/message" => {
                if let (Some(params), Some(client)) = (params, self.client(stream)) {
                    client.log(&params);
                }
            }
            "notifications/elicitation/complete" => {
                if let (Some(params), Some(client)) = (params, self.client(stream)) {
                    client.tell("notifications/elicitation/complete", params);
                }
            }
            "notifications/cancelled" => {
                let id = params
                    .as_ref()
                    .and_then(|params| member(params, "requestId"));
                if let Some(id) = id {
                    self.callers.withdraw(id.get());
                }
            }
            _ => {}
        }
    }

    /// The server says what it will tell of. What it would have told of before may have been
    /// missed.
    fn acknowledged(&self, params: &Json) {
        let granted = member(params, "notifications");
        let granted: Fields<'_> = granted
            .as_ref()
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        let is_granted = |name: &str| granted.get(name).map(RawValue::get) == Some("true");
        let board = &self.board;
        if is_granted("toolsListChanged") {
            board.set_announces(true);
        }
        if is_granted("promptsListChanged") {
            board.shelf.announce(&[Kind::Prompt]);
        }
        if is_granted("resourcesListChanged") {
            board.shelf.announce(&[Kind::Resource, Kind::Template]);
        }
        let uris = granted.given("resourceSubscriptions");
        if let Some(uris) = uris.and_then(|raw| serde_json::from_str::<Vec<String>>(raw.get()).ok())
        {
            board.shelf.watched.acknowledge(&uris);
        }
    }

    /// Whom a message concerns.
    fn client(&self, stream: Option<u64>) -> Option<Arc<Client>> {
        match stream {
            Some(id) => self.callers.of(id),
            None => self.callers.only(),
        }
    }
}

fn member(object: &Json, name: &str) -> Option<Box<RawValue>> {
    object.fields()?.get(name).map(ToOwned::to_owned)
}
