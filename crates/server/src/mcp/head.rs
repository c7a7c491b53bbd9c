//! Head of an HTTP request to an MCP endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use mcpproxy_gateway::tokens::Admission;
use mcpproxy_wire::rpc::{self, INVALID_REQUEST, RpcError};
use mcpproxy_wire::{Protocol, RequestId, Revision, header};

use crate::app::App;
use crate::exchange::endpoint::Endpoint;
use crate::respond::json_response;

/// Head of an HTTP request that was let in.
pub(super) struct HttpHead<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) endpoint: Endpoint,
    pub(super) headers: &'a HeaderMap,
    pub(super) admission: Admission,
    /// Address that it came from.
    pub(super) peer: Option<IpAddr>,
}

/// Refusal of an HTTP request before its message is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused(pub(super) StatusCode, pub(super) &'static str);

/// Whether the headers alone say that a request is of the stateless protocol.
pub(super) fn names_stateless_revision(headers: &HeaderMap) -> bool {
    let named = headers.get(header::PROTOCOL_VERSION);
    let named = named.and_then(|value| value.to_str().ok());
    named.and_then(Revision::protocol_of) == Some(Protocol::Stateless)
}

impl Refused {
    /// Response to a request whose id is not known.
    pub(super) fn response(self) -> Response {
        self.response_to(None)
    }

    /// Response to the request with this id.
    pub(super) fn response_to(self, id: Option<&RequestId>) -> Response {
        let error = RpcError::new(INVALID_REQUEST, self.1);
        let text = rpc::error_response(id.map(RequestId::id), &error);
        json_response(self.0, text)
    }
}
