//! What an MCP client may ask, whichever way it comes.
//!
//! There are two protocols. In the older one `initialize` opens a session that later messages
//! belong to; in the newer one every request stands for itself. Each message is decided by itself,
//! see [`protocol_of`], so both are served at the same time in the same place.

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::client::ClientLink;
use mcpproxy_policy::Caller;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::initialize::{self, ClientHello};
use mcpproxy_wire::rpc::{
    self, INVALID_PARAMS, INVALID_REQUEST, Id, METHOD_NOT_FOUND, PARSE_ERROR, RpcError,
};
use mcpproxy_wire::stateless::{self, Params};
use mcpproxy_wire::{Message, Revision, downgrade};
use serde_json::value::RawValue;

use crate::endpoint::Endpoint;
use crate::in_flight::InFlight;
use crate::library;
use crate::peer::Peer;
use crate::relay::Work;
use crate::state;

/// What we call our version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The method that opens a stream of changes; its answer is no single message, so each way in
/// serves it by itself.
pub const LISTEN: &str = "subscriptions/listen";

/// The method that asks who is there; it belongs to no session and opens none.
pub const DISCOVER: &str = "server/discover";

/// Who asks, and what is offered there.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) caller: &'a Arc<Caller>,
}

/// What a session knows of its client.
#[derive(Clone, Copy)]
pub(crate) struct InSession<'a> {
    pub(crate) in_flight: &'a InFlight,
    pub(crate) peer: &'a Arc<Peer>,
}

/// Whether a request is worked on by a server, which may speak to the client meanwhile. All others
/// are answered at once.
pub(crate) fn is_work(method: &str) -> bool {
    method == "tools/call" || library::is_fetch(method)
}

/// Which protocol a request belongs to, as far as the request itself tells.
pub fn protocol_of(method: &str, params: &Params<'_>) -> Option<Protocol> {
    if params.names_revision() {
        return Some(Protocol::Stateless);
    }
    (method == "initialize").then_some(Protocol::Session)
}

/// Reads an `initialize`: who the client is, and what to answer.
pub(crate) fn hello(
    endpoint: &Endpoint,
    params: Option<&RawValue>,
) -> Result<(ClientHello, String), RpcError> {
    let hello = params
        .and_then(|params| ClientHello::parse(params.get()))
        .ok_or_else(|| RpcError::new(INVALID_PARAMS, "initialize needs a protocolVersion"))?;
    let revision = Revision::negotiate(&hello.protocol_version);
    let result = initialize::result(
        revision,
        VERSION,
        endpoint.instructions(),
        endpoint.announces(),
    );
    Ok((hello, result.to_string()))
}

/// The text of an answer.
pub(crate) fn encode(id: Id<'_>, result: Result<String, RpcError>) -> String {
    match result {
        Ok(result) => rpc::response(id, &result),
        Err(error) => rpc::error_response(Some(id), &error),
    }
}

/// The answer to bytes that are no message.
pub(crate) fn unreadable(bytes: &[u8], error: &RpcError) -> String {
    let id = Message::salvage_id(bytes).filter(|_| error.code != PARSE_ERROR);
    rpc::error_response(id, error)
}

/// The message that tells a session of other tools.
pub(crate) fn tools_changed() -> &'static str {
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
}

/// The message that ends a stream of changes.
pub fn ended(id: Id<'_>) -> String {
    rpc::response(id, &stateless::subscription_ended(id, VERSION))
}

