//! Connections to one server, kept open between requests.
//!
//! A connection is driven by the runtime of the thread that opened it, so each thread has a
//! list of its own: a call then wakes no other thread, and threads do not wait for each other.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use mcpproxy_support::tls::TlsClient;
use tokio::time::Instant;
use tower::ServiceExt;

use super::body::MessageBody;
use crate::lock;

/// Time that the network may take to connect us.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which an unused connection is given up, before servers do so: many close after five seconds, and
/// a request that meets the closing is lost with its outcome unknown.
const IDLE_LIMIT: Duration = Duration::from_secs(4);
/// Silence after which a connection is probed, so that an event stream without a peer is noticed.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Number of lists of idle connections; threads beyond that share them.
const IDLE_LISTS: usize = 32;

/// Maker of connections: shared by all servers, because trusted roots are many.
pub(crate) type Connector = HttpsConnector<HttpConnector>;

/// Connections to one server.
pub(super) struct Pool {
    connector: Connector,
    server: Uri,
    idle_lists: [Mutex<Vec<IdleConnection>>; IDLE_LISTS],
}

/// Connection that waits for its next request.
struct IdleConnection {
    sender: SendRequest<MessageBody>,
    since: Instant,
}

/// Connection on which a response is being read. Dropping it closes the connection.
pub(super) struct Lease {
    pool: Arc<Pool>,
    sender: SendRequest<MessageBody>,
}

/// Reason why a request did not get through.
pub(super) enum SendError {
    /// Reason, for people, why there is no connection to the server.
    NotConnected(String),
    /// Connection that broke off.
    Broken,
}

/// Makes what every pool connects with.
pub(crate) fn connector() -> Connector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    HttpsConnectorBuilder::new()
        .with_tls_config(TlsClient::verifying().config())
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp)
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(connector: Connector, server: Uri) -> Arc<Self> {
        Arc::new(Self {
            connector,
            server,
            idle_lists: std::array::from_fn(|_| Mutex::default()),
        })
    }

    /// Sends a request. One that met a connection the server had closed is sent on another:
    /// hyper hands it back only if nothing of it left.
    pub(super) async fn send(
        self: &Arc<Self>,
        mut request: Request<MessageBody>,
    ) -> Result<(Response<Incoming>, Lease), SendError> {
        tracing::trace!(target: "mcpproxy::call_path", "the message is sent to the server");
        loop {
            let (mut sender, is_new) = match self.take_idle() {
                Some(sender) => (sender, false),
                // Boxed, as it is rare, so that the futures of requests stay small.
                None => (Box::pin(self.connect()).await?, true),
            };
            if sender.ready().await.is_err() {
                if is_new {
                    return Err(SendError::Broken);
                }
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let pool = Arc::clone(self);
                    return Ok((response, Lease { pool, sender }));
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) if !is_new => request = unsent,
                    _ => return Err(SendError::Broken),
                },
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<MessageBody>, SendError> {
        let stream = self
            .connector
            .clone()
            .oneshot(self.server.clone())
            .await
            .map_err(|error| SendError::NotConnected(root(&*error)))?;
        let (sender, connection) = http1::handshake(stream)
            .await
            .map_err(|error| SendError::NotConnected(root(&error)))?;
        // Ends with its sender; what goes wrong is told to the request it goes wrong for.
        tokio::spawn(connection);
        Ok(sender)
    }

    /// Connection used last, which is the likeliest to be still open.
    fn take_idle(&self) -> Option<SendRequest<MessageBody>> {
        let mut waiting = self.idle_list();
        while let Some(idle) = waiting.pop() {
            if !idle.sender.is_closed() && !idle.is_old() {
                return Some(idle.sender);
            }
        }
        None
    }

    fn idle_list(&self) -> MutexGuard<'_, Vec<IdleConnection>> {
        lock(&self.idle_lists[thread_number() % IDLE_LISTS])
    }
}

// === impl Lease ===

impl Lease {
    /// Gives the connection back after the response was read to its end, for another request.
    pub(super) fn give_back(self) {
        let Self { pool, sender } = self;
        let mut waiting = pool.idle_list();
        // The oldest lie at the front.
        let old = waiting.iter().take_while(|idle| idle.is_old()).count();
        waiting.drain(..old);
        waiting.push(IdleConnection {
            sender,
            since: Instant::now(),
        });
    }
}

// === impl IdleConnection ===

impl IdleConnection {
    fn is_old(&self) -> bool {
        self.since.elapsed() >= IDLE_LIMIT
    }
}

/// Number of this thread, counted in the order in which threads first ask.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

/// Innermost cause, which says most and repeats neither address nor headers.
fn root(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
