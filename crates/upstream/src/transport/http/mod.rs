//! Transport to a server over Streamable HTTP, or over the HTTP with a separate event stream.
//!
//! Every request is its own POST on a shared pool of connections, made by the caller's own
//! task. What does not change between requests (address, headers) is prepared once.

mod address;
mod body;
mod event_reader;
mod event_stream;
mod events;
mod greeting;
mod pool;
mod refusal;
mod response;
mod shared_stream;

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::{Body as _, Incoming};
use mcpproxy_wire::{Protocol, Revision, header};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::body::MessageBody;
use self::event_stream::ResponseStream;
pub(crate) use self::pool::{Connector, connector};
use self::pool::{Lease, Pool, SendError};
use self::shared_stream::SharedStream;
use super::LostConnection;
use super::deadline::before_deadline;
use super::pending::{SendState, UnansweredRequest};
use super::request::OutgoingRequest;
use crate::call_error::UpstreamResponse;
use crate::client::call_routes::RelayedRequest;
use crate::client::incoming::{Announcements, IncomingMessages};
use crate::{CallError, HttpSpec, lock};

/// Longest that a message may take which nobody waits for.
const UNAWAITED_TIMEOUT: Duration = Duration::from_secs(10);
/// Most messages on their way that nobody waits for; further ones are dropped.
const UNAWAITED_LIMIT: usize = 16;

const SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);

/// Connection to a server over HTTP.
pub(crate) struct HttpConnection {
    endpoint: Arc<HttpEndpoint>,
    /// Task that reads the stream of events, ended when this is dropped.
    events: Mutex<JoinSet<()>>,
}

/// Endpoint of a server, with what requests and the stream of events share.
struct HttpEndpoint {
    pool: Arc<Pool>,
    /// Address of the server.
    url: Uri,
    /// Path of the endpoint, with its query.
    uri: Uri,
    /// Headers of every request, before there is a session.
    headers: HeaderMap,
    protocol: Protocol,
    /// Headers of every request of the session, once there is one.
    session: OnceLock<HeaderMap>,
    /// Separate event stream, for a server that responds on one.
    event_stream: OnceLock<ResponseStream>,
    /// Stream of the session that belongs to no request.
    shared_stream: SharedStream,
    incoming: IncomingMessages,
    lost: watch::Sender<Option<LostConnection>>,
    next_id: AtomicU64,
    /// Permits for messages that nobody waits for.
    unawaited: Arc<Semaphore>,
}

// === impl HttpConnection ===

impl HttpConnection {
    /// Prepares what every request needs; the error is for people and holds no secret.
    pub(crate) fn new(
        spec: &HttpSpec,
        protocol: Protocol,
        connector: Connector,
        announcements: Arc<dyn Announcements>,
    ) -> Result<Self, String> {
        let url = address::read_url(&spec.url)?;
        let mut headers = address::read_headers(&url, &spec.headers)?;
        if protocol == Protocol::Stateless {
            let revision = HeaderValue::from_static(Revision::V2026_07_28.as_str());
            headers.insert(PROTOCOL_VERSION, revision);
        }
        Ok(Self {
            endpoint: Arc::new(HttpEndpoint {
                uri: address::path_of(&url),
                pool: Pool::new(connector, url.clone()),
                url,
                headers,
                protocol,
                session: OnceLock::new(),
                event_stream: OnceLock::new(),
                shared_stream: SharedStream::default(),
                incoming: IncomingMessages::new(announcements),
                lost: watch::Sender::new(None),
                next_id: AtomicU64::new(1),
                unawaited: Arc::new(Semaphore::new(UNAWAITED_LIMIT)),
            }),
            events: Mutex::default(),
        })
    }

    /// Sends a request and waits for its response.
    pub(crate) async fn request(&self, mut request: OutgoingRequest<'_>) -> UpstreamResponse {
        if let Some(event_stream) = self.endpoint.event_stream.get() {
            // Boxed so that the futures of requests to all other servers stay small.
            return Box::pin(event_stream.request(&self.endpoint, request)).await;
        }
        let id = self.endpoint.next_id();
        let cancel = |message| {
            // Closing the connection is how a server without sessions hears of it. To one with
            // sessions it means nothing, so it is told.
            if self.endpoint.protocol == Protocol::Session {
                self.endpoint.send_unawaited(message);
            }
        };
        let send_state = &SendState::default();
        let unanswered = UnansweredRequest::new(id, send_state, cancel);
        let routes = &self.endpoint.incoming.routes;
        let _route = request.route(routes, id);
        let headers = std::mem::take(&mut request.headers);
        let exchange = pin!(async {
            let message = request.message(id)?;
            let posted = self.endpoint.post(message, headers, send_state.clone());
            let (response, lease) = posted.await?;
            self.endpoint.read_response(response, lease, id).await
        });
        let response = before_deadline(&request, send_state, exchange).await;
        let response = unanswered.end(response);
        // While several clients call, nobody can tell whom a message on that stream is meant for.
        let shared_stream = &self.endpoint.shared_stream;
        let is_answered = matches!(response, Ok(_) | Err(CallError::Rpc(_)));
        let takes_notifications = request
            .client
            .is_some_and(|client| client.takes_notifications());
        if is_answered
            && takes_notifications
            && let Some(reader) = shared_stream.reader()
            && routes.only_client().is_some()
        {
            // Boxed, as it is rare, so that the futures of requests stay small.
            Box::pin(shared_stream.settled(reader)).await;
        }
        response
    }

