//! A server spoken to over Streamable HTTP, or over the HTTP of before it.
//!
//! Every request is its own POST on a shared pool of connections, made by the caller's own
//! task. What does not change between requests (address, headers) is prepared once.

mod address;
mod answer;
mod body;
mod events;
mod greeting;
mod pool;
mod refusal;
mod streamed;

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::{Body as _, Incoming};
use mcpproxy_wire::Protocol;
use mcpproxy_wire::header as wire_header;
use mcpproxy_wire::method;
use mcpproxy_wire::rpc;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use self::body::Body;
pub(crate) use self::pool::{Connector, connector};
use self::pool::{Lease, Pool};
use self::streamed::Streamed;
use crate::CallError;
use crate::board::Board;
use crate::client::call_routes::RelayedRequest;
use crate::client::incoming::IncomingMessages;
use crate::connection::Lost;
use crate::modern;
use crate::patience::within;
use crate::pending::Answer;
use crate::request::OutgoingRequest;
use crate::spec::HttpSpec;

/// The longest a message that nobody waits for may take.
const ASIDE_TIMEOUT: Duration = Duration::from_secs(10);
/// The most messages on their way that nobody waits for; further ones are dropped.
const ASIDE_LIMIT: usize = 16;

const SESSION_ID: HeaderName = HeaderName::from_static(wire_header::SESSION_ID);
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(wire_header::PROTOCOL_VERSION);

/// A session with a server.
pub(crate) struct Connection {
    wire: Arc<Wire>,
    events: Mutex<Option<AbortHandle>>,
}

/// What requests and the event stream share.
struct Wire {
    pool: Arc<Pool>,
    /// The address of the server.
    url: Uri,
    /// The path of the endpoint, with its query.
    uri: Uri,
    /// The headers of every request, before there is a session.
    headers: HeaderMap,
    protocol: Protocol,
    session: OnceLock<Session>,
    /// Where answers come from a server that has them on one stream.
    streamed: OnceLock<Streamed>,
    inlet: IncomingMessages,
    lost: watch::Sender<Option<(Arc<str>, bool)>>,
    next_id: AtomicU64,
    aside: Arc<Semaphore>,
}

/// What the server gave us to name in every request.
struct Session {
    headers: HeaderMap,
    has_id: bool,
}

/// A request in the hands of its caller; dropping it unanswered tells the server.
struct InFlight<'a> {
    wire: &'a Arc<Wire>,
    id: u64,
    is_sent: Arc<AtomicBool>,
    is_answered: bool,
}

// === impl Connection ===

impl Connection {
    /// Prepares what every request needs; the error is for people and holds no secret.
    pub(crate) fn new(
        spec: &HttpSpec,
        protocol: Protocol,
        connector: Connector,
        board: &Arc<Board>,
    ) -> Result<Self, String> {
        let url = address::read_url(&spec.url)?;
        let mut headers = address::read_headers(&url, &spec.headers)?;
        if protocol == Protocol::Stateless {
            let revision = HeaderValue::from_static(modern::REVISION.as_str());
            headers.insert(PROTOCOL_VERSION, revision);
        }
        Ok(Self {
            wire: Arc::new(Wire {
                uri: address::path_of(&url),
                pool: Pool::new(connector, url.clone()),
                url,
                headers,
                protocol,
                session: OnceLock::new(),
                streamed: OnceLock::new(),
                inlet: IncomingMessages::new(board),
                lost: watch::Sender::new(None),
                next_id: AtomicU64::new(1),
                aside: Arc::new(Semaphore::new(ASIDE_LIMIT)),
            }),
            events: Mutex::default(),
        })
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn request(&self, mut request: OutgoingRequest<'_>) -> Answer {
        if let Some(streamed) = self.wire.streamed.get() {
            // In a place of its own: the requests to all other servers would carry its size along.
            return Box::pin(streamed.request(&self.wire, request)).await;
        }
        let started = Instant::now();
        let id = self.wire.next_id();
        let mut in_flight = InFlight {
            wire: &self.wire,
            id,
            is_sent: Arc::default(),
            is_answered: false,
        };
        let routes = &self.wire.inlet.routes;
        let _route = request
            .is_for_caller
            .then(|| routes.enter(id, request.client));
        let headers = std::mem::take(&mut request.headers);
        let exchange = pin!(async {
            let message = request.message(id);
            let (response, lease) = self
                .wire
                .post(message, headers, Arc::clone(&in_flight.is_sent))
                .await?;
            self.wire.read_answer(response, lease, id).await
        });
        let client = request.client.map(|client| &**client);
        match within(request.deadline, client, exchange).await {
            Ok(answer) => {
                in_flight.is_answered = true;
                answer
            }
            Err(_) => Err(CallError::Timeout {
                after: started.elapsed(),
                sent: in_flight.is_sent.load(Ordering::Acquire),
            }),
        }
    }

    /// Waits until the session is of no more use.
    pub(crate) async fn lost(&self) -> Lost {
        let mut lost = self.wire.lost.subscribe();
        // The sender is ours, so the wait ends with a reason or not at all.
        let lost = lost.wait_for(Option::is_some).await;
        let (reason, is_expired) = lost
            .as_deref()
            .ok()
            .cloned()
            .flatten()
            .unwrap_or_else(|| ("the connection was closed".into(), false));
        Lost { reason, is_expired }
    }

    /// Ends the session, and tells the server if it is still there.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.stop_listening();
        let Some(session) = self.wire.session.get().filter(|session| session.has_id) else {
            return;
        };
        if self.wire.lost.borrow().is_some() {
            return;
        }
        let mut request = Request::new(Body::empty());
        *request.method_mut() = Method::DELETE;
        *request.uri_mut() = self.wire.uri.clone();
        *request.headers_mut() = session.headers.clone();
        // A server may refuse this, and then ends the session when it wants.
        let _ = timeout(grace.min(ASIDE_TIMEOUT), self.wire.pool.send(request)).await;
    }

