//! Small HTTP servers in the process of a test.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// What such a server answers.
pub type WebResponse = Response<Stream>;

/// A server on a free port; it stops taking connections when dropped.
#[derive(Debug)]
pub struct WebServer {
    /// Where it listens.
    pub address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

impl WebServer {
    /// Starts a server that answers every request with this function.
    pub async fn start<F, T>(answer: F) -> Self
    where
        F: Fn(Request<Incoming>) -> T + Clone + Send + 'static,
        T: Future<Output = io::Result<WebResponse>> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("the server has an address");
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(socket), service_fn(answer.clone()));
                // A client that goes away in the middle is none of the test's concern.
                tokio::spawn(connection);
            }
        });
        Self {
            address,
            accepting: Some(accepting),
        }
    }

    /// Lets it run until the end of the runtime; its address.
    pub fn run_on(mut self) -> SocketAddr {
        self.accepting = None;
        self.address
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

/// A body that is sent piece by piece until its sender is dropped.
#[derive(Debug)]
pub struct Stream(mpsc::Receiver<Bytes>);

impl Stream {
    /// A body, and the sender of its pieces.
    pub fn open() -> (mpsc::Sender<Bytes>, Self) {
        let (sender, receiver) = mpsc::channel(8);
        (sender, Self(receiver))
    }

    /// A body of one piece.
    pub fn whole(text: &str) -> Self {
        let (sender, stream) = Self::open();
        sender
            .try_send(Bytes::from(text.to_owned()))
            .expect("there is room");
        stream
    }
}

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(context)
            .map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// A message as an event.
pub fn event(message: &str) -> Bytes {
    Bytes::from(format!("event: message\ndata: {message}\n\n"))
}

/// An answer without a body.
pub fn plain(status: StatusCode) -> WebResponse {
    let mut answer = Response::new(Stream::whole(""));
    *answer.status_mut() = status;
    answer
}

/// An answer that is JSON.
pub fn json_answer(body: Stream) -> WebResponse {
    let answer = Response::builder().header("content-type", "application/json");
    answer.body(body).expect("the header is valid")
}

/// An answer that is a stream of events.
pub fn events(body: Stream) -> WebResponse {
    let answer = Response::builder().header("content-type", "text/event-stream");
    answer.body(body).expect("the header is valid")
}
