//! MCP over Streamable HTTP, for the revisions that have sessions.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use mcpproxy_wire::revision::Era;
use mcpproxy_wire::rpc::{INVALID_REQUEST, Id, Message, error_response};
use mcpproxy_wire::{Revision, sse};
use serde_json::value::RawValue;

use crate::access::{self, Standing};
use crate::body::{self, BODY_LIMIT, BodyError};
use crate::caller::of_request;
use crate::endpoint::Endpoint;
use crate::message;
use crate::respond::{failure_response, json_response, rpc_error_response};
use crate::sessions::Session;
use crate::{App, Entrance};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How often an open stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The form of answer a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Events,
}

/// Why a request is turned away before its message is looked at.
#[derive(Debug, Clone, Copy)]
struct Refused(StatusCode, &'static str);

/// Answers a request to the endpoint.
pub(crate) async fn answer(
    entrance: &Entrance,
    endpoint: &Endpoint,
    request: Request<Incoming>,
) -> Response {
    let Entrance { app, reach, .. } = entrance;
    let (parts, body) = request.into_parts();
    let standing = match access::agent(app, *reach, &parts.headers) {
        Ok(standing) => standing,
        Err(failure) => return failure_response(&failure),
    };
    match parts.method {
        Method::POST => post(app, endpoint, &parts.headers, standing, body).await,
        Method::GET => get(app, &parts.headers),
        Method::DELETE => delete(app, &parts.headers),
        _ => {
            let message = "The MCP endpoint takes POST, GET and DELETE";
            let mut response = Refused(StatusCode::METHOD_NOT_ALLOWED, message).response();
            let allowed = HeaderValue::from_static("POST, GET, DELETE");
            response.headers_mut().insert(header::ALLOW, allowed);
            response
        }
    }
}

/// One message from a client.
async fn post(
    app: &App,
    endpoint: &Endpoint,
    headers: &HeaderMap,
    standing: Standing,
    body: Incoming,
) -> Response {
    let form = match check_headers(headers) {
        Ok(form) => form,
        Err(refused) => return refused.response(),
    };
    let bytes = match body::read(body).await {
        Ok(bytes) => bytes,
        Err(error) => return unreadable(error),
    };
    match Message::parse(&bytes) {
        Ok(Message::Request { id, method, params }) if method == "initialize" => {
            open_session(app, endpoint, form, id, params)
        }
        Ok(message) => match find_session(app, headers) {
            Ok(session) => {
                let caller = of_request(&session.caller, headers, standing);
                let answer = message::answer(endpoint, &app.gateway, &caller, message).await;
                answered(form, answer)
            }
            Err(refused) => refused.response(),
        },
        Err(error) => {
            let id = Message::salvage_id(&bytes);
            json_response(StatusCode::BAD_REQUEST, error_response(id, &error))
        }
    }
}

/// A stream of messages to the client. The menu never changes and we ask clients nothing,
/// so for now it only shows that the session lives.
fn get(app: &Arc<App>, headers: &HeaderMap) -> Response {
    if !accepts(headers, "text/event-stream") {
        let message = "A GET opens a stream: the Accept header must include text/event-stream";
        return Refused(StatusCode::NOT_ACCEPTABLE, message).response();
    }
    let session = match find_session(app, headers) {
        Ok(session) => session,
        Err(refused) => return refused.response(),
    };
    let alive = stream::unfold((Arc::clone(app), session), |(app, session)| async move {
        tokio::select! {
            () = session.ended.cancelled() => None,
            () = app.shutdown.cancelled() => None,
            () = tokio::time::sleep(KEEP_ALIVE) => {
                let beat: Result<Bytes, Infallible> = Ok(Bytes::from_static(b": alive\n\n"));
                Some((beat, (app, session)))
            }
        }
    });
    event_stream(Body::from_stream(alive))
}

/// The client is done.
fn delete(app: &App, headers: &HeaderMap) -> Response {
    if let Err(refused) = find_session(app, headers) {
        return refused.response();
    }
    if let Some(id) = session_id(headers) {
        app.sessions.end(id);
    }
    empty(StatusCode::NO_CONTENT)
}

fn open_session(
    app: &App,
    endpoint: &Endpoint,
    form: Form,
    id: Id<'_>,
    params: Option<&RawValue>,
) -> Response {
    match message::hello(endpoint, params) {
        Ok((hello, result)) => {
            let session_id = app.sessions.open(hello);
            let mut response = answered(form, Some(message::encode(id, Ok(result))));
            if let Ok(value) = HeaderValue::from_str(&session_id) {
                response.headers_mut().insert(SESSION_ID, value);
            }
            response
        }
        Err(error) => answered(form, Some(message::encode(id, Err(error)))),
    }
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID).and_then(|id| id.to_str().ok())
}

