//! What an endpoint offers to its clients.
//!
//! The protocol around it is the same at all of them: `message` asks here what there is and who
//! answers a call, and nothing else in this crate tells one endpoint from another.

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_gateway::client::ClientLink;
use mcpproxy_gateway::direct::Scope;
use mcpproxy_gateway::search::{SearchRequest, parse_names};
use mcpproxy_gateway::{CallRequest, Code, Failure, Gateway, menu};
use mcpproxy_policy::Caller;
use mcpproxy_policy::Operation;
use mcpproxy_wire::initialize::Announces;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use mcpproxy_wire::stateless::{CacheScope, Freshness, Params};
use serde_json::json;
use uuid::Uuid;

const HOUR_IN_MILLISECONDS: u64 = 60 * 60 * 1_000;

/// How long a list may be kept that changes when servers do. Who wants to know sooner can listen.
const MOMENT_IN_MILLISECONDS: u64 = 5_000;

/// What a client of the tools themselves is told when it connects.
const OFFERED_INSTRUCTIONS: &str = "The tools are those of other servers, called by their names with their own arguments. Each call is checked and recorded by what the tool's annotations say that it does.";

/// Which tools a client gets to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `/mcp`: the five tools of the menu.
    Menu,
    /// `/mcp/all` and `/mcp/s/{server}`: tools of servers by their own names.
    Offered(Scope),
}

impl Endpoint {
    /// The endpoint at a path of the HTTP face.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let below = path.strip_prefix("/mcp")?;
        match below {
            "" => Some(Self::Menu),
            "/all" => Some(Self::Offered(Scope::All)),
            _ => {
                let server = below.strip_prefix("/s/")?;
                let is_name = !server.is_empty() && !server.contains('/');
                is_name.then(|| Self::Offered(Scope::Server(server.into())))
            }
        }
    }

    /// Whether there is such an endpoint now.
    pub(crate) fn check(&self, gateway: &Gateway) -> Result<(), Failure> {
        match self {
            Self::Menu => Ok(()),
            Self::Offered(scope) => gateway.check_scope(scope),
        }
    }

    /// Whose tools are offered by their own names, if any are.
    pub(crate) fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Menu => None,
            Self::Offered(scope) => Some(scope),
        }
    }

    /// Whose prompts and resources are offered; the menu offers those of all servers, too.
    pub(crate) fn library(&self) -> Scope {
        self.scope().cloned().unwrap_or(Scope::All)
    }

    /// For how long a list of prompts or resources may be kept.
    pub(crate) fn library_freshness() -> Freshness {
        Freshness {
            ttl_ms: MOMENT_IN_MILLISECONDS,
            scope: CacheScope::Private,
        }
    }

    /// What clients are told of when it changes.
    pub(crate) fn announces(&self) -> Announces {
        match self {
            Self::Menu => Announces::Nothing,
            Self::Offered(_) => Announces::Lists,
        }
    }

    /// What a client is told when it connects.
    pub(crate) fn instructions(&self) -> &'static str {
        match self {
            Self::Menu => menu::INSTRUCTIONS,
            Self::Offered(_) => OFFERED_INSTRUCTIONS,
        }
    }

    /// The result of `tools/list`.
    pub(crate) async fn tools_list(
        &self,
        gateway: &Gateway,
        params: &Params<'_>,
    ) -> Result<Cow<'static, str>, RpcError> {
        let scope = match self {
            Self::Menu => return Ok(menu::tools_list(gateway.settings().rules.mode).into()),
            Self::Offered(scope) => scope,
        };
        let cursor = params.text("cursor");
        if cursor.is_none() && params.fields.given("cursor").is_some() {
            return Err(RpcError::new(INVALID_PARAMS, "cursor must be a string"));
        }
        let page = gateway.list_direct(scope, cursor.as_deref()).await;
        page.map(|page| page.text.into())
            .map_err(|failure| not_listed(&failure))
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
            // What a caller may see can depend on who it is.
            Self::Offered(_) => Self::library_freshness(),
        }
    }

    /// Calls a tool; `arguments` is JSON. The error is one of the protocol, not of the tool.
    pub(crate) async fn call(
        &self,
        gateway: &Gateway,
        caller: &Arc<Caller>,
        client: &Arc<ClientLink>,
        name: &str,
        arguments: &str,
    ) -> Result<String, RpcError> {
        match self {
            Self::Menu => call_menu(gateway, caller, client, name, arguments).await,
            Self::Offered(scope) => gateway
                .call_direct(scope, name, arguments, caller, Some(client))
                .await
                .to_direct_result(scope),
        }
    }
}

/// Why there is no list, as an error of the protocol.
pub(crate) fn not_listed(failure: &Failure) -> RpcError {
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

async fn call_menu(
    gateway: &Gateway,
    caller: &Arc<Caller>,
    client: &Arc<ClientLink>,
    name: &str,
    arguments: &str,
) -> Result<String, RpcError> {
    if let Some(variant) = Operation::of_variant(name) {
        let outcome = match CallRequest::parse(variant, arguments) {
            Ok(request) => gateway.call(request, caller, Some(client)).await,
            Err(failure) => gateway.refuse_call(variant, failure, caller).await,
        };
        return Ok(outcome.to_call_tool_result());
    }
    match name {
        "retrieve_tools" => Ok(gateway
            .retrieve_tools(SearchRequest::parse(arguments), caller)
            .await
            .to_call_tool_result()),
        "describe_tool" => Ok(gateway
            .describe_tools(parse_names(arguments), caller)
            .await
            .to_call_tool_result()),
        _ => Err(RpcError::new(INVALID_PARAMS, menu::unknown_tool(name))),
    }
}
