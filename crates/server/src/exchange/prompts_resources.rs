//! Lists of all kinds, prompts, resources and completion, as an endpoint offers them.

use std::sync::Arc;

use mcpproxy_gateway::client::ClientLink;
use mcpproxy_gateway::prompts_resources::Fetch;
use mcpproxy_gateway::{Code, Failure, Gateway, menu};
use mcpproxy_wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS};
use mcpproxy_wire::stateless::{self, CacheScope, Freshness};
use mcpproxy_wire::{ListedKind, Method, Protocol, RpcError, downgrade};
use serde_json::json;
use uuid::Uuid;

use super::endpoint::Endpoint;
use super::params::RequestParams;
use super::request::Request;
use super::request_state;
use super::session::Session;

/// Freshness of what was read at a server that does not say for how long it holds.
const UNTIL_READ_AGAIN: Freshness = Freshness {
    ttl_ms: 0,
    scope: CacheScope::Private,
};

/// Result of a list of tools, prompts, resources or resource templates.
pub(crate) async fn list(
    gateway: &Gateway,
    request: &Request,
    kind: ListedKind,
) -> Result<String, RpcError> {
    let rights = &request.caller.rights;
    let is_menu = kind == ListedKind::Tool && request.endpoint == Endpoint::Menu;
    let listed = if is_menu {
        menu::tools_list(gateway.settings().rules().mode, rights).into_owned()
    } else {
        let (scope, cursor) = (request.endpoint.offerings(), request.params.cursor()?);
        let page = gateway.direct();
        let page = page.list(&scope, kind, cursor.as_deref(), rights).await;
        page.map_err(|failure| list_error(&failure))?
    };
    Ok(match request.protocol {
        Protocol::Session if kind == ListedKind::Tool => downgrade::tools(listed),
        Protocol::Session => listed,
        Protocol::Stateless if is_menu => {
            stateless::cacheable(&listed, request.endpoint.freshness(rights))
        }
        Protocol::Stateless => stateless::cacheable(&listed, Endpoint::offerings_freshness()),
    })
}

/// Failure to list something, as an error of the protocol.
fn list_error(failure: &Failure) -> RpcError {
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

/// Result of `prompts/get` and `resources/read`.
pub(crate) async fn fetch(
    gateway: &Gateway,
    request: &Request,
    client: &Arc<ClientLink>,
) -> Result<String, RpcError> {
    let (params, caller, client) = (&request.params, &request.caller, Some(client));
    let scope = request.endpoint.offerings();
    let servers = gateway.prompts_resources();
    let is_prompt = request.method == Method::PromptsGet;
    let result = if is_prompt {
        let name = params.required_text(Method::PromptsGet.as_str(), "name")?;
        let arguments = params.given("arguments");
        if arguments.is_some_and(|given| !given.is_object()) {
            let message = "The arguments of a prompt must be an object";
            return Err(RpcError::invalid_params(message));
        }
        let prompt = Fetch::Prompt(&name, arguments);
        servers.fetch(&scope, prompt, caller, client).await
    } else {
        let uri = params.required_text(Method::ResourcesRead.as_str(), "uri")?;
        let resource = Fetch::Resource(&uri);
        servers.fetch(&scope, resource, caller, client).await
    };
    let result = result.map_err(|error| error.to_rpc(request.protocol))?;
    let complete = match request.protocol {
        Protocol::Session => {
            return Ok(stateless::without_result_type(result.text()).into_owned());
        }
        Protocol::Stateless if is_prompt => stateless::complete(result.text().to_owned()),
        Protocol::Stateless => {
            stateless::complete_and_cacheable(result.text().to_owned(), UNTIL_READ_AGAIN)
        }
    };
    Ok(request_state::with_mark(complete))
}

/// Result of `completion/complete`.
pub(crate) async fn complete(gateway: &Gateway, request: &Request) -> Result<String, RpcError> {
    let object = |name: &str| {
        let given = request.params.given(name);
        given.filter(|given| given.is_object()).ok_or_else(|| {
            let message = format!("completion/complete needs params.{name}, an object");
            RpcError::invalid_params(message)
        })
    };
    let (reference, argument) = (object("ref")?, object("argument")?);
    let context = request.params.given("context");
    let context = context.map(|_| object("context")).transpose()?;
    let scope = request.endpoint.offerings();
    let wanted = (reference, argument, context);
    let servers = gateway.prompts_resources();
    let completed = servers.complete(&scope, wanted, &request.caller).await;
    let result = completed.map_err(|error| error.to_rpc(request.protocol))?;
    Ok(match request.protocol {
        Protocol::Session => stateless::without_result_type(result.text()).into_owned(),
        Protocol::Stateless => stateless::complete(result.text().to_owned()),
    })
}

/// Does what `resources/subscribe` asks for in a session.
pub(crate) async fn subscribe(session: &Session, request: &Request) -> Result<String, RpcError> {
    let params = &request.params;
    let uri = params.required_text(Method::ResourcesSubscribe.as_str(), "uri")?;
    let subscriptions = &session.changes.subscriptions;
    let added = subscriptions.add(&uri, &request.caller).await;
    added.map_err(|error| error.to_rpc(Protocol::Session))?;
    Ok("{}".to_owned())
}

/// Does what `resources/unsubscribe` asks for in a session.
pub(crate) fn unsubscribe(session: &Session, params: &RequestParams) -> Result<String, RpcError> {
    let uri = params.required_text(Method::ResourcesUnsubscribe.as_str(), "uri")?;
    session.changes.subscriptions.remove(&uri);
    Ok("{}".to_owned())
}