impl Context<'_> {
    /// Answers one message of a session; nothing if it wants no answer, or no longer wants one.
    pub(crate) async fn answer_in_session(
        self,
        session: InSession<'_>,
        message: Message<'_>,
    ) -> Option<String> {
        match message {
            Message::Request { id, method, params } => {
                let params = Params::read(params);
                self.answer_request(session, (id, &method, &params)).await
            }
            Message::Notification { method, params } => {
                if method == "notifications/cancelled" {
                    session.in_flight.call_off(&Params::read(params));
                }
                None
            }
            Message::Response { id, outcome } => {
                session.peer.asked.answer(id, outcome);
                None
            }
        }
    }

    /// Answers one request of a session, whose client hears nothing before that; nothing if it was
    /// called off.
    pub(crate) async fn answer_request(
        self,
        session: InSession<'_>,
        (id, method, params): (Id<'_>, &str, &Params<'_>),
    ) -> Option<String> {
        let entered = session.in_flight.enter(id.text());
        let result = self.result_in_session(session.peer, method, params);
        let result = entered.unless_called_off(result).await?;
        Some(encode(id, result))
    }

    /// Answers one message of a list; what is wrong with it concerns no other one.
    pub(crate) async fn answer_in_list(
        self,
        session: InSession<'_>,
        message: &RawValue,
    ) -> Option<String> {
        let bytes = message.get().as_bytes();
        match Message::parse(bytes) {
            Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                let message = "Invalid Request: initialize cannot be part of a list";
                Some(encode(id, Err(RpcError::new(INVALID_REQUEST, message))))
            }
            Ok(message) => self.answer_in_session(session, message).await,
            Err(error) => Some(unreadable(bytes, &error)),
        }
    }

    /// The result of a request in a session, whose client hears nothing before that.
    pub(crate) async fn result_in_session(
        self,
        peer: &Peer,
        method: &str,
        params: &Params<'_>,
    ) -> Result<String, RpcError> {
        match method {
            _ if is_work(method) => {
                let (client, _) = peer.unreachable().open();
                self.work(Protocol::Session, method, params, client).await
            }
            "logging/setLevel" => peer.set_level(params),
            "tools/list" => {
                let listed = self.endpoint.tools_list(self.gateway, params).await?;
                Ok(downgrade::tools(&listed).into_owned())
            }
            "completion/complete" => self.complete(Protocol::Session, params).await,
            "resources/subscribe" => library::subscribe(&peer.listener, params).await,
            "resources/unsubscribe" => library::unsubscribe(&peer.listener, params),
            "ping" => Ok("{}".to_owned()),
            _ => match library::listed_by(method) {
                Some(kind) => self.list(kind, params).await,
                None => Err(unknown_method(method)),
            },
        }
    }

    /// The result of a request that stands for itself, if it is answered at once.
    pub(crate) async fn result_by_itself(
        self,
        method: &str,
        params: &Params<'_>,
    ) -> Result<String, RpcError> {
        match method {
            "tools/list" => {
                let listed = self.endpoint.tools_list(self.gateway, params).await?;
                Ok(stateless::cacheable(&listed, self.endpoint.freshness()))
            }
            DISCOVER => Ok(stateless::discovery(
                VERSION,
                self.endpoint.instructions(),
                self.endpoint.announces(),
                self.endpoint.freshness(),
            )),
            "completion/complete" => self.complete(Protocol::Stateless, params).await,
            _ => match library::listed_by(method) {
                Some(kind) => {
                    let listed = self.list(kind, params).await?;
                    Ok(stateless::cacheable(&listed, Endpoint::library_freshness()))
                }
                None => Err(unknown_method(method)),
            },
        }
    }

    /// The work of a request, for which its server may speak to the client meanwhile.
    pub(crate) fn work(
        self,
        protocol: Protocol,
        method: &str,
        params: &Params<'_>,
        client: Arc<ClientLink>,
    ) -> Work {
        match method {
            "tools/call" => self.call(protocol, params, client),
            _ if library::is_fetch(method) => self.fetch(protocol, method, params, client),
            _ => Box::pin(std::future::ready(Err(unknown_method(method)))),
        }
    }

    fn call(self, protocol: Protocol, params: &Params<'_>, client: Arc<ClientLink>) -> Work {
        let Some(name) = params.text("name").map(Cow::into_owned) else {
            let message = "tools/call needs the name of a tool, as a string";
            let error = RpcError::new(INVALID_PARAMS, message);
            return Box::pin(std::future::ready(Err(error)));
        };
        let arguments = params.fields.given("arguments");
        let arguments = arguments.map_or("{}", RawValue::get).to_owned();
        let endpoint = self.endpoint.clone();
        let (gateway, caller) = (Arc::clone(self.gateway), Arc::clone(self.caller));
        Box::pin(async move {
            let called = endpoint.call(&gateway, &caller, &client, &name, &arguments);
            let result = called.await?;
            Ok(shaped(protocol, &result))
        })
    }
}

/// A result as a protocol has it.
fn shaped(protocol: Protocol, result: &str) -> String {
    match protocol {
        Protocol::Session => downgrade::result(result).into_owned(),
        Protocol::Stateless => state::marked(stateless::complete(result)),
    }
}

fn unknown_method(method: &str) -> RpcError {
    let shown: String = method.chars().take(100).collect();
    RpcError::new(METHOD_NOT_FOUND, format!("Method '{shown}' not found"))
}