    /// Waits until the session is of no more use.
    pub(crate) async fn lost(&self) -> LostConnection {
        let mut lost = self.endpoint.lost.subscribe();
        loop {
            if let Some(lost) = lost.borrow_and_update().clone() {
                return lost;
            }
            // The sender is ours, so the wait ends with a reason or not at all.
            let _ = lost.changed().await;
        }
    }

    /// Ends the session, and tells the server if it is still there.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.listen(JoinSet::new());
        let endpoint = &self.endpoint;
        if !endpoint.has_session_id() || endpoint.lost.borrow().is_some() {
            return;
        }
        let (headers, state) = (endpoint.session_headers().clone(), SendState::default());
        let ended = endpoint.send(Method::DELETE, headers, None, state);
        // A server may refuse this, and then ends the session when it wants.
        let _ = timeout(grace.min(UNAWAITED_TIMEOUT), ended).await;
    }

    /// Has these tasks read the stream of events, in place of those before.
    fn listen(&self, events: JoinSet<()>) {
        *lock(&self.events) = events;
    }
}

// === impl HttpEndpoint ===

impl HttpEndpoint {
    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a message; gives back a response whose status says that it was taken.
    async fn post(
        &self,
        message: Vec<u8>,
        headers: HeaderMap,
        send_state: SendState,
    ) -> Result<(Response<Incoming>, Lease), CallError> {
        let mut all = self.session_headers().clone();
        all.extend(headers);
        let sent = self.send(Method::POST, all, Some(message), send_state.clone());
        match sent.await {
            Ok((response, lease)) if response.status().is_success() => Ok((response, lease)),
            Ok((response, _)) => Err(self.refused(response).await),
            Err(error) => Err(self.broken(error, send_state.is_begun())),
        }
    }

    /// Sends a request to where the server takes messages.
    fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        message: Option<Vec<u8>>,
        send_state: SendState,
    ) -> impl Future<Output = Result<(Response<Incoming>, Lease), SendError>> {
        let named = self.event_stream.get().map(ResponseStream::endpoint);
        let mut request = Request::new(MessageBody::new(message.map(Bytes::from), send_state));
        *request.method_mut() = method;
        *request.uri_mut() = named.unwrap_or(&self.uri).clone();
        *request.headers_mut() = headers;
        self.pool.send(request)
    }

    /// Sends a message nobody waits for, unless too many are on their way.
    fn send_unawaited(self: &Arc<Self>, message: Vec<u8>) {
        let (Ok(runtime), Ok(slot)) = (
            tokio::runtime::Handle::try_current(),
            Arc::clone(&self.unawaited).try_acquire_owned(),
        ) else {
            return;
        };
        let endpoint = Arc::clone(self);
        runtime.spawn(async move {
            endpoint.post_unawaited(message).await;
            drop(slot);
        });
    }

    async fn post_unawaited(&self, message: Vec<u8>) {
        let posted = self.post(message, HeaderMap::new(), SendState::default());
        if let Ok(Ok((response, lease))) = timeout(UNAWAITED_TIMEOUT, posted).await {
            give_back_if_empty(&response, lease);
        }
    }

    /// Has a client respond to a request of the server.
    fn relay(self: &Arc<Self>, request: RelayedRequest) {
        let endpoint = Arc::clone(self);
        let reply =
            async move |message: String| endpoint.post_unawaited(message.into_bytes()).await;
        if let Err(refusal) = self.incoming.routes.relay(request, reply) {
            self.send_unawaited(refusal.into_bytes());
        }
    }

    fn session_headers(&self) -> &HeaderMap {
        self.session.get().unwrap_or(&self.headers)
    }

    /// Whether the server gave the session an id. One that the operator configured is none.
    fn has_session_id(&self) -> bool {
        let session = self.session.get();
        session.is_some_and(|headers| headers.get(SESSION_ID) != self.headers.get(SESSION_ID))
    }

    /// Remembers that the session is of no more use; the first reason stays.
    fn lose(&self, reason: &Arc<str>, is_expired: bool) {
        let reason = Arc::clone(reason);
        self.lost.send_modify(|lost| {
            lost.get_or_insert(LostConnection { reason, is_expired });
        });
    }
}

/// Gives a connection back whose response has nothing left to read.
fn give_back_if_empty(response: &Response<Incoming>, lease: Lease) {
    if response.body().is_end_stream() {
        lease.give_back();
    }
}

/// Whether the status says that there is no such thing here.
fn is_absent(status: StatusCode) -> bool {
    [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED].contains(&status)
}
