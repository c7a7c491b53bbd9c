//! MCP over Streamable HTTP. Messages of sessions are answered here, requests that stand for
//! themselves in `stateless`; which one it is, every message tells by itself.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use mcpproxy_policy::Caller;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::{INVALID_REQUEST, Id, Message, error_response};
use mcpproxy_wire::stateless::Params;
use mcpproxy_wire::{Revision, RpcError, batch, sse};
use serde_json::value::RawValue;

use crate::access::{self, Standing};
use crate::body::{self, BODY_LIMIT, BodyError};
use crate::caller::of_request;
use crate::changes::Changes;
use crate::endpoint::Endpoint;
use crate::form::{Form, accepts, answered, empty, event_stream, is_json};
use crate::message::{self, Context, DISCOVER, LISTEN};
use crate::news::{Listener, Lists};
use crate::reply;
use crate::respond::{failure_response, json_response, rpc_error_response};
use crate::sessions::Session;
use crate::stateless::{self, Asked, BEAT, KEEP_ALIVE, PROTOCOL_VERSION};
use crate::{App, Entrance};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Why a request is turned away before its message is looked at.
#[derive(Debug, Clone, Copy)]
struct Refused(StatusCode, &'static str);

/// What every message of a request shares.
struct Side<'a> {
    app: &'a Arc<App>,
    endpoint: &'a Endpoint,
    headers: &'a HeaderMap,
    standing: Standing,
    form: Form,
}

/// Answers a request to the endpoint.
pub(crate) async fn answer(
    entrance: &Entrance,
    endpoint: &Endpoint,
    request: Request<Incoming>,
) -> Response {
    let Entrance { app, reach, .. } = entrance;
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    let standing = match access::agent(app, *reach, headers) {
        Ok(standing) => standing,
        Err(failure) => return failure_response(&failure),
    };
    if let Err(failure) = endpoint.check(&app.gateway) {
        return failure_response(&failure);
    }
    match parts.method {
        Method::POST => post(app, endpoint, headers, standing, body).await,
        Method::GET | Method::DELETE if stateless::is_meant(headers) => {
            not_allowed("Requests without a session are sent by POST", "POST")
        }
        Method::GET => get(app, endpoint, headers),
        Method::DELETE => delete(app, endpoint, headers),
        _ => not_allowed(
            "The MCP endpoint takes POST, GET and DELETE",
            "POST, GET, DELETE",
        ),
    }
}

/// What a client sends: one message, or a list of them.
async fn post(
    app: &Arc<App>,
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
    let side = Side {
        app,
        endpoint,
        headers,
        standing,
        form,
    };
    if batch::is_list(&bytes) {
        return side.answer_list(&bytes).await;
    }
    match Message::parse(&bytes) {
        Ok(message) => side.answer(message).await,
        Err(error) => {
            let id = Message::salvage_id(&bytes);
            json_response(StatusCode::BAD_REQUEST, error_response(id, &error))
        }
    }
}

impl Side<'_> {
    async fn answer(&self, message: Message<'_>) -> Response {
        let Message::Request { id, method, params } = message else {
            return self.hear(message).await;
        };
        let read = Params::read(params);
        match self.protocol_of(&method, &read) {
            Err(Refused(status, message)) => {
                let error = RpcError::new(INVALID_REQUEST, message);
                json_response(status, error_response(Some(id), &error))
            }
            Ok(Protocol::Stateless) => {
                let asked = Asked {
                    headers: self.headers,
                    standing: self.standing,
                    form: self.form,
                    id,
                    method: &method,
                    params: &read,
                };
                stateless::answer(self.app, self.endpoint, asked).await
            }
            Ok(Protocol::Session) if method == "initialize" => self.open_session(id, params).await,
            Ok(Protocol::Session) => {
                let session = match find_session(self.app, self.endpoint, self.headers) {
                    Ok(session) => session,
                    Err(refused) => return refused.response(),
                };
                let caller = of_request(&session.caller, self.headers, self.standing);
                let request = (id, &*method, &read);
                let context = self.context(&caller);
                if message::is_work(&method) {
                    return reply::in_session(context, &session, self.form, request).await;
                }
                // In a place of its own, as all that is no call: calls would have to carry its size along.
                let answer = Box::pin(context.answer_request(session.client(), request)).await;
                answered(self.form, answer)
            }
        }
    }

    /// What wants no answer. Nothing of it matters outside a session: who needs none calls a
    /// request off by closing its connection.
    async fn hear(&self, message: Message<'_>) -> Response {
        match self.protocol_of("", &Params::default()) {
            Ok(Protocol::Stateless) => return empty(StatusCode::ACCEPTED),
            Ok(Protocol::Session) => {}
            Err(refused) => return refused.response(),
        }
        let session = match find_session(self.app, self.endpoint, self.headers) {
            Ok(session) => session,
            Err(refused) => return refused.response(),
        };
        let context = self.context(&session.caller);
        let answer = Box::pin(context.answer_in_session(session.client(), message)).await;
        answered(self.form, answer)
    }

    /// Which protocol a request belongs to: what it says itself, then what its headers say.
    fn protocol_of(&self, method: &str, params: &Params<'_>) -> Result<Protocol, Refused> {
        if let Some(protocol) = message::protocol_of(method, params) {
            return Ok(protocol);
        }
        if let Some(version) = self.headers.get(PROTOCOL_VERSION) {
            let protocol = version.to_str().ok().and_then(Revision::protocol_of);
            return protocol.ok_or(Refused(
                StatusCode::BAD_REQUEST,
                "The MCP-Protocol-Version header names a revision that is not offered here; initialize negotiates one, and server/discover tells which ones need none",
            ));
        }
        let is_known_by_method = [DISCOVER, LISTEN].contains(&method);
        if is_known_by_method && session_id(self.headers).is_none() {
            return Ok(Protocol::Stateless);
        }
        Ok(Protocol::Session)
    }

    /// A list of messages, in a session whose revision has such.
    async fn answer_list(&self, bytes: &[u8]) -> Response {
        let session = match find_session(self.app, self.endpoint, self.headers) {
            Ok(session) if session.revision.has_batches() => session,
            Ok(_) => {
                let message = "A list of messages is for sessions of revision 2025-03-26; send one message at a time";
                return Refused(StatusCode::BAD_REQUEST, message).response();
            }
            Err(refused) => return refused.response(),
        };
        let messages = match batch::split(bytes) {
            Ok(messages) => messages,
            Err(error) => {
                return json_response(StatusCode::BAD_REQUEST, error_response(None, &error));
            }
        };
        let caller = of_request(&session.caller, self.headers, self.standing);
        let context = self.context(&caller);
        let answers = messages
            .into_iter()
            .map(|message| context.answer_in_list(session.client(), message));
        let answers: Vec<String> = join_all(answers).await.into_iter().flatten().collect();
        let answer = (!answers.is_empty()).then(|| batch::join(&answers));
        answered(self.form, answer)
    }

    async fn open_session(&self, id: Id<'_>, params: Option<&RawValue>) -> Response {
        match message::hello(self.endpoint, params) {
            Ok((hello, result)) => {
                let offered = Changes::at(self.endpoint, &self.app.gateway).now().await;
                let lists = Lists::told_at(self.endpoint);
                let listener = Listener::new(self.endpoint, &self.app.gateway, lists).await;
                let knows = (offered, listener);
                let session_id = self.app.sessions.open(hello, self.endpoint, knows);
                let mut response = answered(self.form, Some(message::encode(id, Ok(result))));
                if let Ok(value) = HeaderValue::from_str(&session_id) {
                    response.headers_mut().insert(SESSION_ID, value);
                }
                response
            }
            Err(error) => answered(self.form, Some(message::encode(id, Err(error)))),
        }
    }

    fn context<'a>(&'a self, caller: &'a Arc<Caller>) -> Context<'a> {
        Context {
            endpoint: self.endpoint,
            gateway: &self.app.gateway,
            caller,
        }
    }
}

