//! Tools: listing and calling them, as an endpoint offers them.

use std::sync::Arc;

use mcpproxy_gateway::client::ClientLink;
use mcpproxy_gateway::{CallRequest, Code, Failure, Gateway, menu};
use mcpproxy_policy::{Caller, Operation};
use mcpproxy_wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use mcpproxy_wire::{Json, ListedKind, Protocol, ResultText, downgrade, stateless};
use serde_json::json;
use uuid::Uuid;

use super::endpoint::Endpoint;
use super::request::Request;
use super::request_state;

/// Result of `tools/list`.
pub(crate) async fn list(gateway: &Gateway, request: &Request) -> Result<String, RpcError> {
    let listed = match &request.endpoint {
        Endpoint::Menu => menu::tools_list(gateway.settings().rules().mode).to_owned(),
        Endpoint::Direct(scope) => {
            let cursor = request.params.cursor()?;
            let page = gateway
                .direct()
                .list(scope, ListedKind::Tool, cursor.as_deref())
                .await;
            page.map_err(|failure| list_error(&failure))?
        }
    };
    Ok(match request.protocol {
        Protocol::Session => downgrade::tools(listed),
        Protocol::Stateless => stateless::cacheable(&listed, request.endpoint.freshness()),
    })
}

/// Calls a tool. The error is one of the protocol, not of the tool.
pub(crate) async fn call(
    gateway: &Gateway,
    request: &Request,
    client: &Arc<ClientLink>,
) -> Result<ResultText, RpcError> {
    let name = request.params.text("name").ok_or_else(|| {
        let message = "tools/call needs the name of a tool, as a string";
        RpcError::new(INVALID_PARAMS, message)
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
                Err(failure) => gateway.refuse_call(variant, failure, caller).await,
            };
            let result = outcome.to_client_result(request.protocol);
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
        _ => return Err(RpcError::new(INVALID_PARAMS, menu::unknown_tool(name))),
    };
    Ok(found.to_call_tool_result())
}

/// Failure to list something, as an error of the protocol.
pub(crate) fn list_error(failure: &Failure) -> RpcError {
    let code = match failure.code {
        Code::InvalidArguments | Code::UnknownServer => INVALID_PARAMS,
        _ => INTERNAL_ERROR,
    };
    RpcError {
        code,
        message: failure.message.clone(),
        data: Some(json!({ "error": failure.to_json(Uuid::now_v7()) })),
    }
}
