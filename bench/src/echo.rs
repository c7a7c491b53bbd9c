//! The bare echo upstream: a small, correct MCP server over Streamable HTTP that does next to nothing.
//!
//! It speaks one protocol, so that whoever is measured with it cannot have spoken the other.
//! It is the stricter of the two yardsticks: what a call to it costs directly is what the gateway is compared with,
//! so anything slow in here would flatter the gateway. Must never do work that the protocol does not ask for.

mod messages;
mod stateless;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::protocol::Protocol;
use messages::{INVALID_REQUEST, Message, Reply, error};

/// The header that carries a session.
pub(crate) const SESSION_HEADER: &str = "mcp-session-id";
/// The header that carries the revision, in a session after it is open.
pub(crate) const VERSION_HEADER: &str = "mcp-protocol-version";
/// The header that repeats the method where there are no sessions.
pub(crate) const METHOD_HEADER: &str = "mcp-method";
/// The header that repeats the name of the tool that is called.
pub(crate) const NAME_HEADER: &str = "mcp-name";
/// The only path served.
pub(crate) const PATH: &str = "/mcp";

/// Far above any call of a benchmark, and still a bound.
const MAX_BODY: usize = 1024 * 1024;
/// More sessions than any run opens; beyond it `initialize` is refused.
const MAX_SESSIONS: usize = 16_384;
/// Accepted connections that a busy worker has not taken yet.
const HAND_OVER_QUEUE: usize = 64;
/// How long a failed accept waits before the next.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Serves `listener` from `workers` threads until the process ends, and says where.
///
/// Each worker is a thread with a runtime of its own, and connections are dealt out in turn. So every core can be
/// used, no task ever moves between threads, and sixteen connections mean eight for each of two workers instead
/// of whatever the kernel's wake-ups made of it.
pub(crate) fn start(
    protocol: Protocol,
    listener: StdListener,
    workers: usize,
) -> anyhow::Result<SocketAddr> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let state = Arc::new(State::new(protocol));
    let mut queues = Vec::new();
    for _ in 0..workers.max(1) {
        let (sender, receiver) = mpsc::channel(HAND_OVER_QUEUE);
        queues.push(sender);
        let state = Arc::clone(&state);
        spawn_runtime("echo-worker", move || work(receiver, state))?;
    }
    spawn_runtime("echo-accept", move || accept(listener, queues))?;
    Ok(address)
}

struct State {
    protocol: Protocol,
    sessions: RwLock<HashSet<Uuid>>,
    /// What the tool `store` was given last.
    kept: Mutex<Option<Box<RawValue>>>,
}

/// The two bodies this server sends: a whole answer, or an event stream that stays open.
enum EchoBody {
    Whole(Option<Bytes>),
    /// With what has to be sent on it first.
    Stream(Option<Bytes>),
}

fn spawn_runtime<F>(name: &str, future: impl FnOnce() -> F + Send + 'static) -> anyhow::Result<()>
where
    F: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("The echo upstream could not start its runtime")?;
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || runtime.block_on(async move { future().await }))
        .context("The echo upstream could not start a thread")?;
    Ok(())
}

async fn accept(listener: StdListener, queues: Vec<mpsc::Sender<StdStream>>) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    for queue in queues.iter().cycle() {
        let Ok((stream, _)) = listener.accept().await else {
            // Either the connection broke before it was accepted, which concerns nobody else, or descriptors ran
            // out, and then asking again at once would only spin.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(stream) = stream.into_std() else {
            continue;
        };
        if queue.send(stream).await.is_err() {
            return;
        }
    }
}

async fn work(mut queue: mpsc::Receiver<StdStream>, state: Arc<State>) {
    while let Some(stream) = queue.recv().await {
        let Ok(stream) = TcpStream::from_std(stream) else {
            continue;
        };
        // Without this the kernel may hold small answers back for tens of milliseconds.
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(respond(&state, request).await) }
            });
            // A client that hangs up is the normal end of a connection.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(state: &State, request: Request<Incoming>) -> Response<EchoBody> {
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND, Bytes::new());
    }
    // No browser page has any business with this server, so a request that names one is refused.
    if request.headers().contains_key(ORIGIN) {
        return plain(StatusCode::FORBIDDEN, Bytes::new());
    }
    match state.protocol {
        Protocol::Session => respond_in_session(state, request).await,
        Protocol::Stateless if request.method() == Method::POST => post(state, request).await,
        Protocol::Stateless => not_allowed("POST"),
    }
}

async fn respond_in_session(state: &State, request: Request<Incoming>) -> Response<EchoBody> {
    let revision = Protocol::Session.revision();
    if let Some(version) = request.headers().get(VERSION_HEADER)
        && version != revision
    {
        let message = format!("Unsupported MCP-Protocol-Version, expected: {revision}");
        return plain(
            StatusCode::BAD_REQUEST,
            error(None, INVALID_REQUEST, &message),
        );
    }
    if request.method() == Method::POST {
        post(state, request).await
    } else if request.method() == Method::GET {
        event_stream(state, request.headers())
    } else if request.method() == Method::DELETE {
        delete(state, request.headers())
    } else {
        not_allowed("POST, GET, DELETE")
    }
}