/// A stream of messages to the client: it tells of other lists where those can change, of resources
/// that the client subscribed to, and shows that the session lives. What a server asks during a request goes to the stream of that request.
fn get(app: &Arc<App>, endpoint: &Endpoint, headers: &HeaderMap) -> Response {
    if !accepts(headers, "text/event-stream") {
        let message = "A GET opens a stream: the Accept header must include text/event-stream";
        return Refused(StatusCode::NOT_ACCEPTABLE, message).response();
    }
    let session = match find_session(app, endpoint, headers) {
        Ok(session) => session,
        Err(refused) => return refused.response(),
    };
    let changes = Changes::at(endpoint, &app.gateway);
    let state = (Arc::clone(app), session, changes);
    let messages = stream::unfold(state, |(app, session, mut changes)| async move {
        let message = tokio::select! {
            () = session.ended.cancelled() => return None,
            () = app.shutdown.cancelled() => return None,
            () = session.has_other_tools(&mut changes) => {
                Bytes::from(sse::encode(message::tools_changed()))
            }
            news = session.peer.listener.next() => Bytes::from(sse::encode(&news.in_session())),
            () = tokio::time::sleep(KEEP_ALIVE) => BEAT,
        };
        Some((Ok::<_, Infallible>(message), (app, session, changes)))
    });
    event_stream(Body::from_stream(messages))
}

/// The client is done.
fn delete(app: &App, endpoint: &Endpoint, headers: &HeaderMap) -> Response {
    if let Err(refused) = find_session(app, endpoint, headers) {
        return refused.response();
    }
    if let Some(id) = session_id(headers) {
        app.sessions.end(id);
    }
    empty(StatusCode::NO_CONTENT)
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID).and_then(|id| id.to_str().ok())
}

fn find_session(
    app: &App,
    endpoint: &Endpoint,
    headers: &HeaderMap,
) -> Result<Arc<Session>, Refused> {
    let id = session_id(headers).ok_or(Refused(
        StatusCode::BAD_REQUEST,
        "The Mcp-Session-Id header is missing: send initialize first and repeat the id it returns",
    ))?;
    app.sessions.find(id, endpoint).ok_or(Refused(
        StatusCode::NOT_FOUND,
        "The session does not exist here or has ended: send initialize to open another",
    ))
}

/// Everything the headers of a message must fulfil, and the form of answer they ask for.
fn check_headers(headers: &HeaderMap) -> Result<Form, Refused> {
    if !is_json(headers) {
        return Err(Refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The Content-Type header must be application/json",
        ));
    }
    Form::of(headers).ok_or(Refused(
        StatusCode::NOT_ACCEPTABLE,
        "The Accept header must include application/json or text/event-stream",
    ))
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

fn not_allowed(message: &'static str, allowed: &'static str) -> Response {
    let mut response = Refused(StatusCode::METHOD_NOT_ALLOWED, message).response();
    let allowed = HeaderValue::from_static(allowed);
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}
