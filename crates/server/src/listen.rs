//! Accepting connections, with TLS where the settings have a certificate.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::service::service_fn;
use mcpproxy_support::connections::Connections;
use mcpproxy_support::tls::{ServerCertificate, server};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::either::Either;
use tokio_util::task::TaskTracker;

use crate::access::Reach;
use crate::app::App;
use crate::mcp;
use crate::routes::Entrance;

/// Most connections at a time; more wait to be accepted.
const MOST_CONNECTIONS: usize = 8_192;

/// Time that a client has to agree on TLS: three times back and forth over the slowest line. Until then it holds one of
/// the places.
const TLS_GREETING_TIME: Duration = Duration::from_secs(5);

/// Time that requests in flight have when the gateway stops.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Serves a TCP listener until the app is shut down.
///
/// Each core has its own lane, and a connection stays in the lane it was given: its requests,
/// and the connections to servers that they use, are all driven by one thread. A call then
/// wakes no other thread, which costs more than the rest of the gateway's own work.
///
/// Boxed here, as the other entrances of this crate are: an async function is compiled where it is
/// awaited, and the whole way of a call would be compiled once more in every program that serves.
pub fn serve_tcp(listener: TcpListener, app: Arc<App>) -> BoxFuture<'static, ()> {
    Box::pin(accept_tcp(listener, app))
}

async fn accept_tcp(listener: TcpListener, app: Arc<App>) {
    let reach = match listener.local_addr() {
        Ok(address) if address.ip().is_loopback() => Reach::Loopback,
        _ => Reach::Network,
    };
    let entrance = Entrance::new(&app, reach);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let lanes = (0..cores).filter_map(|number| Lane::start(number, Arc::clone(&entrance)));
    let lanes: Vec<Lane> = lanes.collect();
    let mut next = lanes.iter().cycle();
    let accept = || async {
        let (stream, peer) = listener.accept().await?;
        // Answers are small and whole; waiting to fill a packet would only delay them.
        stream.set_nodelay(true)?;
        // Its lane has its own event loop, so this one gives the connection up.
        Ok((stream.into_std()?, counted_address(peer.ip())))
    };
    let to_lane = |(stream, peer), place| {
        if let Some(lane) = next.next() {
            // The lane only ends with its sender, which is here.
            let _ = lane.connections.send((stream, peer, place));
        }
    };
    connections(&app).accept_all(accept, to_lane).await;
    let ended = tokio::task::spawn_blocking(move || lanes.into_iter().for_each(Lane::end));
    // A lane that panicked has nothing left to wait for.
    let _ = ended.await;
    end_suspended(&app).await;
}

/// Serves the local socket until the app is shut down.
pub fn serve_socket(listener: UnixListener, app: Arc<App>) -> BoxFuture<'static, ()> {
    Box::pin(accept_socket(listener, app))
}

async fn accept_socket(listener: UnixListener, app: Arc<App>) {
    let entrance = Entrance::new(&app, Reach::Socket);
    let accept = || async { listener.accept().await.map(|(stream, _)| stream) };
    let owner = rustix::process::geteuid().as_raw();
    let serve = |stream: UnixStream| {
        let entrance = Arc::clone(&entrance);
        async move {
            // The mode of the socket says the same, as long as nobody changes it.
            match stream.peer_cred() {
                Ok(peer) if may_administer(peer.uid(), owner) => {
                    serve_connection(stream, None, entrance).await;
                }
                _ => tracing::warn!("another user of this machine was turned away from the socket"),
            }
        }
    };
    connections(&app).serve_all(accept, serve).await;
    end_suspended(&app).await;
}

/// Waits for the calls that no connection waits for; what they did is on record after that.
async fn end_suspended(app: &App) {
    let _ = tokio::time::timeout(DRAIN_TIME, app.exchange.suspended.ended()).await;
}

fn connections(app: &App) -> Connections {
    Connections {
        most: MOST_CONNECTIONS,
        drain_time: DRAIN_TIME,
        shutdown: app.shutdown().clone(),
    }
}

/// Serves one connection from an address until the client is done or the shutdown.
pub fn serve_connection<S>(
    stream: S,
    peer: Option<IpAddr>,
    entrance: Arc<Entrance>,
) -> impl Future<Output = ()> + Send
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connections = connections(&entrance.app);
    let answer = move |request| mcp::http::answer(Arc::clone(&entrance), peer, request);
    connections.serve_one(stream, service_fn(answer))
}

