//! What an endpoint offers to its clients.
//!
//! The protocol around it is the same at all of them: `message` asks here what there is and who
//! answers a call, and nothing else in this crate tells one endpoint from another.

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_gateway::discover::{Search, parse_names};
use mcpproxy_gateway::{CallRequest, Caller, Gateway, menu};
use mcpproxy_policy::Operation;
use mcpproxy_wire::rpc::{INVALID_PARAMS, RpcError};
use mcpproxy_wire::stateless::{CacheScope, Freshness};

const HOUR_IN_MILLISECONDS: u64 = 60 * 60 * 1_000;

/// Which tools a client gets to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `/mcp`: the five tools of the menu.
    Menu,
}

impl Endpoint {
    /// The endpoint at a path of the HTTP face.
    pub(crate) fn at(path: &str) -> Option<Self> {
        (path == "/mcp").then_some(Self::Menu)
    }

    /// What a client is told when it connects.
    pub(crate) fn instructions(&self) -> &'static str {
        match self {
            Self::Menu => menu::INSTRUCTIONS,
        }
    }

    /// The result of `tools/list`.
    pub(crate) fn tools_list(&self, gateway: &Gateway) -> Cow<'static, str> {
        match self {
            Self::Menu => menu::tools_list(gateway.settings().rules.mode).into(),
        }
    }

    /// For how long what is offered may be kept, and for whom.
    pub(crate) fn freshness(&self) -> Freshness {
        match self {
            // It is the same for everybody, and changes only when an operator turns to the other
            // mode. Calls made by the old one still work, or are told what is missing.
            Self::Menu => Freshness {
                ttl_ms: HOUR_IN_MILLISECONDS,
                scope: CacheScope::Public,
            },
        }
    }

    /// Calls a tool; `arguments` is JSON. The error is one of the protocol, not of the tool.
    pub(crate) async fn call(
        &self,
        gateway: &Gateway,
        caller: &Arc<Caller>,
        name: &str,
        arguments: &str,
    ) -> Result<String, RpcError> {
        match self {
            Self::Menu => call_menu(gateway, caller, name, arguments).await,
        }
    }
}

async fn call_menu(
    gateway: &Gateway,
    caller: &Arc<Caller>,
    name: &str,
    arguments: &str,
) -> Result<String, RpcError> {
    if let Some(variant) = Operation::of_variant(name) {
        let request = CallRequest::parse(variant, arguments);
        let outcome = gateway.call(variant, request, caller).await;
        return Ok(outcome.to_call_tool_result());
    }
    match name {
        "retrieve_tools" => Ok(gateway
            .retrieve_tools(Search::parse(arguments), caller)
            .await
            .to_call_tool_result()),
        "describe_tool" => Ok(gateway
            .describe_tools(parse_names(arguments), caller)
            .await
            .to_call_tool_result()),
        _ => Err(RpcError::new(INVALID_PARAMS, menu::unknown_tool(name))),
    }
}
