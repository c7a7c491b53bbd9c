//! `mcpproxy stdio` beside a running gateway: the client's messages go there, and the answers back.
//!
//! Nothing is decided here. A stateless request gets the headers that mirror it, and one of a session
//! the session's id. A request that is cancelled loses its HTTP connection, which cancels it at the
//! gateway, whatever the protocol.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_server::stdio::{
    ClientConnection, Incoming, LineSender, MessageStream, Outbound, Reply, RequestMessage,
    end_of_changes,
};
use mcpproxy_wire::method::Method;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, INVALID_REQUEST, RpcError, error_response};
use mcpproxy_wire::{Message, Protocol, RequestId, header, sse};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::daemon::{Daemon, SESSION_ID, Stream};

/// Messages that wait to be written.
const WAITING_MESSAGES: usize = 64;

/// Largest message of a stream.
const EVENT_LIMIT: usize = 64 * 1024 * 1024;

/// Connection of one stdio client to the running gateway.
pub(crate) struct DaemonConnection {
    relay: Arc<DaemonRelay>,
}

/// State that requests under way share.
struct DaemonRelay {
    daemon: Daemon,
    /// Header that shows the credential of the client, if it has one.
    credential: HeaderMap,
    lines: LineSender,
    /// Header that names the session, once one has begun.
    session: Mutex<HeaderMap>,
    /// Cancelled when the input has ended.
    closing: CancellationToken,
}

// === impl DaemonConnection ===

impl DaemonConnection {
    /// Connection to a gateway, for a client with this credential that reads `lines` until `closing` is cancelled.
    pub(crate) fn new(
        daemon: Daemon,
        credential: HeaderMap,
        lines: LineSender,
        closing: CancellationToken,
    ) -> Self {
        Self {
            relay: Arc::new(DaemonRelay {
                daemon,
                credential,
                lines,
                session: Mutex::default(),
                closing,
            }),
        }
    }
}

impl ClientConnection for DaemonConnection {
    fn request(&self, request: RequestMessage, line: Bytes) -> BoxFuture<'static, Reply> {
        let relay = Arc::clone(&self.relay);
        let headers = match request.protocol() {
            Some(Protocol::Stateless) => mirror(&request),
            Some(Protocol::Session) | None => relay.session().clone(),
        };
        Box::pin(async move {
            let (id, is_listen) = (request.id, request.method == Method::SubscriptionsListen);
            let answer = match relay.daemon.message(relay.shown(headers), line).await {
                Ok(stream) if stream.has_events() => {
                    return Reply::Messages(relay.messages(id, stream, is_listen));
                }
                Ok(stream) => {
                    let session_id = stream.headers.get(SESSION_ID).cloned();
                    let answer = stream.collect().await;
                    if let (Ok(_), Some(session_id)) = (&answer, session_id) {
                        relay.begin_session(session_id);
                    }
                    answer
                }
                Err(message) => Err(message),
            };
            let text = match answer {
                Ok(answer) => (!answer.is_empty()).then(|| with_id(&answer, &id)),
                Err(message) => Some(failed(&id, message)),
            };
            let (out, messages) = mpsc::channel(1);
            if let Some(text) = text {
                // There is room for one message, and nobody else sends any.
                let _ = out.try_send(Outbound::Message(text));
            }
            let driver = None;
            Reply::Messages(MessageStream { messages, driver })
        })
    }

    fn batch(&self, line: Bytes) -> BoxFuture<'static, Option<String>> {
        let (relay, headers) = (Arc::clone(&self.relay), self.relay.session().clone());
        Box::pin(async move {
            let answer = relay.post(headers, line).await.ok()?;
            (!answer.is_empty()).then(|| String::from_utf8_lossy(&answer).into_owned())
        })
    }

    fn receive(&self, _: Incoming, line: Bytes) -> BoxFuture<'static, ()> {
        let (relay, headers) = (Arc::clone(&self.relay), self.relay.session().clone());
        Box::pin(async move {
            // Nobody waits for an answer, so there is nobody to tell of a failure.
            let _ = relay.post(headers, line).await;
        })
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let relay = Arc::clone(&self.relay);
        Box::pin(async move {
            let session = relay.session().clone();
            if !session.is_empty() {
                // The gateway forgets sessions by itself; this only frees its place sooner.
                let _ = relay.daemon.end_session(relay.shown(session)).await;
            }
        })
    }
}

