//! Accepting connections.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::access::Reach;
use crate::{App, router};

/// The most connections at a time; more wait to be accepted.
const MOST_CONNECTIONS: usize = 8_192;

/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// How long requests in flight may take when the gateway stops.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// How long to wait after the system refused to accept, for example without free files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves a TCP listener until the app is shut down.
pub async fn serve_tcp(listener: TcpListener, app: Arc<App>) {
    let is_loopback = listener
        .local_addr()
        .is_ok_and(|address| address.ip().is_loopback());
    let reach = if is_loopback {
        Reach::Loopback
    } else {
        Reach::Network
    };
    let accept = async || {
        let (stream, _) = listener.accept().await?;
        // Answers are small and whole; waiting to fill a packet would only delay them.
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    serve(accept, app, reach).await;
}

/// Serves the local socket until the app is shut down.
pub async fn serve_socket(listener: UnixListener, app: Arc<App>) {
    let accept = async || listener.accept().await.map(|(stream, _)| stream);
    serve(accept, app, Reach::Socket).await;
}

async fn serve<S>(accept: impl AsyncFn() -> std::io::Result<S>, app: Arc<App>, reach: Reach)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = router(&app, reach);
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let connections = TaskTracker::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            break;
        };
        let stream = tokio::select! {
            () = app.shutdown.cancelled() => break,
            accepted = accept() => match accepted {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let service = TowerToHyperService::new(router.clone());
        let shutdown = app.shutdown.clone();
        connections.spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                // A client that sends garbage or goes away is its own problem.
                _ = connection.as_mut() => {}
                () = shutdown.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = tokio::time::timeout(DRAIN_TIME, connection).await;
                }
            }
            drop(place);
        });
    }
    connections.close();
    connections.wait().await;
}
