//! HTTP as it was before Streamable HTTP: messages are posted, all answers come on one stream.
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

use super::answer::read_body;
use super::pool::Lease;
use super::{Wire, address};
use crate::CallError;
use crate::client::incoming::IncomingAction;
use crate::lines::MESSAGE_LIMIT;
use crate::patience::within;
use crate::pending::{Answer, Pending, Ticket};
use crate::request::OutgoingRequest;

/// How long a stream may take to say where messages go.
const ENDPOINT_WITHIN: Duration = Duration::from_secs(10);
/// The most that is read of what a message is confirmed with.
const CONFIRMATION_LIMIT: usize = 64 * 1024;

/// A server that answers on one stream.
pub(super) struct Streamed {
    endpoint: Uri,
    pending: Arc<Pending>,
}

/// The stream, and the events that came together with its first one.
struct Stream {
    body: Incoming,
    _lease: Lease,
    reader: sse::Reader,
    ahead: Vec<sse::Event>,
}

/// A request in the hands of its caller; dropping it unanswered tells the server.
struct InFlight<'a> {
    wire: &'a Arc<Wire>,
    ticket: Ticket,
    is_sent: Arc<AtomicBool>,
    is_answered: bool,
}

/// Opens the stream; gives what requests need, and what has to run for them to be answered.
/// Nothing if the server has no such stream.
pub(super) async fn open(
    wire: &Arc<Wire>,
    deadline: Instant,
) -> Option<(Streamed, impl Future<Output = ()> + Send + 'static)> {
    let until = deadline.min(Instant::now() + ENDPOINT_WITHIN);
    let (stream, endpoint) = timeout_at(until, begin(wire)).await.ok()??;
    let pending = Arc::new(Pending::default());
    let streamed = Streamed {
        endpoint,
        pending: Arc::clone(&pending),
    };
    Some((streamed, follow(stream, Arc::clone(wire), pending)))
}

/// Reads up to the first event, which says where messages go.
async fn begin(wire: &Arc<Wire>) -> Option<(Stream, Uri)> {
    let (body, lease) = wire.open_events(None).await.ok()?;
    let mut stream = Stream {
        body,
        _lease: lease,
        reader: sse::Reader::new(MESSAGE_LIMIT),
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
    let endpoint = address::resolve(&first.data, &wire.url).filter(|_| is_endpoint)?;
    Some((stream, endpoint))
}

/// Hands answers to those who wait for them, until the stream ends.
async fn follow(mut stream: Stream, wire: Arc<Wire>, pending: Arc<Pending>) {
    let mut events = std::mem::take(&mut stream.ahead);
    loop {
        for event in events {
            let is_message = event.name.as_deref().is_none_or(|name| name == "message");
            if !is_message || event.data.is_empty() {
                continue;
            }
            match wire.inlet.receive(&Bytes::from(event.data), None) {
                IncomingAction::Response(id, answer) => {
                    pending.answer(id, answer);
                }
                IncomingAction::Reply(message) => wire.send_aside(message),
                IncomingAction::Relay(request) => wire.relay(request),
                IncomingAction::Nothing | IncomingAction::Garbage(_) => {}
            }
        }
        match stream.next().await {
            Some(next) => events = next,
            None => break,
        }
    }
    let reason: Arc<str> = "its stream of answers ended".into();
    pending.close(&reason);
    wire.lose(&reason, false);
}

// === impl Stream ===

impl Stream {
    /// The next events; nothing at the end, or when an event is too large.
    async fn next(&mut self) -> Option<Vec<sse::Event>> {
        loop {
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                return self.reader.feed(&data).ok();
            }
        }
    }
}

// === impl Streamed ===

impl Streamed {
    /// Where messages go.
    pub(super) fn endpoint(&self) -> &Uri {
        &self.endpoint
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(&self, wire: &Arc<Wire>, request: OutgoingRequest<'_>) -> Answer {
        let started = Instant::now();
        let ticket = self.pending.register();
        let mut in_flight = InFlight {
            wire,
            ticket: ticket.map_err(|reason| CallError::disconnected(false, reason))?,
            is_sent: Arc::default(),
            is_answered: false,
        };
        let id = in_flight.ticket.id;
        let routes = &wire.inlet.routes;
        let _route = request
            .is_for_caller
            .then(|| routes.enter(id, request.client));
        let message = request.message(id);
        let is_sent = Arc::clone(&in_flight.is_sent);
        let exchange = pin!(async {
            let posted = wire.post(message, HeaderMap::new(), Arc::clone(&is_sent));
            let (response, lease) = posted.await?;
            if read_body(response.into_body(), CONFIRMATION_LIMIT)
                .await
                .is_ok()
            {
                lease.give_back();
            }
            let answer = in_flight.ticket.answer().await;
            answer.unwrap_or_else(|| Err(CallError::disconnected(true, self.pending.closed())))
        });
        let client = request.client.map(|client| &**client);
        match within(request.deadline, client, exchange).await {
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

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.is_answered || !self.is_sent.load(Ordering::Acquire) {
            return;
        }
        self.wire.cancel(self.ticket.id);
    }
}
