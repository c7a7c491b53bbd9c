//! Response to a request: one JSON message, or a stream of events that has it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use mcpproxy_wire::Protocol;
use mcpproxy_wire::sse::TooLarge;

use super::HttpEndpoint;
use super::event_reader::EventReader;
use super::pool::Lease;
use crate::CallError;
use crate::call_error::UpstreamResponse;
use crate::client::incoming::IncomingAction;
use crate::process::lines::MESSAGE_LIMIT;

/// Times in a row that a stream that ends before its answer is taken up again in vain. A server may end
/// it as often as it likes if it goes on each time; the deadline of the request is the limit of that.
const VAIN_RESUMPTIONS: usize = 40;
/// Pause before that, if the server does not say.
const RESUMPTION_PAUSE: Duration = Duration::from_millis(250);
/// Shortest pause, whatever the server says, so that nobody is kept busy.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

impl HttpEndpoint {
    /// Reads the response to the request with the id.
    pub(super) async fn read_response(
        self: &Arc<Self>,
        response: Response<Incoming>,
        lease: Lease,
        id: u64,
    ) -> UpstreamResponse {
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let name = content_type.unwrap_or_default().split(';').next();
        let name = name.unwrap_or_default().trim();
        if name.eq_ignore_ascii_case("application/json") {
            let bytes = read_body(response.into_body(), MESSAGE_LIMIT).await?;
            lease.give_back();
            return match self.incoming.receive(&bytes, Some(id)) {
                IncomingAction::Response(answered, response) if answered == id => response,
                IncomingAction::Garbage(reason) => Err(CallError::malformed(format!(
                    "the answer is no JSON-RPC response: {reason}"
                ))),
                _ => Err(CallError::malformed("the answer is for another request")),
            };
        }
        if name.eq_ignore_ascii_case("text/event-stream") {
            let events = EventReader::new(response.into_body(), lease);
            return self.read_events(events, id).await;
        }
        Err(CallError::malformed(
            if response.status() == StatusCode::ACCEPTED {
                "it accepted the request and gave no answer (HTTP 202)".to_owned()
            } else {
                let name: String = name.chars().take(60).collect();
                format!("it answers with content type '{name}' instead of JSON or events")
            },
        ))
    }

    /// Reads events until the answer comes, taking a stream that breaks off up again where
    /// the server allows it.
    async fn read_events(self: &Arc<Self>, events: EventReader, id: u64) -> UpstreamResponse {
        let mut last_event = None;
        let mut pause = RESUMPTION_PAUSE;
        let mut stream = Some(events);
        let mut in_vain = 0;
        while in_vain < VAIN_RESUMPTIONS {
            let resumed_after = last_event.clone();
            if let Some(mut events) = stream.take() {
                let followed = self.follow(&mut events, Some(id), &mut last_event).await;
                if let Some(response) =
                    followed.map_err(|error| CallError::malformed(error.to_string()))?
                {
                    // The end of the stream follows at once, as a rule.
                    tokio::spawn(events.give_back_at_end());
                    return response;
                }
                pause = events.retry().unwrap_or(pause).max(SHORTEST_PAUSE);
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

    /// Handles the events of a stream until it ends or the answer comes, if one is looked for.
    pub(super) async fn follow(
        self: &Arc<Self>,
        events: &mut EventReader,
        id: Option<u64>,
        last_event: &mut Option<String>,
    ) -> Result<Option<UpstreamResponse>, TooLarge> {
        loop {
            let message = events.next_message().await;
            if let Some(last) = events.last_id()
                && last_event.as_deref() != Some(last)
            {
                *last_event = Some(last.to_owned());
            }
            let Some(message) = message? else {
                return Ok(None);
            };
            if let Some((answered, response)) = self.receive(&message, id)
                && Some(answered) == id
            {
                return Ok(Some(response));
            }
        }
    }

    /// Takes a message that came on the stream of the request with the id, if on any; gives a response
    /// with the id that it answers.
    pub(super) fn receive(
        self: &Arc<Self>,
        message: &Bytes,
        stream: Option<u64>,
    ) -> Option<(u64, UpstreamResponse)> {
        let action = self.incoming.receive(message, stream);
        if stream.is_none() && matches!(action, IncomingAction::Notified | IncomingAction::Relay(_))
        {
            self.shared_stream.received();
        }
        match action {
            IncomingAction::Response(id, response) => return Some((id, response)),
            // Without sessions, a server has nothing to ask on its own.
            IncomingAction::Reply(message) if self.protocol == Protocol::Session => {
                self.send_unawaited(message.into_bytes());
            }
            IncomingAction::Relay(request) if self.protocol == Protocol::Session => {
                self.relay(request);
            }
            IncomingAction::Reply(_)
            | IncomingAction::Relay(_)
            | IncomingAction::Notified
            | IncomingAction::Nothing
            | IncomingAction::Garbage(_) => {}
        }
        None
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
