//! What an MCP client may ask, whichever way it comes.

use std::sync::Arc;

use mcpproxy_gateway::discover::{Search, parse_names};
use mcpproxy_gateway::{CallRequest, Caller, Gateway, menu};
use mcpproxy_policy::Operation;
use mcpproxy_wire::initialize::{self, ClientHello};
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::rpc::{self, INVALID_PARAMS, Id, METHOD_NOT_FOUND, RpcError};
use mcpproxy_wire::{Message, Revision};
use serde_json::value::RawValue;

/// Answers one message; nothing if it wants no answer.
pub async fn answer(
    gateway: &Gateway,
    caller: &Arc<Caller>,
    message: Message<'_>,
) -> Option<String> {
    match message {
        Message::Request { id, method, params } => {
            let result = result_of(gateway, caller, &method, params).await;
            Some(encode(id, result))
        }
        // We ask clients nothing yet, so there is nothing their answers could be for.
        Message::Notification { .. } | Message::Response { .. } => None,
    }
}

/// Reads an `initialize`: who the client is, and what to answer.
pub fn hello(params: Option<&RawValue>) -> Result<(ClientHello, String), RpcError> {
    let hello = params
        .and_then(|params| ClientHello::parse(params.get()))
        .ok_or_else(|| RpcError::new(INVALID_PARAMS, "initialize needs a protocolVersion"))?;
    let revision = Revision::negotiate(&hello.protocol_version);
    let result = initialize::result(revision, env!("CARGO_PKG_VERSION"), menu::INSTRUCTIONS);
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
    gateway: &Gateway,
    caller: &Arc<Caller>,
    method: &str,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    match method {
        "tools/call" => call(gateway, caller, params).await,
        "tools/list" => Ok(menu::tools_list(gateway.settings().rules.mode).to_owned()),
        "ping" => Ok("{}".to_owned()),
        "initialize" => hello(params).map(|(_, result)| result),
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
    if let Some(variant) = Operation::of_variant(&name) {
        let request = CallRequest::parse(variant, arguments);
        let outcome = gateway.call(variant, request, caller).await;
        return Ok(outcome.to_call_tool_result());
    }
    match name.as_str() {
        "retrieve_tools" => Ok(gateway
            .retrieve_tools(Search::parse(arguments), caller)
            .await
            .to_call_tool_result()),
        "describe_tool" => Ok(gateway
            .describe_tools(parse_names(arguments), caller)
            .await
            .to_call_tool_result()),
        _ => Err(invalid(&menu::unknown_tool(&name))),
    }
}
