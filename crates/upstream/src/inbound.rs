//! What a server sends us, whichever way it comes.

use bytes::Bytes;
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::{Json, Message, RpcError, rpc};
use serde_json::value::RawValue;

use crate::CallError;
use crate::board::Board;
use crate::pending::Answer;

/// What to do about a message.
pub(crate) enum Inbound {
    /// Hand the answer to whoever waits under the id.
    Answer(u64, Answer),
    /// Send this back.
    Reply(String),
    /// Nothing more.
    Done,
    /// It is no message; the reason is for the log.
    Garbage(String),
}

/// Reads one message.
///
/// An announced change of tools makes the listing stale here, at the moment it is read, so
/// that no later decision rests on what was listed before.
pub(crate) fn receive(bytes: &Bytes, board: &Board) -> Inbound {
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
        Ok(Message::Request { id, method, .. }) => Inbound::Reply(if method == "ping" {
            rpc::response(id, "{}")
        } else {
            let refusal = format!("Method not found: {method}");
            rpc::error_response(Some(id), &RpcError::new(rpc::METHOD_NOT_FOUND, refusal))
        }),
        Ok(Message::Notification { method, params }) => {
            match &*method {
                "notifications/tools/list_changed" => board.announce_change(),
                "notifications/subscriptions/acknowledged" if grants_tool_changes(params) => {
                    board.set_announces(true);
                }
                _ => {}
            }
            Inbound::Done
        }
        Err(error) => match Message::salvage_id(bytes).and_then(rpc::Id::number) {
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

/// Whether the acknowledged subscription is one to changes of tools.
fn grants_tool_changes(params: Option<&RawValue>) -> bool {
    let member = |raw: Option<&RawValue>, name: &str| {
        let fields: Fields<'_> = serde_json::from_str(raw?.get()).ok()?;
        fields.get(name).map(ToOwned::to_owned)
    };
    let granted = member(params, "notifications");
    let changes = member(granted.as_deref(), "toolsListChanged");
    changes.is_some_and(|raw| raw.get() == "true")
}
