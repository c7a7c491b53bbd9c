//! What an MCP client may ask, whichever way it comes.

use std::sync::Arc;

use mcpproxy_gateway::{Caller, Gateway};
use mcpproxy_wire::initialize::{self, ClientHello};
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::rpc::{self, INVALID_PARAMS, Id, METHOD_NOT_FOUND, RpcError};
use mcpproxy_wire::{Message, Revision};
use serde_json::value::RawValue;

use crate::endpoint::Endpoint;

/// Answers one message; nothing if it wants no answer.
pub async fn answer(
    endpoint: &Endpoint,
    gateway: &Gateway,
    caller: &Arc<Caller>,
    message: Message<'_>,
) -> Option<String> {
    match message {
        Message::Request { id, method, params } => {
            let result = result_of(endpoint, gateway, caller, &method, params).await;
            Some(encode(id, result))
        }
        // We ask clients nothing yet, so there is nothing their answers could be for.
        Message::Notification { .. } | Message::Response { .. } => None,
    }
}

/// Reads an `initialize`: who the client is, and what to answer.
pub fn hello(
    endpoint: &Endpoint,
    params: Option<&RawValue>,
) -> Result<(ClientHello, String), RpcError> {
    let hello = params
        .and_then(|params| ClientHello::parse(params.get()))
        .ok_or_else(|| RpcError::new(INVALID_PARAMS, "initialize needs a protocolVersion"))?;
    let revision = Revision::negotiate(&hello.protocol_version);
    let result = initialize::result(revision, env!("CARGO_PKG_VERSION"), endpoint.instructions());
    Ok((hello, result.to_string()))
}

/// The text of an answer.
pub fn encode(id: Id<'_>, result: Result<String, RpcError>) -> String {
    match result {
        Ok(result) => rpc::response(id, &result),
        Err(error) => rpc::error_response(Some(id), &error),
    }
}

async fn result_of(
    endpoint: &Endpoint,
    gateway: &Gateway,
    caller: &Arc<Caller>,
    method: &str,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    match method {
        "tools/call" => call(endpoint, gateway, caller, params).await,
        "tools/list" => Ok(endpoint.tools_list(gateway).into_owned()),
        "ping" => Ok("{}".to_owned()),
        "initialize" => hello(endpoint, params).map(|(_, result)| result),
        _ => {
            let shown: String = method.chars().take(100).collect();
            Err(RpcError::new(
                METHOD_NOT_FOUND,
                format!("Method '{shown}' not found"),
            ))
        }
    }
}

async fn call(
    endpoint: &Endpoint,
    gateway: &Gateway,
    caller: &Arc<Caller>,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    let invalid = |message: &str| RpcError::new(INVALID_PARAMS, message);
    let fields: Fields<'_> = params
        .and_then(|params| serde_json::from_str(params.get()).ok())
        .ok_or_else(|| invalid("tools/call needs params with a name"))?;
    let name: String = fields
        .given("name")
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .ok_or_else(|| invalid("tools/call needs the name of a tool, as a string"))?;
    let arguments = fields.given("arguments").map_or("{}", RawValue::get);
    endpoint.call(gateway, caller, &name, arguments).await
}
