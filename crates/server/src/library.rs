//! Prompts, resources and completion, as an endpoint offers them.

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_gateway::Failure;
use mcpproxy_gateway::client::ClientLink;
use mcpproxy_gateway::prompts_resources::{FetchError, Kind};
use mcpproxy_wire::Json;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::{INVALID_PARAMS, RpcError};
use mcpproxy_wire::stateless::{self, CacheScope, Freshness, Params};
use serde_json::value::RawValue;

use crate::endpoint::not_listed;
use crate::message::Context;
use crate::news::Listener;
use crate::relay::Work;
use crate::state;

/// What was read at a server that does not say for how long it holds.
const UNTIL_READ_AGAIN: Freshness = Freshness {
    ttl_ms: 0,
    scope: CacheScope::Private,
};

/// What a method lists.
pub(crate) fn listed_by(method: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.method() == method)
}

/// Whether a method gets or reads something, for which its server may speak to the client.
pub(crate) fn is_fetch(method: &str) -> bool {
    matches!(method, "prompts/get" | "resources/read")
}

impl Context<'_> {
    /// The result of a list.
    pub(crate) async fn list(self, kind: Kind, params: &Params<'_>) -> Result<String, RpcError> {
        let cursor = params.text("cursor");
        if cursor.is_none() && params.fields.given("cursor").is_some() {
            return Err(RpcError::new(INVALID_PARAMS, "cursor must be a string"));
        }
        let scope = self.endpoint.library();
        let page = self
            .gateway
            .list_prompts_resources(&scope, kind, cursor.as_deref());
        page.await.map_err(|failure: Failure| not_listed(&failure))
    }

    /// The work of `prompts/get` and `resources/read`.
    pub(crate) fn fetch(
        self,
        protocol: Protocol,
        method: &str,
        params: &Params<'_>,
        client: Arc<ClientLink>,
    ) -> Work {
        let member = if method == "prompts/get" {
            "name"
        } else {
            "uri"
        };
        let named = text(params, method, member).map(Cow::into_owned);
        let arguments = params.fields.given("arguments").and_then(kept);
        let scope = self.endpoint.library();
        let (gateway, caller) = (Arc::clone(self.gateway), Arc::clone(self.caller));
        let is_prompt = method == "prompts/get";
        Box::pin(async move {
            let named = named?;
            let client = Some(&client);
            let result = if is_prompt {
                if arguments.as_ref().is_some_and(|given| !given.is_object()) {
                    let message = "The arguments of a prompt must be an object";
                    return Err(RpcError::new(INVALID_PARAMS, message));
                }
                let arguments = arguments.as_ref();
                gateway
                    .get_prompt(&scope, &named, arguments, &caller, client)
                    .await
            } else {
                gateway.read_resource(&scope, &named, &caller, client).await
            };
            let result = result.map_err(|refusal| refusal.to_rpc(protocol))?;
            Ok(match protocol {
                Protocol::Session => stateless::without_result_type(result.text()).into_owned(),
                Protocol::Stateless if is_prompt => {
                    state::marked(stateless::complete(result.text()))
                }
                Protocol::Stateless => state::marked(stateless::complete_and_cacheable(
                    result.text(),
                    UNTIL_READ_AGAIN,
                )),
            })
        })
    }

    /// The result of `completion/complete`.
    pub(crate) async fn complete(
        self,
        protocol: Protocol,
        params: &Params<'_>,
    ) -> Result<String, RpcError> {
        let object = |name: &str| {
            let given = params.fields.given(name).and_then(kept);
            given.filter(Json::is_object).ok_or_else(|| {
                let message = format!("completion/complete needs params.{name}, an object");
                RpcError::new(INVALID_PARAMS, message)
            })
        };
        let (reference, argument) = (object("ref")?, object("argument")?);
        let context = match params.fields.given("context") {
            Some(_) => Some(object("context")?),
            None => None,
        };
        let asked = (&reference, &argument, context.as_ref());
        let scope = self.endpoint.library();
        let completed = self.gateway.complete(&scope, asked);
        let result = completed
            .await
            .map_err(|refusal: FetchError| refusal.to_rpc(protocol))?;
        Ok(match protocol {
            Protocol::Session => stateless::without_result_type(result.text()).into_owned(),
            Protocol::Stateless => stateless::complete(result.text()),
        })
    }
}

/// Does what `resources/subscribe` asks for in a session.
pub(crate) async fn subscribe(
    listener: &Listener,
    params: &Params<'_>,
) -> Result<String, RpcError> {
    let uri = text(params, "resources/subscribe", "uri")?;
    let added = listener.subscriptions.add(&uri).await;
    added.map_err(|refusal| refusal.to_rpc(Protocol::Session))?;
    Ok("{}".to_owned())
}

/// Does what `resources/unsubscribe` asks for in a session.
pub(crate) fn unsubscribe(listener: &Listener, params: &Params<'_>) -> Result<String, RpcError> {
    let uri = text(params, "resources/unsubscribe", "uri")?;
    listener.subscriptions.remove(&uri);
    Ok("{}".to_owned())
}

fn text<'a>(params: &Params<'a>, method: &str, member: &str) -> Result<Cow<'a, str>, RpcError> {
    params.text(member).ok_or_else(|| {
        let message = format!("{method} needs params.{member}, a string");
        RpcError::new(INVALID_PARAMS, message)
    })
}

/// A part of a message that outlives it.
fn kept(raw: &RawValue) -> Option<Json> {
    Json::parse(raw.get().to_owned()).ok()
}
