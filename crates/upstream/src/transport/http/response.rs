//! Response to a request: one JSON message, or a stream of events that has it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use mcpproxy_wire::Protocol;
use mcpproxy_wire::sse;

use super::HttpEndpoint;
use super::pool::Lease;
use crate::CallError;
use crate::call_error::UpstreamResponse;
use crate::client::incoming::IncomingAction;
use crate::process::lines::MESSAGE_LIMIT;

/// How often in a row a stream that ends before its answer is taken up again in vain. A server
/// may end it as often as it likes if it goes on each time; the deadline of the request is the
/// limit of that.
const VAIN_RESUMPTIONS: usize = 40;
/// How long to wait before that, if the server does not say.
const RESUMPTION_PAUSE: Duration = Duration::from_millis(250);
/// The least to wait, whatever the server says, so that nobody is kept busy.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// How long a stream may stay open after its answer before its connection is given up.
const END_OF_STREAM: Duration = Duration::from_secs(1);

/// How a stream of events ended.
pub(super) enum StreamEnd {
    /// With the answer that was looked for.
    Response(UpstreamResponse),
    /// Without one; and how long the server wants to be left alone, if it said.
    Open(Option<Duration>),
    /// With an event that is too large.
    TooLarge(sse::TooLarge),
}

impl HttpEndpoint {
    /// Reads the response to the request with the id.
    pub(super) async fn read_response(
        self: &Arc<Self>,
        response: Response<Incoming>,
        lease: Lease,
        id: u64,
    ) -> UpstreamResponse {
        match ContentType::of(response.headers()) {
            ContentType::Json => {
                let bytes = read_body(response.into_body(), MESSAGE_LIMIT).await?;
                lease.give_back();
                match self.incoming.receive(&bytes, Some(id)) {
                    IncomingAction::Response(answered, response) if answered == id => response,
                    IncomingAction::Garbage(reason) => Err(CallError::malformed(format!(
                        "the answer is no JSON-RPC response: {reason}"
                    ))),
                    _ => Err(CallError::malformed("the answer is for another request")),
                }
            }
            ContentType::Events => self.read_events(response.into_body(), lease, id).await,
            ContentType::Other(_) if response.status() == StatusCode::ACCEPTED => Err(
                CallError::malformed("it accepted the request and gave no answer (HTTP 202)"),
            ),
            ContentType::Other(name) => Err(CallError::malformed(format!(
                "it answers with content type '{name}' instead of JSON or events"
            ))),
        }
    }

    /// Reads events until the answer comes, taking a stream that breaks off up again where
    /// the server allows it.
    async fn read_events(
        self: &Arc<Self>,
        body: Incoming,
        lease: Lease,
        id: u64,
    ) -> UpstreamResponse {
        let mut last_event = None;
        let mut pause = RESUMPTION_PAUSE;
        let mut stream = Some((body, lease));
        let mut in_vain = 0;
        while in_vain < VAIN_RESUMPTIONS {
            let resumed_after = last_event.clone();
            if let Some((mut body, lease)) = stream.take() {
                match self.follow(&mut body, Some(id), &mut last_event).await {
                    StreamEnd::Response(response) => {
                        // The end of the stream follows at once, as a rule.
                        tokio::spawn(give_back_at_end(body, lease));
                        return response;
                    }
                    StreamEnd::TooLarge(error) => {
                        return Err(CallError::malformed(error.to_string()));
                    }
                    StreamEnd::Open(retry) => pause = retry.unwrap_or(pause).max(SHORTEST_PAUSE),
                }
            }
            let Some(last_event) = &last_event else { break };
            if self.protocol == Protocol::Stateless {
                // Nothing is kept for a stream that breaks off.
                break;
            }
            let brought_nothing = resumed_after.as_ref() == Some(last_event);
            in_vain = if brought_nothing { in_vain + 1 } else { 0 };
            tokio::time::sleep(pause).await;
            stream = Box::pin(self.open_events(Some(last_event))).await.ok();
        }
        Err(CallError::disconnected(
            true,
            "the stream of events ended before the answer",
        ))
    }

    /// Handles the events of a stream until it ends or the answer comes.
    pub(super) async fn follow(
        self: &Arc<Self>,
        body: &mut Incoming,
        id: Option<u64>,
        last_event: &mut Option<String>,
    ) -> StreamEnd {
        let mut reader = sse::SseReader::new(MESSAGE_LIMIT);
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let events = match reader.feed(&data) {
                Ok(events) => events,
                Err(error) => return StreamEnd::TooLarge(error),
            };
            if let Some(last) = reader
                .last_id()
                .filter(|last| last_event.as_deref() != Some(last))
            {
                *last_event = Some(last.to_owned());
            }
            for event in events {
                let is_message = event.name.as_deref().is_none_or(|name| name == "message");
                if !is_message || event.data.is_empty() {
                    continue;
                }
                let action = self.incoming.receive(&Bytes::from(event.data), id);
                if id.is_none()
                    && matches!(action, IncomingAction::Notified | IncomingAction::Relay(_))
                {
                    self.shared_stream.received();
                }
                match action {
                    IncomingAction::Response(answered, response) if Some(answered) == id => {
                        return StreamEnd::Response(response);
                    }
                    // Without sessions, a server has nothing to ask on its own.
                    IncomingAction::Reply(message) if self.protocol == Protocol::Session => {
                        self.send_unawaited(message.into_bytes());
                    }
                    IncomingAction::Relay(request) if self.protocol == Protocol::Session => {
                        self.relay(request);
                    }
                    IncomingAction::Response(..)
                    | IncomingAction::Reply(_)
                    | IncomingAction::Relay(_)
                    | IncomingAction::Notified
                    | IncomingAction::Nothing
                    | IncomingAction::Garbage(_) => {}
                }
            }
        }
        StreamEnd::Open(reader.retry())
    }
}

/// Keeps the connection of a stream that ends in time, and without an error.
async fn give_back_at_end(mut body: Incoming, lease: Lease) {
    let end = async {
        loop {
            match body.frame().await {
                Some(Ok(_)) => {}
                Some(Err(_)) => return false,
                None => return true,
            }
        }
    };
    if tokio::time::timeout(END_OF_STREAM, end).await == Ok(true) {
        lease.give_back();
    }
}

/// Type of a body, as its header says.
enum ContentType {
    Json,
    Events,
    /// Anything else, cut for messages.
    Other(String),
}

impl ContentType {
    fn of(headers: &HeaderMap) -> Self {
        let value = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let name = value.split(';').next().unwrap_or_default().trim();
        if name.eq_ignore_ascii_case("application/json") {
            Self::Json
        } else if name.eq_ignore_ascii_case("text/event-stream") {
            Self::Events
        } else {
            Self::Other(name.chars().take(60).collect())
        }
    }
}

/// Reads a body of bounded size.
///
/// The pieces are copied: they are slices of the connection's buffer, and as long as one of them
/// lives, the connection has to take a new buffer for each answer.
pub(super) async fn read_body(mut body: Incoming, limit: usize) -> Result<Bytes, CallError> {
    let too_large = || CallError::malformed(format!("the answer is longer than {limit} bytes"));
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| CallError::disconnected(true, "the answer broke off"))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if whole.len() + data.len() > limit {
            return Err(too_large());
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}
