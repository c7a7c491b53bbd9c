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
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use mcpproxy_contract::Service;
use mcpproxy_support::connections::Connections;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio_util::sync::CancellationToken;

use super::{ServeError, ServiceCaller};
use access::Authorizer;
use front::Front;

pub use access::TokenRefusal;

/// The most connections at a time, and so the most calls; more wait to be accepted.
const MOST_CONNECTIONS: usize = 1_024;

/// Time that calls in flight have when the server stops.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// A service that is going to be served over HTTP: who may call, and under which names the server is
/// known. Made by [`http`](super::http()).
///
/// Without an authorizer, callers on this machine may do everything and nobody else comes in.
#[must_use]
pub struct Http {
    service: Arc<Service>,
    authorizer: Option<Authorizer>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Http {
    pub(super) fn new(service: Arc<Service>) -> Self {
        Self {
            service,
            authorizer: None,
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// Asks for every request to whom its bearer token belongs and what that one may do. A request
    /// without a token, or with one that is refused, is answered with 401.
    ///
    /// Tokens travel as they are: beyond this machine, let a proxy with TLS stand in front.
    pub fn authorize<A, F>(mut self, authorize: A) -> Self
    where
        A: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = Result<ServiceCaller, TokenRefusal>> + Send + 'static,
    {
        self.authorizer = Some(Arc::new(move |token| Box::pin(authorize(token))));
        self
    }

    /// The host names that requests may be addressed to, each with or without a port. Not given:
    /// those of this machine; with an authorizer any, because a page that makes a browser call here
    /// under another name does not have a token.
    pub fn hosts<I: IntoIterator<Item: Into<String>>>(mut self, hosts: I) -> Self {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// The origins of web pages that may call, such as `https://app.example.com:443`, besides pages
    /// of this machine. Programs send no origin and are not concerned.
    pub fn origins<I: IntoIterator<Item: Into<String>>>(mut self, origins: I) -> Self {
        self.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Listens on an address and serves until ctrl-c or SIGTERM.
    pub async fn serve(self, address: impl ToSocketAddrs) -> Result<(), ServeError> {
        let resolved = tokio::net::lookup_host(address).await;
        let addresses: Vec<SocketAddr> = resolved.map_err(ServeError::Listen)?.collect();
        for address in &addresses {
            self.check(*address)?;
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
        self.check(address)?;
        let front = Arc::new(Front::new(self)?);
        tracing::info!(%address, path = front::PATH, "serving MCP over HTTP");

        let connections = Connections {
            most: MOST_CONNECTIONS,
            drain_time: DRAIN_TIME,
            shutdown: CancellationToken::new(),
        };
        let listener = Arc::new(listener);
        let accept = move || {
            let listener = Arc::clone(&listener);
            async move {
                let (stream, _) = listener.accept().await?;
                // Answers are small and whole; waiting to fill a packet would only delay them. A
                // system that does not offer it serves as well.
                let _ = stream.set_nodelay(true);
                Ok(stream)
            }
        };
        let serve = |stream| {
            let (front, connections) = (Arc::clone(&front), connections.clone());
            let answer = service_fn(move |request| {
                let front = Arc::clone(&front);
                async move {
                    let answered = AssertUnwindSafe(front.answer(request)).catch_unwind();
                    let answer = if let Ok(Ok(answer) | Err(answer)) = answered.await {
                        answer
                    } else {
                        tracing::error!("answering a request panicked");
                        let status = StatusCode::INTERNAL_SERVER_ERROR;
                        plain(status, "The request failed inside")
                    };
                    Ok::<_, Infallible>(answer)
                }
            });
            connections.serve_one(stream, answer)
        };
        let stopping = async {
            shutdown.await;
            connections.shutdown.cancel();
        };
        tokio::join!(connections.serve_all(accept, serve), stopping);
        Ok(())
    }

    /// Anybody who can connect may call, so nobody else must be able to.
    fn check(&self, address: SocketAddr) -> Result<(), ServeError> {
        if self.authorizer.is_some() || address.ip().to_canonical().is_loopback() {
            Ok(())
        } else {
            Err(ServeError::Unprotected(address))
        }
    }
}

/// Response that a client gets.
type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// A text that rmcp does not answer.
fn plain(status: StatusCode, text: &str) -> HttpResponse {
    let mut answer = Response::new(Full::new(Bytes::copy_from_slice(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    if !text.is_empty() {
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    answer
}

/// Over when somebody wants the process to end: ctrl-c, or SIGTERM where there is one.
async fn stop_signal() {
    #[cfg(unix)]
    let terminated = async {
        let terminate = tokio::signal::unix::SignalKind::terminate();
        tokio::signal::unix::signal(terminate).ok()?.recv().await
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<Option<()>>();
    tokio::select! {
        Ok(()) = tokio::signal::ctrl_c() => {}
        Some(()) = terminated => {}
        // Without signals the process ends when it is killed.
        else => std::future::pending().await,
    }
}
