//! Answers over HTTP: plain, unless there is something for the client before it; then the answer
//! becomes the last event of a stream.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, StatusCode, header};
use mcpproxy_wire::rpc::RpcError;
use mcpproxy_wire::{RequestId, ResultText, sse};
use tokio::sync::mpsc;

use crate::exchange::dispatch::response;
use crate::exchange::in_flight::InFlightEntry;
use crate::exchange::reply::{Delivery, MessageStream, Outbound, Reply};
use crate::respond::{EVENT_STREAM, KEEP_ALIVE, event_stream, json_response};

/// Comment, which readers of a stream pass over.
pub(super) const ALIVE: Bytes = Bytes::from_static(b": alive\n\n");

/// Format of answer that a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    /// One JSON message.
    Json,
    /// One JSON message, or a stream of events where something comes before the answer.
    Either,
    /// A stream of events.
    Events,
}

/// Response to a request, with `status_of` its result.
pub(super) async fn respond(
    format: AnswerFormat,
    id: RequestId,
    reply: Reply,
    entry: Option<InFlightEntry>,
    status_of: impl Fn(&Result<ResultText, RpcError>) -> StatusCode,
) -> Response {
    let plain = |id: &RequestId, result| format.answer(status_of(&result), response(id, result));
    let MessageStream {
        mut messages,
        driver,
    } = match reply {
        Reply::Result(result) => return plain(&id, result),
        Reply::Opened(opened) => return plain(&id, Ok(opened.result.into())),
        Reply::Messages(stream) => stream,
    };
    if let Some(driver) = driver {
        // A task of its own: it must not depend on how fast the client reads, but ends when nobody does.
        tokio::spawn(async move {
            match entry {
                Some(entry) => drop(entry.unless_cancelled(driver).await),
                None => driver.await,
            }
        });
    }
    match messages.recv().await {
        Some(Outbound::Message(message)) => streamed(&message, id, messages),
        Some(Outbound::Result(result)) => plain(&id, result),
        None => empty(StatusCode::ACCEPTED),
    }
}

/// Stream that begins with a message and ends with the answer.
fn streamed(first: &str, id: RequestId, messages: mpsc::Receiver<Outbound>) -> Response {
    let event = |text: &str| Bytes::from(sse::encode(text));
    let first = stream::iter([Ok(event(first))]);
    let rest = stream::unfold((messages, id), move |(mut messages, id)| async move {
        let next = match tokio::time::timeout(KEEP_ALIVE, messages.recv()).await {
            // Somebody may take his time to answer; until then the connection must not look dead.
            Err(_) => ALIVE,
            Ok(Some(Outbound::Message(message))) => event(&message),
            Ok(Some(Outbound::Result(result))) => event(&response(&id, result)),
            Ok(None) => return None,
        };
        Some((Ok::<_, Infallible>(next), (messages, id)))
    });
    event_stream(Body::from_stream(first.chain(rest)))
}

impl AnswerFormat {
    /// Format that the headers ask for; nothing if they admit none we have.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut given = headers.get_all(header::ACCEPT).iter();
        // What nearly all clients send, as the protocol has it.
        if let (Some(value), None) = (given.next(), given.next())
            && value == "application/json, text/event-stream"
        {
            return Some(Self::Either);
        }
        let accepts_json = accepts(headers, "application/json");
        match (accepts_json, accepts_events(headers)) {
            (true, true) => Some(Self::Either),
            (true, false) => Some(Self::Json),
            (false, true) => Some(Self::Events),
            (false, false) => None,
        }
    }

    /// Delivery that this format admits.
    pub(super) fn delivery(self) -> Delivery {
        match self {
            Self::Json => Delivery::AnswerOnly,
            Self::Either | Self::Events => Delivery::Stream,
        }
    }

    /// Response in this format.
    pub(super) fn answer(self, status: StatusCode, text: String) -> Response {
        match self {
            // A refusal is no stream, whatever the client would have liked to read.
            Self::Events if status == StatusCode::OK => event_stream(sse::encode(&text)),
            _ => json_response(status, text),
        }
    }
}

/// Response without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Whether the body is announced as JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE);
    let given = given.and_then(|value| value.to_str().ok());
    given.is_some_and(|value| media_type(value).eq_ignore_ascii_case("application/json"))
}

/// Whether the client accepts a stream of events.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    accepts(headers, EVENT_STREAM)
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

/// Media type without its parameters.
fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}
