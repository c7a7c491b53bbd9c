//! Requests and other messages of a client, decoded once, whichever adapter it came through.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_policy::Caller;
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::rpc::{self, INVALID_REQUEST, MessageText, PARSE_ERROR, RpcError};
use mcpproxy_wire::{Json, Message, Method, Protocol, RequestId};
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::params::RequestParams;
use super::session::Session;

/// Request of a client, with all that answering it needs.
#[derive(Debug)]
pub(crate) struct Request {
    /// Id that the answer repeats as it was written.
    pub(crate) id: RequestId,
    pub(crate) method: Method,
    /// Name of the method as it was sent, for methods that are not known.
    pub(crate) method_name: Cow<'static, str>,
    pub(crate) params: RequestParams,
    pub(crate) protocol: Protocol,
    /// Endpoint it was sent to.
    pub(crate) endpoint: Endpoint,
    /// Caller it counts for, everywhere from here on.
    pub(crate) caller: Arc<Caller>,
    /// Session it belongs to; none in the stateless protocol, and none before `initialize`.
    pub(crate) session: Option<Arc<Session>>,
    /// Cancelled when the credential of the request is not good any more: what it opened ends.
    pub(crate) ended: CancellationToken,
}

/// Message of a client, before it is known who sent it and in which protocol.
#[derive(Debug)]
pub enum Incoming {
    /// Wants an answer.
    Request(RequestMessage),
    /// Wants none.
    Notification {
        /// Name of the method.
        method: String,
        /// Its parameters.
        params: RequestParams,
    },
    /// Answers a client request.
    Response {
        /// Id of the client request; absent if the client could not read it.
        id: Option<RequestId>,
        /// Result, or the error that the client gave instead.
        outcome: Result<Json, RpcError>,
    },
}

/// Request as its message says it.
#[derive(Debug)]
pub struct RequestMessage {
    /// Id that the answer repeats as it was written.
    pub id: RequestId,
    /// Method that is asked for.
    pub method: Method,
    /// Name of the method as it was sent.
    pub method_name: Cow<'static, str>,
    /// Parameters; none if they are no object.
    pub params: RequestParams,
}

/// Decodes one message. The error is the text of the answer to bytes that are none.
pub(crate) fn decode(bytes: &Bytes) -> Result<Incoming, String> {
    let refuse = |error: RpcError| {
        let id = Message::salvage_id(bytes).filter(|_| error.code != PARSE_ERROR);
        rpc::error_response(id, &error)
    };
    let text = MessageText::new(bytes).map_err(refuse)?;
    let message = text
        .message_as()
        .or_else(|error| without_params(&text, error));
    Ok(match message.map_err(refuse)? {
        Message::Request { id, method, params } => {
            let known = Method::named(&method);
            let method_name = match known {
                Method::Unknown => Cow::Owned(method.into_owned()),
                known => Cow::Borrowed(known.as_str()),
            };
            Incoming::Request(RequestMessage {
                id: id.keep(),
                method: known,
                method_name,
                params: RequestParams::new(&text, params),
            })
        }
        Message::Notification { method, params } => Incoming::Notification {
            method: method.into_owned(),
            params: RequestParams::new(&text, params),
        },
        Message::Response { id, outcome } => Incoming::Response {
            id: id.map(rpc::Id::keep),
            outcome: outcome.map(|result| text.json(result)),
        },
    })
}

/// Message whose parameters are JSON, but no object, or hold a name that no reader takes: it is
/// answered like one without parameters. `error` is what was wrong with it as a whole.
fn without_params(
    text: &MessageText,
    error: RpcError,
) -> Result<Message<'_, Fields<'_>>, RpcError> {
    let params = None;
    match text.message() {
        Ok(Message::Request { id, method, .. }) => Ok(Message::Request { id, method, params }),
        Ok(Message::Notification { method, .. }) => Ok(Message::Notification { method, params }),
        Ok(Message::Response { id, outcome }) => Ok(Message::Response { id, outcome }),
        // What is wrong around the parameters counts, before what is wrong with their kind.
        Err(around) if error.code == INVALID_REQUEST => Err(around),
        Err(_) => Err(error),
    }
}

// === impl Request ===

impl Request {
    /// Request with the parameters that a call, a prompt or a resource needs.
    pub(crate) fn for_call(&self) -> Self {
        Self {
            id: self.id.clone(),
            method: self.method,
            method_name: self.method_name.clone(),
            params: self.params.only(&["name", "uri", "arguments"]),
            protocol: self.protocol,
            endpoint: self.endpoint.clone(),
            caller: Arc::clone(&self.caller),
            session: self.session.clone(),
            ended: self.ended.clone(),
        }
    }
}

// === impl RequestMessage ===

impl RequestMessage {
    /// Protocol that the request belongs to, as far as it tells itself.
    pub fn protocol(&self) -> Option<Protocol> {
        if self.params.names_revision() {
            return Some(Protocol::Stateless);
        }
        (self.method == Method::Initialize).then_some(Protocol::Session)
    }

    /// Whether only the stateless protocol has the method.
    pub(crate) fn has_stateless_method(&self) -> bool {
        matches!(
            self.method,
            Method::ServerDiscover | Method::SubscriptionsListen
        )
    }

    /// Request of a caller at an endpoint; `session` is the one it belongs to, if any, and `ended` the end of its
    /// credential.
    pub(crate) fn into_request(
        self,
        protocol: Protocol,
        endpoint: &Endpoint,
        caller: Arc<Caller>,
        session: Option<Arc<Session>>,
        ended: CancellationToken,
    ) -> Request {
        Request {
            id: self.id,
            method: self.method,
            method_name: self.method_name,
            params: self.params,
            protocol,
            endpoint: endpoint.clone(),
            caller,
            session,
            ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_parameters_that_no_reader_takes_still_has_its_id() {
        for params in [
            "1e400",
            r#""\ud800""#,
            r#"{"\ud800":1}"#,
            "[]",
            r#"[1,{"name":2}]"#,
            "7",
            "-1.5",
            "true",
            "null",
            r#""name""#,
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{params}}}"#);
            match decode(&Bytes::from(text)) {
                Ok(Incoming::Request(request)) => {
                    assert_eq!(request.id.text(), "7");
                    assert_eq!(request.params.members().count(), 0, "{params}");
                }
                other => panic!("{params}: {other:?}"),
            }
        }
        for (text, expected) in [
            (r#"{"id":5,"method":7}"#, r#""id":5"#),
            (r#"{"id":5,"params":[],"method":7}"#, "expected a string"),
            (r#"{"id":5,"params":[],"method":}"#, "Parse error"),
            (r#"{"id":5,"params":{"a":1,}}"#, "trailing comma"),
        ] {
            let refused = decode(&Bytes::from_static(text.as_bytes())).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
