//! MCP over Streamable HTTP: what a request has to fulfil before its message is answered, and which
//! protocol it belongs to. The two protocols share an endpoint; every message tells by itself.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming as Body;
use mcpproxy_wire::{Protocol, Revision, header as mcp_header};
use tower::ServiceExt;

use super::head::{HttpHead, Refused, names_stateless_revision};
use super::reply::{AnswerFormat, empty, is_json};
use super::{batch, session, stateless};
use crate::access::{self, RemoteAddress};
use crate::body::{self, BodyError};
use crate::exchange::endpoint::Endpoint;
use crate::exchange::request::{Incoming, RequestMessage, decode};
use crate::respond::{failure_response, json_response};
use crate::routes::Entrance;

/// Answers a request. The MCP endpoints are answered here, because they are on the path of every call, and all else
/// through the router.
pub(crate) async fn answer(
    entrance: Arc<Entrance>,
    peer: Option<IpAddr>,
    mut request: Request<Body>,
) -> Result<Response, Infallible> {
    let Entrance { app, reach, router } = &*entrance;
    let Some(endpoint) = Endpoint::at(request.uri().path()) else {
        request.extensions_mut().insert(RemoteAddress(peer));
        return router.clone().oneshot(request).await;
    };
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    let admitted = access::agent(app, *reach, peer, headers).await;
    let admitted = admitted.and_then(|admission| {
        let checked = endpoint.check(app.gateway(), &admission.rights);
        checked.map(|()| admission)
    });
    let admission = match admitted {
        Ok(admission) => admission,
        Err(failure) => return Ok(failure_response(&failure)),
    };
    let head = HttpHead {
        app,
        endpoint,
        headers,
        admission,
        peer,
    };
    let answered = match parts.method {
        http::Method::POST => post(&head, body).await,
        http::Method::GET | http::Method::DELETE if names_stateless_revision(headers) => Ok(
            not_allowed("Requests without a session are sent by POST", "POST"),
        ),
        http::Method::GET => session::stream(&head),
        http::Method::DELETE => session::end(&head),
        _ => Ok(not_allowed(
            "The MCP endpoint takes POST, GET and DELETE",
            "POST, GET, DELETE",
        )),
    };
    Ok(answered.unwrap_or_else(Refused::response))
}

/// Answers what a client sends: one message, or a batch of them.
async fn post(head: &HttpHead<'_>, body: Body) -> Result<Response, Refused> {
    let format = check_headers(head.headers)?;
    let bytes = match body::read(body).await {
        Ok(bytes) => bytes,
        Err(error) => return Ok(unreadable(error)),
    };
    if batch::is_batch(&bytes) {
        return session::answer_batch(head, format, &bytes).await;
    }
    match decode(&bytes) {
        Ok(Incoming::Request(message)) => match protocol_of(head.headers, Some(&message)) {
            Ok(Protocol::Stateless) => Ok(stateless::answer(head, format, message).await),
            Ok(Protocol::Session) => session::answer(head, format, message).await,
            Err(refused) => Ok(refused.response_to(Some(&message.id))),
        },
        Ok(message) => match protocol_of(head.headers, None)? {
            // Nothing of it matters outside a session: a client cancels a request by closing its connection.
            Protocol::Stateless => Ok(empty(StatusCode::ACCEPTED)),
            Protocol::Session => session::receive(head, message),
        },
        Err(answer) => Ok(json_response(StatusCode::BAD_REQUEST, answer)),
    }
}

/// Protocol of a message: what it says itself, then what its headers say.
fn protocol_of(headers: &HeaderMap, request: Option<&RequestMessage>) -> Result<Protocol, Refused> {
    if let Some(protocol) = request.and_then(RequestMessage::protocol) {
        return Ok(protocol);
    }
    if let Some(version) = headers.get(mcp_header::PROTOCOL_VERSION) {
        let protocol = version.to_str().ok().and_then(Revision::protocol_of);
        return protocol.ok_or(Refused(
            StatusCode::BAD_REQUEST,
            "The MCP-Protocol-Version header names a revision that is not offered here; initialize negotiates one, and server/discover tells which ones need none",
        ));
    }
    let is_stateless_method = request.is_some_and(RequestMessage::has_stateless_method);
    Ok(if is_stateless_method && session::id(headers).is_none() {
        Protocol::Stateless
    } else {
        Protocol::Session
    })
}

/// Format of answer that the headers ask for, if they fulfil all that those of a message must.
fn check_headers(headers: &HeaderMap) -> Result<AnswerFormat, Refused> {
    if !is_json(headers) {
        return Err(Refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The Content-Type header must be application/json",
        ));
    }
    AnswerFormat::of(headers).ok_or(Refused(
        StatusCode::NOT_ACCEPTABLE,
        "The Accept header must include application/json or text/event-stream",
    ))
}

fn unreadable(error: BodyError) -> Response {
    let (status, message) = match error {
        BodyError::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "The message is larger than 8 MiB",
        ),
        BodyError::TooSlow => (
            StatusCode::REQUEST_TIMEOUT,
            "The message did not arrive in time",
        ),
        BodyError::Broken => (StatusCode::BAD_REQUEST, "The message broke off"),
    };
    let mut response = Refused(status, message).response();
    // What follows on this connection may be the rest of the message.
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

fn not_allowed(message: &'static str, allowed: &'static str) -> Response {
    let mut response = Refused(StatusCode::METHOD_NOT_ALLOWED, message).response();
    let allowed = HeaderValue::from_static(allowed);
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}
