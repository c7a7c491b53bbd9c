//! MCP over HTTP with sessions.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode};
use mcpproxy_gateway::tokens::Admission;
use mcpproxy_policy::Caller;
use mcpproxy_wire::rpc::error_response;
use mcpproxy_wire::{Method, Protocol, header, sse};

use super::batch;
use super::head::{HttpHead, Refused};
use super::reply::{ALIVE, AnswerFormat, accepts_events, empty, respond};
use crate::access::caller;
use crate::exchange::dispatch::{self, response};
use crate::exchange::reply::Reply;
use crate::exchange::request::{Incoming, RequestMessage};
use crate::exchange::session::Session;
use crate::respond::{KEEP_ALIVE, event_stream, json_response};

/// Answers a request of a session, or one that opens a session.
pub(super) async fn answer(
    head: &HttpHead<'_>,
    format: AnswerFormat,
    message: RequestMessage,
) -> Result<Response, Refused> {
    if message.method == Method::Initialize {
        return Ok(Box::pin(open(head, format, message)).await);
    }
    let session = find(head)?;
    let id = message.id.clone();
    let entry = session.in_flight.enter(&id);
    let caller = caller::in_session(&session.caller, head.headers, &message.params);
    let ended = session.ended.clone();
    let (protocol, session) = (Protocol::Session, Some(session));
    let request = message.into_request(protocol, &head.endpoint, caller, session, ended);
    let reply = head.app.exchange.dispatch(request, format.delivery());
    let reply = tokio::select! {
        biased;
        () = entry.cancelled() => return Ok(empty(StatusCode::ACCEPTED)),
        reply = reply => reply,
    };
    Ok(respond(format, id, reply, Some(entry), |_| StatusCode::OK).await)
}

/// Opens a session.
async fn open(head: &HttpHead<'_>, format: AnswerFormat, message: RequestMessage) -> Response {
    let id = message.id.clone();
    let Admission { rights, ended } = head.admission.clone();
    let caller = Arc::new(Caller {
        peer: head.peer,
        rights,
        ..Caller::default()
    });
    let request = message.into_request(Protocol::Session, &head.endpoint, caller, None, ended);
    match head.app.exchange.dispatch(request, format.delivery()).await {
        Reply::Opened(opened) => {
            let text = response(&id, Ok(opened.result.into()));
            let mut response = format.answer(StatusCode::OK, text);
            if let Ok(session_id) = HeaderValue::from_str(opened.session.id.expose()) {
                let headers = response.headers_mut();
                headers.insert(header::SESSION_ID, session_id);
            }
            head.app.sessions.add(opened.session);
            response
        }
        reply => respond(format, id, reply, None, |_| StatusCode::OK).await,
    }
}

/// Answers a batch, in a session whose revision has such.
pub(super) async fn answer_batch(
    head: &HttpHead<'_>,
    format: AnswerFormat,
    bytes: &Bytes,
) -> Result<Response, Refused> {
    let session = find(head)?;
    if !session.revision.has_batches() {
        let message =
            "A list of messages is for sessions of revision 2025-03-26; send one message at a time";
        return Err(Refused(StatusCode::BAD_REQUEST, message));
    }
    let (exchange, in_flight) = (&head.app.exchange, &session.in_flight);
    let answered = batch::answer(exchange, &session, in_flight, head.headers, bytes);
    Ok(match Box::pin(answered).await {
        Ok(Some(answers)) => format.answer(StatusCode::OK, answers),
        Ok(None) => empty(StatusCode::ACCEPTED),
        Err(error) => json_response(StatusCode::BAD_REQUEST, error_response(None, &error)),
    })
}

/// Takes a message that wants no answer.
pub(super) fn receive(head: &HttpHead<'_>, message: Incoming) -> Result<Response, Refused> {
    let session = find(head)?;
    dispatch::receive(&session, &session.in_flight, message);
    Ok(empty(StatusCode::ACCEPTED))
}

/// Stream of messages to the client that belong to no request: changes of lists and of resources
/// that it subscribed to. What a server asks during a request goes to the stream of that request.
pub(super) fn stream(head: &HttpHead<'_>) -> Result<Response, Refused> {
    if !accepts_events(head.headers) {
        let message = "A GET opens a stream: the Accept header must include text/event-stream";
        return Err(Refused(StatusCode::NOT_ACCEPTABLE, message));
    }
    let state = (Arc::clone(head.app), find(head)?);
    let messages = stream::unfold(state, |(app, session)| async move {
        let message = tokio::select! {
            () = session.ended.cancelled() => return None,
            () = app.shutdown().cancelled() => return None,
            change = session.changes.next() => Bytes::from(sse::encode(&change.in_session())),
            () = tokio::time::sleep(KEEP_ALIVE) => ALIVE,
        };
        Some((Ok::<_, Infallible>(message), (app, session)))
    });
    Ok(event_stream(Body::from_stream(messages)))
}

/// Ends the session, because its client is done.
pub(super) fn end(head: &HttpHead<'_>) -> Result<Response, Refused> {
    let session = find(head)?;
    head.app.sessions.end(&session);
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Session id of a request.
pub(super) fn id(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::SESSION_ID)?.to_str().ok()
}

fn find(head: &HttpHead<'_>) -> Result<Arc<Session>, Refused> {
    let id = id(head.headers).ok_or(Refused(
        StatusCode::BAD_REQUEST,
        "The Mcp-Session-Id header is missing: send initialize first and repeat the id it returns",
    ))?;
    let session = (head.app.sessions).find(id, &head.endpoint, &head.admission.rights);
    session.ok_or(Refused(
        StatusCode::NOT_FOUND,
        "The session does not exist here, has ended, or was opened with another credential: send initialize to open another",
    ))
}
