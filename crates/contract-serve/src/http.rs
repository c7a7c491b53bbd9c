//! Streamable HTTP: any number of clients under `/mcp`.
//!
//! rmcp runs without its sessions. In those, two requests in flight with one id get each other's
//! answers, and some clients use one id for everything; they also hold memory for each client that
//! ever came, and know nothing of who is calling. What a session is needed for, the name the client
//! gave when it came, travels in the session's id instead (see [`session`](crate::session)), and cancellations find
//! their call through [`running_calls`].

mod access;
mod front;
mod running_calls;

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcpproxy_contract::Service;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Handler, ServeError, ServiceCaller};
use access::Authorizer;
use front::Front;

pub use access::TokenRefusal;

/// The most connections at a time, and so the most calls; more wait to be accepted.
const MOST_CONNECTIONS: usize = 1_024;

/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// How long calls in flight may take when the server stops.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// How long to wait after the system refused to accept, for example without free files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A service that is going to be served over HTTP. Made by [`http`](super::http()).
#[derive(Debug)]
pub struct Http {
    service: Arc<Service>,
    options: HttpOptions,
}

/// Who may call, and under which names the server is known.
///
/// Without an authorizer, callers on this machine may do everything and nobody else comes in.
#[derive(Clone, Default)]
pub struct HttpOptions {
    authorize: Option<Authorizer>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

// === impl HttpOptions ===

impl HttpOptions {
    /// Asks for every request to whom its bearer token belongs and what that one may do. A request
    /// without a token, or with one that is refused, is answered with 401.
    ///
    /// Tokens travel as they are: beyond this machine, let a proxy with TLS stand in front.
    #[must_use]
    pub fn authorize<A, F>(mut self, authorize: A) -> Self
    where
        A: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = Result<ServiceCaller, TokenRefusal>> + Send + 'static,
    {
        self.authorize = Some(Authorizer::new(authorize));
        self
    }

    /// The host names that requests may be addressed to, each with or without a port. Not given:
    /// those of this machine; with an authorizer any, because a page that makes a browser call here
    /// under another name does not have a token.
    #[must_use]
    pub fn hosts<I>(mut self, hosts: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// The origins of web pages that may call, such as `https://app.example.com:443`, besides pages
    /// of this machine. Programs send no origin and are not concerned.
    #[must_use]
    pub fn origins<I>(mut self, origins: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Anybody who can connect may call, so nobody else must be able to.
    fn check(&self, address: SocketAddr) -> Result<(), ServeError> {
        if self.authorize.is_some() || address.ip().to_canonical().is_loopback() {
            Ok(())
        } else {
            Err(ServeError::Unprotected(address))
        }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpOptions")
            .field("authorize", &self.authorize.is_some())
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .finish()
    }
}

// === impl Http ===

impl Http {
    pub(super) fn new(service: Arc<Service>) -> Self {
        Self {
            service,
            options: HttpOptions::default(),
        }
    }

    /// Http with these options.
    #[must_use]
    pub fn with(mut self, options: HttpOptions) -> Self {
        self.options = options;
        self
    }

    /// Listens on an address and serves until ctrl-c or SIGTERM.
    pub async fn serve(self, address: impl ToSocketAddrs) -> Result<(), ServeError> {
        let resolved = tokio::net::lookup_host(address).await;
        let addresses: Vec<SocketAddr> = resolved.map_err(ServeError::Listen)?.collect();
        for address in &addresses {
            self.options.check(*address)?;
        }
        let listener = TcpListener::bind(&addresses[..])
            .await
            .map_err(ServeError::Listen)?;
        self.run(listener, stop_signal()).await
    }

    /// Serves a listener until `shutdown` is over. Calls in flight then have ten seconds left.
    pub async fn run(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr().map_err(ServeError::Listen)?;
        self.options.check(address)?;
        let front = Arc::new(Front::new(Handler::new(self.service)?, self.options));
        tracing::info!(%address, path = front::PATH, "serving MCP over HTTP");

        let stop = CancellationToken::new();
        let connections = TaskTracker::new();
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let accepting = async {
            // The semaphore is never closed: this goes on until the shutdown.
            while let Ok(place) = Arc::clone(&places).acquire_owned().await {
                let stream = accept(&listener).await;
                let talk = converse(stream, Arc::clone(&front), stop.clone());
                connections.spawn(async move {
                    talk.await;
                    drop(place);
                });
            }
        };
        tokio::select! {
            () = accepting => {}
            () = shutdown => {}
        }
        drop(listener);
        stop.cancel();
        connections.close();
        connections.wait().await;
        Ok(())
    }
}

/// The next connection.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small and whole; waiting to fill a packet would only delay them. A
                // system that does not offer it serves as well.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one connection until the client is done or the shutdown. A client that goes away while
/// it waits takes its call with it: the connection is dropped, and the call with it.
async fn converse(stream: TcpStream, front: Arc<Front>, stop: CancellationToken) {
    let service = service_fn(|request| async { Ok::<_, Infallible>(front.answer(request).await) });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that sends garbage or goes away is its own problem.
        _ = connection.as_mut() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(DRAIN_TIME, connection).await;
        }
    }
}

/// Over when somebody wants the process to end.
async fn stop_signal() {
    let interrupted = async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::warn!(%error, "ctrl-c cannot be listened for");
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupted => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signals) => {
            signals.recv().await;
        }
        Err(error) => {
            tracing::warn!(%error, "SIGTERM cannot be listened for");
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending::<()>().await;
}
