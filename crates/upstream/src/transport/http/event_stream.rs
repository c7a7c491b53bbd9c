//! HTTP with a separate event stream, as it was before Streamable HTTP: messages are posted, all
//! responses come on one stream.
//!
//! The stream begins with the path that messages are posted to. Its end is the end of the
//! connection.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::header::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_wire::sse;
use tokio::time::{Instant, timeout_at};

use super::super::deadline::before_deadline;
use super::super::pending::{PendingRequest, PendingRequests};
use super::super::request::{OutgoingRequest, cancellation};
use super::pool::Lease;
use super::response::read_body;
use super::{HttpEndpoint, address};
use crate::CallError;
use crate::call_error::UpstreamResponse;
use crate::client::incoming::IncomingAction;
use crate::process::lines::MESSAGE_LIMIT;

/// Time that a stream has to say where messages go.
const ENDPOINT_WITHIN: Duration = Duration::from_secs(10);
/// The most that is read of what a message is confirmed with.
const CONFIRMATION_LIMIT: usize = 64 * 1024;

/// Server that responds on one stream.
pub(super) struct ResponseStream {
    endpoint: Uri,
    pending: Arc<PendingRequests>,
}

/// Stream, and the events that came together with its first one.
struct OpenResponseStream {
    body: Incoming,
    _lease: Lease,
    reader: sse::SseReader,
    ahead: Vec<sse::SseEvent>,
}

/// Request in the hands of its caller; dropping it unanswered tells the server.
struct StreamedRequest<'a> {
    endpoint: &'a Arc<HttpEndpoint>,
    pending: PendingRequest,
    is_sent: Arc<AtomicBool>,
    is_answered: bool,
}

/// Opens the stream; gives what requests need, and what has to run for them to be answered.
/// Nothing if the server has no such stream.
pub(super) async fn open(
    endpoint: &Arc<HttpEndpoint>,
    deadline: Instant,
) -> Option<(ResponseStream, impl Future<Output = ()> + Send + 'static)> {
    let until = deadline.min(Instant::now() + ENDPOINT_WITHIN);
    let (stream, named) = timeout_at(until, begin(endpoint)).await.ok()??;
    let pending = Arc::new(PendingRequests::default());
    let event_stream = ResponseStream {
        endpoint: named,
        pending: Arc::clone(&pending),
    };
    Some((event_stream, follow(stream, Arc::clone(endpoint), pending)))
}

/// Reads up to the first event, which says where messages go.
async fn begin(endpoint: &Arc<HttpEndpoint>) -> Option<(OpenResponseStream, Uri)> {
    let (body, lease) = endpoint.open_events(None).await.ok()?;
    let mut stream = OpenResponseStream {
        body,
        _lease: lease,
        reader: sse::SseReader::new(MESSAGE_LIMIT),
        ahead: Vec::new(),
    };
    let mut events = loop {
        let events = stream.next().await?;
        if !events.is_empty() {
            break events.into_iter();
        }
    };
    let first = events.next()?;
    stream.ahead = events.collect();
    let is_endpoint = first.name.as_deref() == Some("endpoint");
    let named = address::resolve(&first.data, &endpoint.url).filter(|_| is_endpoint)?;
    Some((stream, named))
}

/// Hands responses to those who wait for them, until the stream ends.
async fn follow(
    mut stream: OpenResponseStream,
    endpoint: Arc<HttpEndpoint>,
    pending: Arc<PendingRequests>,
) {
    let mut events = std::mem::take(&mut stream.ahead);
    loop {
        for event in events {
            let is_message = event.name.as_deref().is_none_or(|name| name == "message");
            if !is_message || event.data.is_empty() {
                continue;
            }
            match endpoint.incoming.receive(&Bytes::from(event.data), None) {
                IncomingAction::Response(id, response) => {
                    pending.respond(id, response);
                }
                IncomingAction::Reply(message) => endpoint.send_unawaited(message.into_bytes()),
                IncomingAction::Relay(request) => endpoint.relay(request),
                IncomingAction::Notified | IncomingAction::Nothing | IncomingAction::Garbage(_) => {
                }
            }
        }
        match stream.next().await {
            Some(next) => events = next,
            None => break,
        }
    }
    let reason: Arc<str> = "its stream of answers ended".into();
    pending.close(&reason);
    endpoint.lose(&reason, false);
}

// === impl OpenResponseStream ===

impl OpenResponseStream {
    /// The next events; nothing at the end, or when an event is too large.
    async fn next(&mut self) -> Option<Vec<sse::SseEvent>> {
        loop {
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                return self.reader.feed(&data).ok();
            }
        }
    }
}

// === impl ResponseStream ===

impl ResponseStream {
    /// Path that messages are posted to.
    pub(super) fn endpoint(&self) -> &Uri {
        &self.endpoint
    }

    /// Sends a request and waits for its response.
    pub(super) async fn request(
        &self,
        endpoint: &Arc<HttpEndpoint>,
        request: OutgoingRequest<'_>,
    ) -> UpstreamResponse {
        let started = Instant::now();
        let pending = self.pending.register();
        let mut in_flight = StreamedRequest {
            endpoint,
            pending: pending.map_err(|reason| CallError::disconnected(false, reason))?,
            is_sent: Arc::default(),
            is_answered: false,
        };
        let id = in_flight.pending.id;
        let routes = &endpoint.incoming.routes;
        let _route = request
            .is_for_caller
            .then(|| routes.enter(id, request.client));
        let message = request.message(id)?;
        let is_sent = Arc::clone(&in_flight.is_sent);
        let exchange = pin!(async {
            let posted = endpoint.post(message, HeaderMap::new(), Arc::clone(&is_sent));
            let (response, lease) = posted.await?;
            if read_body(response.into_body(), CONFIRMATION_LIMIT)
                .await
                .is_ok()
            {
                lease.give_back();
            }
            let answer = in_flight.pending.response().await;
            answer.unwrap_or_else(|| Err(CallError::disconnected(true, self.pending.closed())))
        });
        match before_deadline(request.deadline, request.client, exchange).await {
            Ok(answer) => {
                in_flight.is_answered = true;
                answer
            }
            Err(_) => Err(CallError::Timeout {
                after: started.elapsed(),
                sent: is_sent.load(Ordering::Acquire),
            }),
        }
    }
}

impl Drop for StreamedRequest<'_> {
    fn drop(&mut self) {
        if self.is_answered || !self.is_sent.load(Ordering::Acquire) {
            return;
        }
        self.endpoint.send_unawaited(cancellation(self.pending.id));
    }
}