fn find_session(app: &App, headers: &HeaderMap) -> Result<Arc<Session>, Refused> {
    let id = session_id(headers).ok_or(Refused(
        StatusCode::BAD_REQUEST,
        "The Mcp-Session-Id header is missing: send initialize first and repeat the id it returns",
    ))?;
    app.sessions.find(id).ok_or(Refused(
        StatusCode::NOT_FOUND,
        "The session does not exist or has ended: send initialize to open another",
    ))
}

/// Everything the headers of a message must fulfil, and the form of answer they ask for.
fn check_headers(headers: &HeaderMap) -> Result<Form, Refused> {
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| media_type(value).eq_ignore_ascii_case("application/json"));
    if !is_json {
        return Err(Refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The Content-Type header must be application/json",
        ));
    }
    let is_offered = |version: &HeaderValue| {
        version
            .to_str()
            .ok()
            .and_then(Revision::parse)
            .is_some_and(|revision| revision.era() == Era::Session)
    };
    if !headers.get(PROTOCOL_VERSION).is_none_or(is_offered) {
        return Err(Refused(
            StatusCode::BAD_REQUEST,
            "The MCP-Protocol-Version header names a revision that is not offered here; initialize negotiates one",
        ));
    }
    if accepts(headers, "application/json") {
        Ok(Form::Json)
    } else if accepts(headers, "text/event-stream") {
        Ok(Form::Events)
    } else {
        Err(Refused(
            StatusCode::NOT_ACCEPTABLE,
            "The Accept header must include application/json or text/event-stream",
        ))
    }
}

/// Whether the Accept header admits a type; without one, everything is admitted.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    let family = wanted.split('/').next().unwrap_or_default();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(media_type)
        .any(|offered| {
            offered.eq_ignore_ascii_case(wanted)
                || offered == "*/*"
                || offered
                    .strip_suffix("/*")
                    .is_some_and(|any| any.eq_ignore_ascii_case(family))
        })
}

/// A media type without its parameters.
fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

impl Refused {
    fn response(self) -> Response {
        rpc_error_response(self.0, INVALID_REQUEST, self.1)
    }
}

fn unreadable(error: BodyError) -> Response {
    let (status, message) = match error {
        BodyError::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "The message is larger than {} MiB",
                BODY_LIMIT / 1024 / 1024
            ),
        ),
        BodyError::TooSlow => (
            StatusCode::REQUEST_TIMEOUT,
            "The message did not arrive in time".to_owned(),
        ),
        BodyError::Broken => (StatusCode::BAD_REQUEST, "The message broke off".to_owned()),
    };
    let mut response = rpc_error_response(status, INVALID_REQUEST, &message);
    // What follows on this connection may be the rest of the message.
    response
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn answered(form: Form, answer: Option<String>) -> Response {
    match (form, answer) {
        (_, None) => empty(StatusCode::ACCEPTED),
        (Form::Json, Some(text)) => json_response(StatusCode::OK, text),
        (Form::Events, Some(text)) => event_stream(Body::from(sse::encode(&text))),
    }
}

fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENT_STREAM);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
