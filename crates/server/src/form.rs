//! The form of an answer over HTTP: which ones a client accepts, and how each is written.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use mcpproxy_wire::sse;

use crate::respond::json_response;

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// The form of answer a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON message.
    Json,
    /// The same, or a stream of events where there is something to tell before the answer.
    Either,
    /// A stream of events.
    Events,
}

impl Form {
    /// The form that the headers ask for; nothing if they admit none we have.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut given = headers.get_all(header::ACCEPT).iter();
        // What nearly all clients send, as the protocol has it.
        if let (Some(value), None) = (given.next(), given.next())
            && value == "application/json, text/event-stream"
        {
            return Some(Self::Either);
        }
        let has_events = accepts(headers, "text/event-stream");
        match (accepts(headers, "application/json"), has_events) {
            (true, true) => Some(Self::Either),
            (true, false) => Some(Self::Json),
            (false, true) => Some(Self::Events),
            (false, false) => None,
        }
    }

    /// Whether a stream of events is among what it admits.
    pub(crate) fn has_stream(self) -> bool {
        self != Self::Json
    }

    /// An answer in this form.
    pub(crate) fn answer(self, status: StatusCode, text: String) -> Response {
        match self {
            // A refusal is no stream, whatever the client would have liked to read.
            Self::Events if status == StatusCode::OK => event_stream(sse::encode(&text)),
            _ => json_response(status, text),
        }
    }
}

/// An answer in the given form, if the message wants one.
pub(crate) fn answered(form: Form, answer: Option<String>) -> Response {
    match answer {
        None => empty(StatusCode::ACCEPTED),
        Some(text) => form.answer(StatusCode::OK, text),
    }
}

/// A stream of events.
pub(crate) fn event_stream(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENT_STREAM);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Whether the body is announced as JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| media_type(value).eq_ignore_ascii_case("application/json"))
}

/// Whether the Accept header admits a type; without one, everything is admitted.
pub(crate) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
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
