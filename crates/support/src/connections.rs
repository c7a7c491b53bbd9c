//! HTTP/1 connections of a listener: accepted up to a bound, served until the shutdown, with bounds on every wait.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Time that a client has to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// Pause after the system refused to accept, for example without free files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Bounds on the connections of a listener, and the end of all of them.
#[derive(Debug, Clone)]
pub struct Connections {
    /// Most connections at a time; more wait to be accepted.
    pub most: usize,
    /// Time that requests in flight have after the shutdown.
    pub drain_time: Duration,
    /// The shutdown: nothing is accepted after it.
    pub shutdown: CancellationToken,
}

impl Connections {
    /// Accepts connections until the shutdown. Each holds its place until it is over.
    pub async fn accept_all<S, A: Future<Output = io::Result<S>>>(
        &self,
        accept: impl Fn() -> A,
        mut handle: impl FnMut(S, OwnedSemaphorePermit),
    ) {
        let places = Arc::new(Semaphore::new(self.most));
        loop {
            let accepting = async {
                let place = Arc::clone(&places).acquire_owned().await;
                Ok((place.map_err(io::Error::other)?, accept().await?))
            };
            // The shutdown does not wait for a free place either.
            let accepted: io::Result<_> = tokio::select! {
                () = self.shutdown.cancelled() => return,
                accepted = accepting => accepted,
            };
            match accepted {
                Ok((place, stream)) => handle(stream, place),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Accepts connections until the shutdown, each served by a task of its own, and waits for the last of them. What
    /// `accept` owns is dropped before that.
    pub async fn serve_all<S, A, F>(&self, accept: impl Fn() -> A, serve: impl Fn(S) -> F)
    where
        A: Future<Output = io::Result<S>>,
        F: Future<Output = ()> + Send + 'static,
    {
        let tasks = TaskTracker::new();
        self.accept_all(accept, |stream, place| {
            let serving = serve(stream);
            tasks.spawn(async move {
                serving.await;
                drop(place);
            });
        })
        .await;
        tasks.close();
        tasks.wait().await;
    }

    /// Serves one connection until the client is done or the shutdown. A client that goes away while it waits takes
    /// its request with it.
    pub async fn serve_one<S, A, B>(self, stream: S, answer: A)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        A: HttpService<Incoming, ResBody = B>,
        A::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        B: Body + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .serve_connection(TokioIo::new(stream), answer);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            // A client that sends garbage or goes away is its own problem.
            _ = connection.as_mut() => {}
            () = self.shutdown.cancelled() => {
                connection.as_mut().graceful_shutdown();
                let _ = tokio::time::timeout(self.drain_time, connection).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_shutdown_does_not_wait_for_a_free_place() {
        let connections = Connections {
            most: 1,
            drain_time: Duration::ZERO,
            shutdown: CancellationToken::new(),
        };
        let (held, mut places) = tokio::sync::mpsc::unbounded_channel();
        let accept = || std::future::ready(Ok(()));
        let accepting = connections.accept_all(accept, |(), place| held.send(place).unwrap());
        let stopping = async {
            let only_place = places.recv().await;
            connections.shutdown.cancel();
            only_place
        };
        let both = async { tokio::join!(accepting, stopping) };
        let ended = tokio::time::timeout(Duration::from_secs(10), both).await;
        assert!(ended.is_ok(), "the only place was never free again");
    }
}
