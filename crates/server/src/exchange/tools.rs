//! Calls of tools, as an endpoint offers them.

use std::sync::Arc;

use mcpproxy_gateway::client::ClientLink;
use mcpproxy_gateway::{Code, Failure, Gateway, menu};
use mcpproxy_policy::{Caller, Operation};
use mcpproxy_wire::meta::ServerIdentity;
use mcpproxy_wire::{Json, Method, Protocol, ResultText, RpcError, stateless};

use super::endpoint::Endpoint;
use super::request::Request;
use super::request_state;

/// Message about a call that does not say which tool.
const UNNAMED: &str = "tools/call needs the name of a tool, as a string";

/// Calls a tool. The error is one of the protocol, not of the tool.
pub(crate) async fn call(
    gateway: &Gateway,
    request: &Request,
    client: &Arc<ClientLink>,
) -> Result<ResultText, RpcError> {
    let none = Json::empty_object();
    let arguments = request.params.given("arguments").unwrap_or(&none);
    let (caller, client) = (&request.caller, Some(client));
    let Some(name) = request.params.text("name") else {
        let (method, message) = (Method::ToolsCall.as_str(), UNNAMED);
        let failure = Failure::new(Code::InvalidArguments, message);
        let size = arguments.text().len();
        gateway.refuse_unread(method, size, failure, caller).await;
        return Err(RpcError::invalid_params(message));
    };
    let (outcome, result) = match (&request.endpoint, Operation::of_variant(&name)) {
        (Endpoint::Direct(scope), _) => {
            let outcome = gateway
                .call_direct(scope, &name, arguments, caller, client)
                .await;
            let result = outcome.to_direct_result(scope, request.protocol)?;
            (outcome, result)
        }
        (Endpoint::Menu, Some(variant)) => {
            let outcome = match gateway.read_call(variant, arguments) {
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
            let message = menu::unknown_tool(name, &caller.rights);
            return Err(RpcError::invalid_params(message));
        }
    };
    Ok(found.to_call_tool_result())
}
