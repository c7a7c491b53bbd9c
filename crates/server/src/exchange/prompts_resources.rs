//! Prompts, resources and completion, as an endpoint offers them.

use std::sync::Arc;

use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::client::ClientLink;
use mcpproxy_gateway::prompts_resources::Fetch;
use mcpproxy_wire::method::Method;
use mcpproxy_wire::rpc::{INVALID_PARAMS, RpcError};
use mcpproxy_wire::stateless::{self, CacheScope, Freshness};
use mcpproxy_wire::{ListedKind, Protocol};

use super::endpoint::Endpoint;
use super::params::RequestParams;
use super::request::Request;
use super::request_state;
use super::session::Session;
use super::tools::list_error;

/// Freshness of what was read at a server that does not say for how long it holds.
const UNTIL_READ_AGAIN: Freshness = Freshness {
    ttl_ms: 0,
    scope: CacheScope::Private,
};

/// Result of a list of prompts, resources or resource templates.
pub(crate) async fn list(gateway: &Gateway, request: &Request) -> Result<String, RpcError> {
    let cursor = request.params.cursor()?;
    let kind = match request.method {
        Method::PromptsList => ListedKind::Prompt,
        Method::ResourcesList => ListedKind::Resource,
        _ => ListedKind::Template,
    };
    let scope = request.endpoint.offerings();
    let page = gateway.direct().list(&scope, kind, cursor.as_deref()).await;
    let listed = page.map_err(|failure| list_error(&failure))?;
    Ok(match request.protocol {
        Protocol::Session => listed,
        Protocol::Stateless => stateless::cacheable(&listed, Endpoint::offerings_freshness()),
    })
}

/// Result of `prompts/get` and `resources/read`.
pub(crate) async fn fetch(
    gateway: &Gateway,
    request: &Request,
    client: &Arc<ClientLink>,
) -> Result<String, RpcError> {
    let Request {
        params,
        protocol,
        caller,
        ..
    } = request;
    let scope = request.endpoint.offerings();
    let source = gateway.prompts_resources();

    let is_prompt = request.method == Method::PromptsGet;
    let result = if is_prompt {
        let name = params.required_text(Method::PromptsGet.as_str(), "name")?;
        let arguments = params.given("arguments");
        if arguments.is_some_and(|given| !given.is_object()) {
            let message = "The arguments of a prompt must be an object";
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        let prompt = Fetch::Prompt(&name, arguments);
        source.fetch(&scope, prompt, caller, Some(client)).await
    } else {
        let uri = params.required_text(Method::ResourcesRead.as_str(), "uri")?;
        let resource = Fetch::Resource(&uri);
        source.fetch(&scope, resource, caller, Some(client)).await
    };
    let result = result.map_err(|error| error.to_rpc(*protocol))?;
    Ok(match protocol {
        Protocol::Session => stateless::without_result_type(result.text()).into_owned(),
        Protocol::Stateless if is_prompt => {
            request_state::with_mark(stateless::complete(result.text().to_owned()))
        }
        Protocol::Stateless => request_state::with_mark(stateless::complete_and_cacheable(
            result.text().to_owned(),
            UNTIL_READ_AGAIN,
        )),
    })
}

/// Result of `completion/complete`.
pub(crate) async fn complete(gateway: &Gateway, request: &Request) -> Result<String, RpcError> {
    let object = |name: &str| {
        let given = request.params.given(name);
        given.filter(|given| given.is_object()).ok_or_else(|| {
            let message = format!("completion/complete needs params.{name}, an object");
            RpcError::new(INVALID_PARAMS, message)
        })
    };
    let (reference, argument) = (object("ref")?, object("argument")?);
    let context = match request.params.given("context") {
        Some(_) => Some(object("context")?),
        None => None,
    };
    let scope = request.endpoint.offerings();
    let wanted = (reference, argument, context);
    let completed = gateway.prompts_resources().complete(&scope, wanted).await;
    let result = completed.map_err(|error| error.to_rpc(request.protocol))?;
    Ok(match request.protocol {
        Protocol::Session => stateless::without_result_type(result.text()).into_owned(),
        Protocol::Stateless => stateless::complete(result.text().to_owned()),
    })
}

/// Does what `resources/subscribe` asks for in a session.
pub(crate) async fn subscribe(
    session: &Session,
    params: &RequestParams,
) -> Result<String, RpcError> {
    let uri = params.required_text(Method::ResourcesSubscribe.as_str(), "uri")?;
    let added = session.changes.subscriptions.add(&uri).await;
    added.map_err(|error| error.to_rpc(Protocol::Session))?;
    Ok("{}".to_owned())
}

/// Does what `resources/unsubscribe` asks for in a session.
pub(crate) fn unsubscribe(session: &Session, params: &RequestParams) -> Result<String, RpcError> {
    let uri = params.required_text(Method::ResourcesUnsubscribe.as_str(), "uri")?;
    session.changes.subscriptions.remove(&uri);
    Ok("{}".to_owned())
}
