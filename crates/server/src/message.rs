//! What an MCP client may ask, whichever way it comes.
//!
//! There are two protocols. In the older one `initialize` opens a session that later messages
//! belong to; in the newer one every request stands for itself. Each message is decided by itself,
//! see [`era_of`], so both are served at the same time in the same place.

use std::sync::Arc;

use mcpproxy_gateway::{Caller, Gateway};
use mcpproxy_wire::initialize::{self, Announces, ClientHello};
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::revision::Era;
use mcpproxy_wire::rpc::{
    self, INVALID_PARAMS, INVALID_REQUEST, Id, METHOD_NOT_FOUND, PARSE_ERROR, RpcError,
};
use mcpproxy_wire::stateless::{self, Params};
use mcpproxy_wire::{Message, Revision};
use serde_json::value::RawValue;

use crate::endpoint::Endpoint;
use crate::in_flight::InFlight;

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
    pub(crate) gateway: &'a Gateway,
    pub(crate) caller: &'a Arc<Caller>,
}

/// Which protocol a request belongs to, as far as the request itself tells.
pub fn era_of(method: &str, params: &Params<'_>) -> Option<Era> {
    if params.names_revision() {
        return Some(Era::Stateless);
    }
    (method == "initialize").then_some(Era::Session)
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

/// The message that opens a stream of changes, if it may be opened, and what is told on it: what
/// was asked for, as far as it can change here.
pub(crate) fn opened(
    endpoint: &Endpoint,
    id: Id<'_>,
    params: &Params<'_>,
) -> Result<(String, Announces), RpcError> {
    let wanted = params.fields.given("notifications");
    let wanted: Fields<'_> = wanted
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .ok_or_else(|| {
            RpcError::new(
                INVALID_PARAMS,
                "subscriptions/listen needs params.notifications, an object",
            )
        })?;
    let wants_tools = wanted.get("toolsListChanged").map(RawValue::get) == Some("true");
    let announces = if wants_tools {
        endpoint.announces()
    } else {
        Announces::Nothing
    };
    Ok((stateless::subscription_opened(id, announces), announces))
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
        in_flight: &InFlight,
        message: Message<'_>,
    ) -> Option<String> {
        match message {
            Message::Request { id, method, params } => {
                let params = Params::read(params);
                self.answer_request(in_flight, (id, &method, &params)).await
            }
            Message::Notification { method, params } => {
                if method == "notifications/cancelled" {
                    in_flight.call_off(&Params::read(params));
                }
                None
            }
            // We ask clients nothing yet, so there is nothing their answers could be for.
            Message::Response { .. } => None,
        }
    }

    /// Answers one request of a session; nothing if it was called off.
    pub(crate) async fn answer_request(
        self,
        in_flight: &InFlight,
        (id, method, params): (Id<'_>, &str, &Params<'_>),
    ) -> Option<String> {
        let entered = in_flight.enter(id.text());
        let result = self.result_in_session(method, params);
        let result = entered.unless_called_off(result).await?;
        Some(encode(id, result))
    }

    /// Answers one message of a list; what is wrong with it concerns no other one.
    pub(crate) async fn answer_in_list(
        self,
        in_flight: &InFlight,
        message: &RawValue,
    ) -> Option<String> {
        let bytes = message.get().as_bytes();
        match Message::parse(bytes) {
            Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                let message = "Invalid Request: initialize cannot be part of a list";
                Some(encode(id, Err(RpcError::new(INVALID_REQUEST, message))))
            }
            Ok(message) => self.answer_in_session(in_flight, message).await,
            Err(error) => Some(unreadable(bytes, &error)),
        }
    }

    /// The result of a request in a session.
    pub(crate) async fn result_in_session(
        self,
        method: &str,
        params: &Params<'_>,
    ) -> Result<String, RpcError> {
        match method {
            "tools/call" => {
                let result = self.call(params).await?;
                Ok(stateless::without_result_type(&result).into_owned())
            }
            "tools/list" => {
                let listed = self.endpoint.tools_list(self.gateway, params).await?;
                Ok(listed.into_owned())
            }
            "ping" => Ok("{}".to_owned()),
            _ => Err(unknown_method(method)),
        }
    }

    /// The result of a request that stands for itself.
    pub(crate) async fn result_by_itself(
        self,
        method: &str,
        params: &Params<'_>,
    ) -> Result<String, RpcError> {
        match method {
            "tools/call" => {
                let result = self.call(params).await?;
                Ok(stateless::complete(&result))
            }
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
            _ => Err(unknown_method(method)),
        }
    }

    async fn call(self, params: &Params<'_>) -> Result<String, RpcError> {
        let name = params.text("name").ok_or_else(|| {
            let message = "tools/call needs the name of a tool, as a string";
            RpcError::new(INVALID_PARAMS, message)
        })?;
        let arguments = params.fields.given("arguments");
        let arguments = arguments.map_or("{}", RawValue::get);
        // In a place of its own: all that leads here would have to carry its size along.
        let call = self
            .endpoint
            .call(self.gateway, self.caller.into(), &name, arguments);
        Box::pin(call).await
    }
}

fn unknown_method(method: &str) -> RpcError {
    let shown: String = method.chars().take(100).collect();
    RpcError::new(METHOD_NOT_FOUND, format!("Method '{shown}' not found"))
}