    fn stop_listening(&self) {
        let events = self
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(events) = events {
            events.abort();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("http::Connection")
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.is_answered || !self.is_sent.load(Ordering::Acquire) {
            return;
        }
        // Closing the connection is how a server without sessions hears of it. To one with
        // sessions it means nothing, so it is told.
        if self.wire.protocol == Protocol::Stateless {
            return;
        }
        self.wire.cancel(self.id);
    }
}

// === impl Wire ===

impl Wire {
    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a message; gives back an answer whose status says that it was taken.
    async fn post(
        &self,
        message: String,
        headers: HeaderMap,
        is_sent: Arc<AtomicBool>,
    ) -> Result<(Response<Incoming>, Lease), CallError> {
        let body = Body::new(Bytes::from(message), Arc::clone(&is_sent));
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        let endpoint = self.streamed.get().map(Streamed::endpoint);
        *request.uri_mut() = endpoint.unwrap_or(&self.uri).clone();
        *request.headers_mut() = self.session_headers().clone();
        request.headers_mut().extend(headers);
        let (response, lease) = match self.pool.send(request).await {
            Ok(answered) => answered,
            Err(error) => {
                let sent = is_sent.load(Ordering::Acquire);
                return Err(self.broken(error, sent));
            }
        };
        if response.status().is_success() {
            return Ok((response, lease));
        }
        Err(self.refused(response).await)
    }

    /// Tells a server with sessions that nobody waits for an answer any more.
    fn cancel(self: &Arc<Self>, id: u64) {
        let params = format!(r#"{{"requestId":{id},"reason":"no longer awaited"}}"#);
        self.send_aside(rpc::notification(method::CANCELLED, &params));
    }

    /// Sends a message nobody waits for, unless too many are on their way.
    fn send_aside(self: &Arc<Self>, message: String) {
        let (Ok(runtime), Ok(slot)) = (
            tokio::runtime::Handle::try_current(),
            Arc::clone(&self.aside).try_acquire_owned(),
        ) else {
            return;
        };
        let wire = Arc::clone(self);
        runtime.spawn(async move {
            let posted = timeout(
                ASIDE_TIMEOUT,
                wire.post(message, HeaderMap::new(), Arc::default()),
            )
            .await;
            if let Ok(Ok((response, lease))) = posted {
                give_back_if_empty(&response, lease);
            }
            drop(slot);
        });
    }

    /// Has a client respond to a request of the server.
    fn relay(self: &Arc<Self>, request: RelayedRequest) {
        let wire = Arc::clone(self);
        let reply = async move |message| {
            let posted = wire.post(message, HeaderMap::new(), Arc::default());
            if let Ok(Ok((response, lease))) = timeout(ASIDE_TIMEOUT, posted).await {
                give_back_if_empty(&response, lease);
            }
        };
        if let Err(refusal) = self.inlet.routes.relay(request, reply) {
            self.send_aside(refusal);
        }
    }

    fn session_headers(&self) -> &HeaderMap {
        self.session
            .get()
            .map_or(&self.headers, |session| &session.headers)
    }

    fn has_session_id(&self) -> bool {
        self.session.get().is_some_and(|session| session.has_id)
    }

    /// Remembers that the session is of no more use; the first reason stays.
    fn lose(&self, reason: &Arc<str>, is_expired: bool) {
        self.lost.send_if_modified(|lost| {
            let is_first = lost.is_none();
            lost.get_or_insert_with(|| (Arc::clone(reason), is_expired));
            is_first
        });
    }
}

/// Keeps a connection whose answer has nothing left to read.
fn give_back_if_empty(response: &Response<Incoming>, lease: Lease) {
    if response.body().is_end_stream() {
        lease.give_back();
    }
}

/// Whether the status says that there is no such thing here.
fn is_absent(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    )
}
