//! `mcpproxy stdio` beside a running gateway: the client's messages go there, and the answers back.
//!
//! Nothing is decided here. A stateless request gets the headers that mirror it, and one of a session
//! the session's id. A request that is cancelled loses its HTTP connection, which cancels it at the
//! gateway, whatever the protocol.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_server::stdio::{
    ClientConnection, InFlight, Incoming, LineSender, MessageStream, Outbound, Reply,
    RequestMessage, end_of_changes,
};
use mcpproxy_wire::method::Method;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, RpcError, error_response};
use mcpproxy_wire::{Message, Protocol, RequestId, header, sse};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::daemon::{Daemon, DaemonResponse, SESSION_ID, Stream};

/// Messages that wait to be written.
const WAITING_MESSAGES: usize = 64;

/// Largest message of a stream.
const EVENT_LIMIT: usize = 64 * 1024 * 1024;

/// Connection of one stdio client to the running gateway.
pub(crate) struct DaemonConnection {
    in_flight: InFlight,
    relay: Arc<DaemonRelay>,
}

/// State that requests under way share.
struct DaemonRelay {
    daemon: Daemon,
    lines: LineSender,
    session_id: Mutex<Option<HeaderValue>>,
    /// Cancelled when the input has ended.
    closing: CancellationToken,
}

// === impl DaemonConnection ===

impl DaemonConnection {
    /// Connection to a gateway, for a client that reads `lines` until `closing` is cancelled.
    pub(crate) fn new(daemon: Daemon, lines: LineSender, closing: CancellationToken) -> Self {
        Self {
            in_flight: InFlight::default(),
            relay: Arc::new(DaemonRelay {
                daemon,
                lines,
                session_id: Mutex::default(),
                closing,
            }),
        }
    }
}

impl ClientConnection for DaemonConnection {
    fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    fn request(&self, request: RequestMessage, line: Bytes) -> BoxFuture<'static, Reply> {
        let relay = Arc::clone(&self.relay);
        let headers = match request.protocol() {
            Some(Protocol::Stateless) => mirror(&request),
            Some(Protocol::Session) | None => relay.session_headers(),
        };
        Box::pin(async move {
            let (id, is_listen) = (request.id, request.method == Method::SubscriptionsListen);
            let answer = match relay.daemon.message(headers, line).await {
                Ok(stream) if stream.has_events() => {
                    return Reply::Messages(relay.messages(id, stream, is_listen));
                }
                Ok(stream) => stream.collect().await,
                Err(message) => Err(message),
            };
            let (out, messages) = mpsc::channel(1);
            let text = match answer {
                Ok(answer) => {
                    if let Some(session_id) = &answer.session_id {
                        relay.begin_session(session_id);
                    }
                    (!answer.body.is_empty()).then(|| with_id(&answer.body, &id))
                }
                Err(message) => Some(failed(&id, message)),
            };
            if let Some(text) = text {
                // There is room for one message, and nobody else sends any.
                let _ = out.try_send(Outbound::Message(text));
            }
            Reply::Messages(MessageStream {
                messages,
                driver: None,
            })
        })
    }

    fn batch(&self, line: Bytes) -> BoxFuture<'static, Option<String>> {
        let (relay, headers) = (Arc::clone(&self.relay), self.relay.session_headers());
        Box::pin(async move {
            let answer = relay.post(headers, line).await.ok()?;
            let text = || String::from_utf8_lossy(&answer.body).into_owned();
            (!answer.body.is_empty()).then(text)
        })
    }

    fn receive(&self, _: Incoming, line: Bytes) -> BoxFuture<'static, ()> {
        let (relay, headers) = (Arc::clone(&self.relay), self.relay.session_headers());
        Box::pin(async move {
            // Nobody waits for an answer, so there is nobody to tell of a failure.
            let _ = relay.post(headers, line).await;
        })
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let relay = Arc::clone(&self.relay);
        Box::pin(async move {
            let session = relay.session_headers();
            if !session.is_empty() {
                // The gateway forgets sessions by itself; this only frees its place sooner.
                let _ = relay.daemon.end_session(session).await;
            }
        })
    }
}

// === impl DaemonRelay ===

