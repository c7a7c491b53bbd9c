//! Calls of tools, as an endpoint offers them.

use std::sync::Arc;

use mcpproxy_gateway::client::ClientLink;
use mcpproxy_gateway::{CallRequest, Gateway, menu};
use mcpproxy_policy::{Caller, Operation};
use mcpproxy_wire::meta::ServerIdentity;
use mcpproxy_wire::{Json, Protocol, ResultText, RpcError, stateless};

use super::endpoint::Endpoint;
use super::request::Request;
use super::request_state;

/// Calls a tool. The error is one of the protocol, not of the tool.
pub(crate) async fn call(
    gateway: &Gateway,
    request: &Request,
    client: &Arc<ClientLink>,
) -> Result<ResultText, RpcError> {
    let name = request.params.text("name").ok_or_else(|| {
        RpcError::invalid_params("tools/call needs the name of a tool, as a string")
    })?;
    let none = Json::empty_object();
    let arguments = request.params.given("arguments").unwrap_or(&none);
    let (caller, client) = (&request.caller, Some(client));
    let (outcome, result) = match (&request.endpoint, Operation::of_variant(&name)) {
        (Endpoint::Direct(scope), _) => {
            let outcome = gateway
                .call_direct(scope, &name, arguments, caller, client)
                .await;
            let result = outcome.to_direct_result(scope, request.protocol)?;
            (outcome, result)
        }
        (Endpoint::Menu, Some(variant)) => {
            let outcome = match CallRequest::parse(variant, arguments) {
                Ok(call) => gateway.call(call, caller, client).await,
                Err(unreadable) => gateway.refuse_call(unreadable, caller).await,
            };
            let result = outcome.to_client_result(request.protocol, ServerIdentity::Hidden);
            (outcome, result)
        }
        (Endpoint::Menu, None) => {
            // Boxed, so that the future of a call stays small.
            let found = Box::pin(find(gateway, &name, arguments, caller)).await?;
            return Ok(match request.protocol {
                Protocol::Session => found,
                Protocol::Stateless => stateless::complete(found),
            }
            .into());
        }
    };
    if request.protocol == Protocol::Stateless && outcome.asks_for_input() {
        return Ok(request_state::with_mark(result.into_string()).into());
    }
    Ok(result)
}

/// Result of a tool of the menu that finds tools.
async fn find(
    gateway: &Gateway,
    name: &str,
    arguments: &Json,
    caller: &Arc<Caller>,
) -> Result<String, RpcError> {
    let search = gateway.search();
    let found = match name {
        "retrieve_tools" => search.retrieve_tools(arguments, caller).await,
        "describe_tool" => search.describe_tools(arguments, caller).await,
        _ => {
            gateway.refuse_unknown(name, arguments, caller).await;
            return Err(RpcError::invalid_params(menu::unknown_tool(name)));
        }
    };
    Ok(found.to_call_tool_result())
}