/// Address that limits and guesses count a client by: one for all that a single machine can choose among. A program here
/// can take any address of the loopback network, and a machine elsewhere any of its IPv6 network.
fn counted_address(peer: IpAddr) -> IpAddr {
    let peer = peer.to_canonical();
    if peer.is_loopback() {
        return Ipv4Addr::LOCALHOST.into();
    }
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(peer) => Ipv6Addr::from_bits(peer.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

/// Whether a user of this machine may come through the local socket: its owner, and root, who can do anything anyway.
fn may_administer(user: u32, owner: u32) -> bool {
    user == owner || user == 0
}

/// Serves a connection as it comes, or in TLS where the settings have a certificate now.
async fn serve_client(stream: TcpStream, peer: IpAddr, entrance: Arc<Entrance>) {
    let settings = entrance.app.gateway().settings();
    let stream = match &settings.certificate {
        None => Either::Left(stream),
        Some(certificate) => {
            // Boxed, so that connections without TLS stay small.
            let greeted = Box::pin(greet(stream, certificate, &entrance.app)).await;
            let Some(stream) = greeted else {
                return;
            };
            Either::Right(stream)
        }
    };
    drop(settings);
    serve_connection(stream, Some(peer), entrance).await;
}

/// Agrees with a client on TLS, in time. Nothing for one that sends something else, or nothing at all: it is its own
/// problem, and its place is free again.
async fn greet(
    stream: TcpStream,
    certificate: &ServerCertificate,
    app: &App,
) -> Option<Box<server::TlsStream<TcpStream>>> {
    let greeting = tokio::time::timeout(TLS_GREETING_TIME, certificate.accept(stream));
    let greeted = tokio::select! {
        () = app.shutdown().cancelled() => return None,
        greeted = greeting => greeted,
    };
    let greeted = greeted.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
    greeted
        .inspect_err(|error| tracing::debug!(%error, "a client did not agree on TLS"))
        .ok()
        .map(Box::new)
}

/// Connection that was accepted, with the address it came from and its place among all of them.
type AcceptedConnection = (std::net::TcpStream, IpAddr, OwnedSemaphorePermit);

/// Thread that serves its share of the connections.
struct Lane {
    connections: mpsc::UnboundedSender<AcceptedConnection>,
    thread: std::thread::JoinHandle<()>,
}

impl Lane {
    /// Starts the thread; nothing if the system refuses one.
    fn start(number: usize, entrance: Arc<Entrance>) -> Option<Self> {
        // Unbounded, but every item holds one of a bounded number of places.
        let (connections, waiting) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .inspect_err(|error| tracing::error!(%error, "a lane could not be made"))
            .ok()?;
        let thread = std::thread::Builder::new()
            .name(format!("lane-{number}"))
            .spawn(move || runtime.block_on(serve_lane(waiting, entrance)))
            .inspect_err(|error| tracing::error!(%error, "a lane could not be started"))
            .ok()?;
        Some(Self {
            connections,
            thread,
        })
    }

    /// Waits until the last connection is done.
    fn end(self) {
        drop(self.connections);
        let _ = self.thread.join();
    }
}

async fn serve_lane(
    mut waiting: mpsc::UnboundedReceiver<AcceptedConnection>,
    entrance: Arc<Entrance>,
) {
    let connections = TaskTracker::new();
    while let Some((stream, peer, place)) = waiting.recv().await {
        match TcpStream::from_std(stream) {
            Ok(stream) => {
                let serving = serve_client(stream, peer, Arc::clone(&entrance));
                connections.spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
            Err(error) => tracing::warn!(%error, "a connection could not be taken over"),
        }
    }
    connections.close();
    connections.wait().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ones_own_choice_had_its_own_limit() {
        let counted = |text: &str| counted_address(text.parse().unwrap()).to_string();
        for here in [
            "127.0.0.1",
            "127.0.0.2",
            "127.255.1.7",
            "::1",
            "::ffff:127.0.0.9",
        ] {
            assert_eq!(counted(here), "127.0.0.1", "{here}");
        }
        assert_eq!(counted("192.0.2.7"), "192.0.2.7");
        assert_eq!(counted("::ffff:192.0.2.7"), "192.0.2.7");
        for there in ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"] {
            assert_eq!(counted(there), "2001:db8:1:2::", "{there}");
        }
        assert_eq!(counted("2001:db8:1:3::1"), "2001:db8:1:3::");
    }
}