async fn post(state: &State, request: Request<Incoming>) -> Response<EchoBody> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        let message = format!("Request body is broken or above {MAX_BODY} bytes");
        return plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            error(None, INVALID_REQUEST, &message),
        );
    };
    let body = body.to_bytes();
    let message = match Message::parse(&body) {
        Ok(message) => message,
        Err(answer) => return plain(StatusCode::BAD_REQUEST, answer),
    };
    let reply = match state.protocol {
        Protocol::Stateless => stateless::reply(&message, &head.headers),
        Protocol::Session => {
            if !message.opens_session()
                && let Err(refusal) = state.session(&head.headers)
            {
                return refusal;
            }
            message.reply()
        }
    };
    match reply {
        Reply::Answer(answer) => plain(StatusCode::OK, answer),
        Reply::Keep(answer, text) => {
            *state.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            plain(StatusCode::OK, answer)
        }
        Reply::Open(answer) => state.open(answer),
        Reply::Refuse(status, answer) => plain(status, answer),
        Reply::Listen(first) => listening(&head.headers, first),
        Reply::Accepted => empty(StatusCode::ACCEPTED),
    }
}

fn event_stream(state: &State, headers: &HeaderMap) -> Response<EchoBody> {
    if let Err(refusal) = state.session(headers) {
        return refusal;
    }
    // A comment makes the head of the answer leave at once; after that there is nothing to say.
    listening(headers, Bytes::from_static(b": open\n\n"))
}

/// A stream that begins with `first`, for who can read streams.
fn listening(headers: &HeaderMap, first: Bytes) -> Response<EchoBody> {
    let accepts = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("text/event-stream"));
    if !accepts {
        return plain(StatusCode::NOT_ACCEPTABLE, Bytes::new());
    }
    let mut response = Response::new(EchoBody::Stream(Some(first)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

fn delete(state: &State, headers: &HeaderMap) -> Response<EchoBody> {
    match state.session(headers) {
        Err(refusal) => refusal,
        Ok(session) => {
            let mut sessions = state
                .sessions
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            sessions.remove(&session);
            empty(StatusCode::NO_CONTENT)
        }
    }
}

impl State {
    fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            sessions: RwLock::default(),
            kept: Mutex::default(),
        }
    }

    /// The session a request belongs to, or the refusal: 400 without one, 404 for one that is not open.
    #[expect(
        clippy::result_large_err,
        reason = "the refusal is the response itself and leaves at once; boxing it would help nobody"
    )]
    fn session(&self, headers: &HeaderMap) -> Result<Uuid, Response<EchoBody>> {
        let Some(value) = headers.get(SESSION_HEADER) else {
            let answer = error(
                None,
                INVALID_REQUEST,
                "Mcp-Session-Id is missing: call initialize first",
            );
            return Err(plain(StatusCode::BAD_REQUEST, answer));
        };
        Uuid::try_parse_ascii(value.as_bytes())
            .ok()
            .filter(|session| {
                let sessions = self.sessions.read();
                sessions
                    .unwrap_or_else(PoisonError::into_inner)
                    .contains(session)
            })
            .ok_or_else(|| {
                let answer = error(
                    None,
                    INVALID_REQUEST,
                    "Session is not open: call initialize again",
                );
                plain(StatusCode::NOT_FOUND, answer)
            })
    }

    fn open(&self, answer: Bytes) -> Response<EchoBody> {
        let session = Uuid::new_v4();
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MAX_SESSIONS {
            let answer = error(None, INVALID_REQUEST, "Too many open sessions");
            return plain(StatusCode::SERVICE_UNAVAILABLE, answer);
        }
        sessions.insert(session);
        let mut response = plain(StatusCode::OK, answer);
        let value = HeaderValue::from_str(&session.to_string())
            .expect("hexadecimal digits and hyphens are a valid header value");
        response.headers_mut().insert(SESSION_HEADER, value);
        response
    }
}

fn plain(status: StatusCode, json: Bytes) -> Response<EchoBody> {
    let mut response = Response::new(EchoBody::Whole(Some(json)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn not_allowed(allowed: &'static str) -> Response<EchoBody> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, Bytes::new());
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn empty(status: StatusCode) -> Response<EchoBody> {
    let mut response = Response::new(EchoBody::Whole(None));
    *response.status_mut() = status;
    response
}

impl Body for EchoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(answer) => Poll::Ready(answer.take().map(|bytes| Ok(Frame::data(bytes)))),
            // Nothing follows what is sent first. No waker is kept because nothing ever becomes ready: hyper notices
            // by itself when the client goes.
            Self::Stream(first) => match first.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                None => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(answer) => answer.as_ref().is_none_or(Bytes::is_empty),
            Self::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(answer) => {
                let length = answer.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
