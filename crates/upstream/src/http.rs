//! A server spoken to over Streamable HTTP.
//!
//! Every request is its own POST on a shared pool of connections, made by the caller's own
//! task. What does not change between requests (address, headers) is prepared once.

mod answer;
mod body;
mod events;
mod pool;
mod refusal;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::{Body as _, Incoming};
use mcpproxy_wire::initialize::ServerHello;
use mcpproxy_wire::revision::Era;
use mcpproxy_wire::{Revision, rpc};
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use self::body::Body;
pub(crate) use self::pool::{Connector, connector};
use self::pool::{Lease, Pool};
use crate::CallError;
use crate::board::Board;
use crate::connection::{self, Lost};
use crate::modern;
use crate::pending::Answer;
use crate::spec::HttpSpec;

/// The longest a message that nobody waits for may take.
const ASIDE_TIMEOUT: Duration = Duration::from_secs(10);
/// The most messages on their way that nobody waits for; further ones are dropped.
const ASIDE_LIMIT: usize = 16;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A session with a server.
pub(crate) struct Connection {
    wire: Arc<Wire>,
    events: Mutex<Option<AbortHandle>>,
}

/// What requests and the event stream share.
struct Wire {
    pool: Arc<Pool>,
    /// The path of the endpoint, with its query.
    uri: Uri,
    /// The headers of every request, before there is a session.
    headers: HeaderMap,
    era: Era,
    session: OnceLock<Session>,
    board: Arc<Board>,
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
        era: Era,
        connector: Connector,
        board: &Arc<Board>,
    ) -> Result<Self, String> {
        let url = read_url(&spec.url)?;
        let mut headers = read_headers(&url, &spec.headers)?;
        if era == Era::Stateless {
            let revision = HeaderValue::from_static(modern::REVISION.as_str());
            headers.insert(PROTOCOL_VERSION, revision);
        }
        Ok(Self {
            wire: Arc::new(Wire {
                uri: endpoint(&url),
                pool: Pool::new(connector, url),
                headers,
                era,
                session: OnceLock::new(),
                board: Arc::clone(board),
                lost: watch::Sender::new(None),
                next_id: AtomicU64::new(1),
                aside: Arc::new(Semaphore::new(ASIDE_LIMIT)),
            }),
            events: Mutex::default(),
        })
    }

    /// Opens the session and the stream of events that comes with it.
    pub(crate) async fn greet(
        &self,
        params: &str,
        deadline: Instant,
    ) -> Result<(ServerHello, Revision), CallError> {
        let started = Instant::now();
        let greeting = async {
            let (hello, revision) = self.wire.initialize(params).await?;
            let initialized = rpc::notification("notifications/initialized", "{}");
            let (response, lease) = self
                .wire
                .post(initialized, HeaderMap::new(), Arc::default())
                .await?;
            give_back_if_empty(&response, lease);
            Ok((hello, revision))
        };
        let (hello, revision) =
            timeout_at(deadline, greeting)
                .await
                .map_err(|_| CallError::Timeout {
                    after: started.elapsed(),
                    sent: true,
                })??;
        let events = events::listen(Arc::clone(&self.wire), hello.announces_tool_changes);
        let events = tokio::spawn(events).abort_handle();
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) = Some(events);
        Ok((hello, revision))
    }

    /// Sends a request and waits for its answer. `params` is JSON; the headers are added to
    /// those that every request has.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &str,
        headers: HeaderMap,
        deadline: Instant,
    ) -> Answer {
        let started = Instant::now();
        let id = self.wire.next_id();
        let mut in_flight = InFlight {
            wire: &self.wire,
            id,
            is_sent: Arc::default(),
            is_answered: false,
        };
        let exchange = async {
            let message = rpc::request(id, method, params);
            let (response, lease) = self
                .wire
                .post(message, headers, Arc::clone(&in_flight.is_sent))
                .await?;
            self.wire.read_answer(response, lease, id).await
        };
        match timeout_at(deadline, exchange).await {
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
        if self.wire.era == Era::Stateless {
            return;
        }
        let params = format!(
            r#"{{"requestId":{},"reason":"no longer awaited"}}"#,
            self.id
        );
        let message = rpc::notification("notifications/cancelled", &params);
        self.wire.send_aside(message);
    }
}

// === impl Wire ===

impl Wire {
    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    async fn initialize(
        self: &Arc<Self>,
        params: &str,
    ) -> Result<(ServerHello, Revision), CallError> {
        let id = self.next_id();
        let message = rpc::request(id, "initialize", params);
        let (response, lease) = self.post(message, HeaderMap::new(), Arc::default()).await?;
        let session_id = response.headers().get(&SESSION_ID).cloned();
        let answer = self.read_answer(response, lease, id).await?;
        let (hello, revision) = connection::read_hello(&answer)?;
        let mut headers = self.headers.clone();
        let has_id = session_id.is_some();
        if let Some(id) = session_id {
            headers.insert(SESSION_ID, id);
        }
        headers.insert(
            PROTOCOL_VERSION,
            HeaderValue::from_static(revision.as_str()),
        );
        // A connection is greeted once; a second session would be another connection.
        let _ = self.session.set(Session { headers, has_id });
        Ok((hello, revision))
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
        *request.uri_mut() = self.uri.clone();
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

// === configuration ===

fn read_url(url: &str) -> Result<Uri, String> {
    let uri: Uri = url
        .parse()
        .map_err(|_| "its url is not an address".to_owned())?;
    let authority = uri.authority().map(http::uri::Authority::as_str);
    match (uri.scheme_str(), authority) {
        (Some("http" | "https"), Some(authority)) if !authority.contains('@') => Ok(uri),
        (Some("http" | "https"), Some(_)) => {
            Err("its url contains credentials, give them in headers instead".to_owned())
        }
        _ => Err("its url is not an http or https address".to_owned()),
    }
}

/// What a request line names: the path with its query.
fn endpoint(url: &Uri) -> Uri {
    url.path_and_query()
        .map_or_else(|| Uri::from_static("/"), |path| Uri::from(path.clone()))
}

fn read_headers(url: &Uri, pairs: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let host = url.authority().map_or("", http::uri::Authority::as_str);
    let host = HeaderValue::try_from(host).map_err(|_| "its url has no valid host".to_owned())?;
    headers.insert(HOST, host);
    for (name, value) in pairs {
        let header = HeaderName::try_from(name.as_str()).ok();
        let value = HeaderValue::try_from(value.as_str()).ok();
        let (Some(header), Some(mut value)) = (header, value) else {
            return Err(format!("its header '{name}' is not valid"));
        };
        if matches!(
            header.as_str(),
            "content-length" | "transfer-encoding" | "connection"
        ) {
            return Err(format!("its header '{name}' cannot be configured"));
        }
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    headers.insert(ACCEPT, ACCEPTED);
    headers.insert(CONTENT_TYPE, JSON);
    Ok(headers)
}

/// Whether the status says that there is no such thing here.
fn is_absent(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    )
}