impl DaemonRelay {
    /// Sends a message of the session that has one answer at most.
    async fn post(&self, headers: HeaderMap, line: Bytes) -> Result<DaemonResponse, String> {
        let stream = self.daemon.message(headers, line).await?;
        stream.collect().await
    }

    /// Messages of a stream. A stream of changes ends with the input as well; all else that was asked
    /// is still answered then.
    fn messages(self: Arc<Self>, id: RequestId, stream: Stream, is_listen: bool) -> MessageStream {
        let (out, messages) = mpsc::channel(WAITING_MESSAGES);
        let driver = async move {
            let last = tokio::select! {
                is_answered = pass_on(stream, &out) => (!is_answered).then(|| {
                    failed(&id, "the gateway broke off before it answered".to_owned())
                }),
                () = self.closing.cancelled(), if is_listen => Some(end_of_changes(&id)),
            };
            if let Some(last) = last {
                let _ = out.send(Outbound::Message(last)).await;
            }
        };
        MessageStream {
            messages,
            driver: Some(Box::pin(driver)),
        }
    }

    /// Begins a session: its changes are written until the input ends.
    fn begin_session(self: &Arc<Self>, session_id: &HeaderValue) {
        *self.session_id() = Some(session_id.clone());
        let relay = Arc::clone(self);
        tokio::spawn(async move {
            let changes = async {
                let session = relay.session_headers();
                let Ok(stream) = relay.daemon.open("/mcp", session).await else {
                    return;
                };
                let (out, mut messages) = mpsc::channel(WAITING_MESSAGES);
                let write = async {
                    while let Some(Outbound::Message(message)) = messages.recv().await {
                        let _ = relay.lines.send(message).await;
                    }
                };
                if stream.has_events() {
                    let read = async move { pass_on(stream, &out).await };
                    tokio::join!(read, write);
                }
            };
            tokio::select! {
                () = relay.closing.cancelled() => {}
                () = changes => {}
            }
        });
    }

    fn session_headers(&self) -> HeaderMap {
        let session_id = self.session_id().clone();
        let headers = session_id.map(|id| (SESSION_ID, id));
        headers.into_iter().collect()
    }

    fn session_id(&self) -> MutexGuard<'_, Option<HeaderValue>> {
        self.session_id
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes the events of a stream on as messages; gives whether a response was among them.
async fn pass_on(mut stream: Stream, out: &mpsc::Sender<Outbound>) -> bool {
    let mut reader = sse::SseReader::new(EVENT_LIMIT);
    let mut is_answered = false;
    while let Ok(Some(bytes)) = stream.next().await
        && let Ok(events) = reader.feed(&bytes)
    {
        for event in events.into_iter().filter(|event| !event.data.is_empty()) {
            let message = Message::parse(event.data.as_bytes());
            is_answered |= matches!(message, Ok(Message::Response { .. }));
            let _ = out.send(Outbound::Message(event.data)).await;
        }
    }
    is_answered
}

/// Headers that mirror what a stateless request says. What cannot be said in a header is left out,
/// and the gateway says so.
fn mirror(request: &RequestMessage) -> HeaderMap {
    let name = match request.method {
        Method::ResourcesRead => request.params.text("uri"),
        _ => request.params.text("name"),
    };
    let name = name.map(|name| header::encode_value(&name).into_owned());
    let revision = request.params.revision();
    [
        (
            header::PROTOCOL_VERSION,
            revision.map(std::borrow::Cow::into_owned),
        ),
        (header::METHOD, Some(request.method_name.to_string())),
        (header::NAME, name),
    ]
    .into_iter()
    .filter_map(|(header, value)| {
        let value = HeaderValue::try_from(value?).ok()?;
        Some((HeaderName::from_static(header), value))
    })
    .collect()
}

/// Answer with the id of its request. Errors of the HTTP layer have none; on stdio each answer has to
/// say what it answers.
fn with_id(answer: &[u8], id: &RequestId) -> String {
    match Message::parse(answer) {
        Ok(Message::Response {
            id: None,
            outcome: Err(error),
        }) => error_response(Some(id.id()), &error),
        _ => String::from_utf8_lossy(answer).into_owned(),
    }
}

fn failed(id: &RequestId, message: String) -> String {
    error_response(Some(id.id()), &RpcError::new(INTERNAL_ERROR, message))
}