// === impl DaemonRelay ===

impl DaemonRelay {
    /// Headers of a request, with the credential.
    fn shown(&self, mut headers: HeaderMap) -> HeaderMap {
        headers.extend(self.credential.clone());
        headers
    }

    /// Sends a message of the session that has one answer at most.
    async fn post(&self, headers: HeaderMap, line: Bytes) -> Result<Vec<u8>, String> {
        let stream = self.daemon.message(self.shown(headers), line).await?;
        stream.collect().await
    }

    /// Messages of a stream. A stream of changes ends with the input as well; all else that was asked
    /// is still answered then.
    fn messages(self: Arc<Self>, id: RequestId, stream: Stream, is_listen: bool) -> MessageStream {
        let (out, messages) = mpsc::channel(WAITING_MESSAGES);
        let driver = async move {
            let send = |message| out.send(Outbound::Message(message));
            let last = tokio::select! {
                is_answered = pass_on(stream, send) => (!is_answered).then(|| {
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
    fn begin_session(self: &Arc<Self>, session_id: HeaderValue) {
        let mut session = self.session();
        session.insert(SESSION_ID, session_id);
        let (session, relay) = (session.clone(), Arc::clone(self));
        tokio::spawn(async move {
            let changes = async {
                let stream = relay.daemon.open("/mcp", relay.shown(session)).await;
                if let Some(stream) = stream.ok().filter(Stream::has_events) {
                    let write = |message| relay.lines.send(message);
                    pass_on(stream, write).await;
                }
            };
            relay.closing.run_until_cancelled(changes).await;
        });
    }

    fn session(&self) -> MutexGuard<'_, HeaderMap> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes the events of a stream on as messages; gives whether a response was among them.
async fn pass_on<W: Future>(mut stream: Stream, write: impl Fn(String) -> W) -> bool {
    let mut reader = sse::SseReader::new(EVENT_LIMIT);
    let mut is_answered = false;
    while let Ok(Some(bytes)) = stream.next().await
        && let Ok(events) = reader.feed(&bytes)
    {
        for event in events.into_iter().filter(|event| !event.data.is_empty()) {
            let message = Message::parse(event.data.as_bytes());
            is_answered |= matches!(message, Ok(Message::Response { .. }));
            // Whoever has gone needs nothing written.
            let _ = write(event.data).await;
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
    let revision = request.params.revision().map(Cow::into_owned);
    let method = Some(request.method_name.to_string());
    let names = [header::PROTOCOL_VERSION, header::METHOD, header::NAME];
    let headers = names.into_iter().zip([revision, method, name]);
    let headers = headers.filter_map(|(header, value)| {
        let value = HeaderValue::try_from(value?).ok()?;
        Some((HeaderName::from_static(header), value))
    });
    headers.collect()
}

/// Answer with the id of its request. Errors of the HTTP layer have none; on stdio each answer has to
/// say what it answers.
fn with_id(answer: &[u8], id: &RequestId) -> String {
    match Message::parse(answer) {
        Ok(Message::Response {
            id: None,
            outcome: Err(error),
        }) => error_response(Some(id.id()), &error),
        Ok(_) => String::from_utf8_lossy(answer).into_owned(),
        // Refused before it was a message: the gateway lets this client not in.
        Err(_) => {
            let refusal: Value = serde_json::from_slice(answer).unwrap_or_default();
            let message = refusal["error"]["message"].as_str();
            let message = message.unwrap_or("the gateway gave no answer that can be read");
            let data = refusal.is_object().then_some(refusal.clone());
            let error = RpcError {
                data,
                ..RpcError::new(INVALID_REQUEST, message)
            };
            error_response(Some(id.id()), &error)
        }
    }
}

fn failed(id: &RequestId, message: String) -> String {
    error_response(Some(id.id()), &RpcError::new(INTERNAL_ERROR, message))
}
