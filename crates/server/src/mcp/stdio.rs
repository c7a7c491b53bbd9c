//! MCP over standard input and output: one message a line.
//!
//! The adapter reads lines, keeps what is under way, and writes lines. What answers them is a
//! [`ClientConnection`]: the gateway in this process, or one that runs already.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use mcpproxy_gateway::tokens::Admission;
use mcpproxy_gateway::{Failure, Gateway};
use mcpproxy_policy::Caller;
use mcpproxy_wire::json::on_one_line;
use mcpproxy_wire::rpc::{INVALID_REQUEST, RpcError, error_response};
use mcpproxy_wire::{Method, Protocol, RequestId, method};
use serde_json::json;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::batch;
use super::lines::{self, InputLine};
use crate::access::caller;
use crate::exchange::Exchange;
use crate::exchange::change_feed::ChangeFeed;
use crate::exchange::dispatch::{receive, response};
use crate::exchange::endpoint::Endpoint;
use crate::exchange::in_flight::{InFlight, InFlightEntry};
use crate::exchange::reply::{Delivery, MessageStream, Outbound, Reply, WAITING_MESSAGES};
use crate::exchange::request::{Incoming, Request, RequestMessage, decode};
use crate::exchange::session::Session;

/// Most messages of one client that are answered at a time; then reading pauses.
const MOST_IN_FLIGHT: usize = 256;

/// Lines to the client, each a whole message.
pub type LineSender = mpsc::Sender<String>;

/// Connection that answers the messages of one stdio client.
///
/// Each method does in its body what has to happen in the order of the lines, and in the future it
/// returns all that may take time.
pub trait ClientConnection: Send + Sync + 'static {
    /// Answers a request. `line` is its whole message.
    fn request(&self, request: RequestMessage, line: Bytes) -> BoxFuture<'static, Reply>;

    /// Answers a batch.
    fn batch(&self, line: Bytes) -> BoxFuture<'static, Option<String>>;

    /// Takes a notification, or the response to a client request.
    fn receive(&self, message: Incoming, line: Bytes) -> BoxFuture<'static, ()>;

    /// Ends what is still open, after the input has ended.
    fn close(&self) -> BoxFuture<'static, ()>;
}

/// Admission of the client of this process, asked for with each request: its token may be revoked meanwhile.
pub type AdmitClient = Box<dyn Fn() -> Result<Admission, Failure> + Send + Sync>;

/// Serves one client from the gateway in this process, until its input ends.
pub fn serve<'a>(
    gateway: Arc<Gateway>,
    admit: AdmitClient,
    input: impl AsyncBufRead + Unpin + Send + 'a,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> BoxFuture<'a, std::io::Result<()>> {
    serve_through(input, output, |lines, in_flight, closing| {
        LocalConnection::new(gateway, admit, lines, in_flight.clone(), closing)
    })
}

/// Serves one client through a connection until its input ends; then answers what is still open.
/// The connection is given where lines to the client go, the requests under way, which the client can
/// cancel, and what is cancelled when the input ends.
pub fn serve_through<'a, C: ClientConnection>(
    input: impl AsyncBufRead + Unpin + Send + 'a,
    output: impl AsyncWrite + Unpin + Send + 'static,
    connect: impl FnOnce(LineSender, &InFlight, CancellationToken) -> C,
) -> BoxFuture<'a, std::io::Result<()>> {
    let (lines_out, waiting) = mpsc::channel(WAITING_MESSAGES);
    let closing = CancellationToken::new();
    let in_flight = InFlight::default();
    let connection = connect(lines_out.clone(), &in_flight, closing.clone());
    serve_client(ServedClient {
        input: Box::new(input),
        output: Box::new(output),
        connection: Box::new(connection),
        lines_out,
        waiting,
        in_flight,
        closing,
    })
}

/// Client of this process, with streams and a connection of any type.
struct ServedClient<'a> {
    input: Box<dyn AsyncBufRead + Unpin + Send + 'a>,
    output: Box<dyn AsyncWrite + Unpin + Send>,
    connection: Box<dyn ClientConnection>,
    lines_out: LineSender,
    /// The other end of `lines_out`.
    waiting: mpsc::Receiver<String>,
    in_flight: InFlight,
    closing: CancellationToken,
}

/// Boxed here, so that nobody who serves a client compiles the way of a call again.
fn serve_client(client: ServedClient<'_>) -> BoxFuture<'_, std::io::Result<()>> {
    Box::pin(serve_lines(client))
}

async fn serve_lines(client: ServedClient<'_>) -> std::io::Result<()> {
    let ServedClient {
        mut input,
        output,
        connection,
        lines_out,
        waiting,
        in_flight,
        closing,
    } = client;
    let writer = tokio::spawn(write_lines(output, waiting));
    let answering = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MOST_IN_FLIGHT));
    while let Some(line) = lines::next(&mut input).await? {
        let line = match line {
            InputLine::Message(line) => Bytes::from(line),
            InputLine::TooLong => {
                let error = RpcError::new(INVALID_REQUEST, "The message is too large");
                send(&lines_out, error_response(None, &error)).await;
                continue;
            }
        };
        let answer = if batch::is_batch(&line) {
            let answers = connection.batch(line);
            let lines_out = lines_out.clone();
            let write = async move {
                if let Some(answers) = answers.await {
                    send(&lines_out, answers).await;
                }
            };
            Box::pin(write) as BoxFuture<'static, ()>
        } else {
            match decode(&line) {
                Ok(Incoming::Request(request)) => {
                    let is_initialize = request.protocol() == Some(Protocol::Session);
                    // Entered here and not in its task: what cancels it may be the next line.
                    let (id, entry) = (request.id.clone(), in_flight.enter(&request.id));
                    let reply = connection.request(request, line);
                    let answer = write_reply(lines_out.clone(), id, entry, reply);
                    if is_initialize {
                        // What follows belongs to the session that it opens, so it has to wait.
                        answer.await;
                        continue;
                    }
                    Box::pin(answer)
                }
                Ok(Incoming::Notification { method, params }) if method == method::CANCELLED => {
                    in_flight.cancel(&params);
                    continue;
                }
                // It takes no place of a request: all requests may be waiting for it.
                Ok(message @ Incoming::Response { .. }) => {
                    connection.receive(message, line).await;
                    continue;
                }
                Ok(message) => connection.receive(message, line),
                Err(answer) => {
                    send(&lines_out, answer).await;
                    continue;
                }
            }
        };
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            break;
        };
        // Each message has its own task, so a slow call does not hold up the next.
        answering.spawn(async move {
            answer.await;
            drop(place);
        });
    }
    closing.cancel();
    answering.close();
    answering.wait().await;
    connection.close().await;
    drop((connection, lines_out));
    writer.await.map_err(std::io::Error::other)?
}

/// Writes the messages and the response of a request; nothing more once it was cancelled.
async fn write_reply(
    lines: LineSender,
    id: RequestId,
    entry: InFlightEntry,
    reply: BoxFuture<'static, Reply>,
) {
    let written = async {
        let MessageStream {
            mut messages,
            driver,
        } = match reply.await {
            Reply::Result(result) => return send(&lines, response(&id, result)).await,
            Reply::Opened(opened) => {
                let result = Ok(opened.result.into());
                return send(&lines, response(&id, result)).await;
            }
            Reply::Messages(stream) => stream,
        };
        let write = async {
            while let Some(message) = messages.recv().await {
                let line = match message {
                    Outbound::Message(message) => message,
                    Outbound::Result(result) => response(&id, result),
                };
                send(&lines, line).await;
            }
        };
        match driver {
            Some(driver) => drop(tokio::join!(driver, write)),
            None => write.await,
        }
    };
    // Nothing is owed to whoever cancelled it.
    entry.unless_cancelled(written).await;
}

async fn send(lines: &LineSender, line: String) {
    // The writer only ends when nobody reads; then nobody waits either.
    let _ = lines.send(line).await;
}

async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut waiting: mpsc::Receiver<String>,
) -> std::io::Result<()> {
    while let Some(message) = waiting.recv().await {
        // What an upstream sent keeps its bytes, but here a line break would end the message.
        output.write_all(on_one_line(&message).as_bytes()).await?;
        output.write_all(b"\n").await?;
        output.flush().await?;
    }
    Ok(())
}

/// Connection of one client to the gateway in this process.
///
/// The first request decides which protocol the client speaks, but every message is still taken
/// for what it says of itself, so that a client can try one protocol and fall back to the other.
struct LocalConnection {
    exchange: Exchange,
    admit: AdmitClient,
    in_flight: InFlight,
    lines: LineSender,
    state: Arc<Mutex<LocalState>>,
}

/// State of a client of this process, at one line of its input.
struct LocalState {
    session: Arc<Session>,
    /// Protocol that the client chose.
    chosen: Option<Protocol>,
}

impl LocalConnection {
    fn new(
        gateway: Arc<Gateway>,
        admit: AdmitClient,
        lines: LineSender,
        in_flight: InFlight,
        closing: CancellationToken,
    ) -> Self {
        let ended = closing.child_token();
        let session = Session::unopened(Endpoint::Menu, ChangeFeed::silent(), ended);
        let (session, chosen) = (Arc::new(session), None);
        Self {
            exchange: Exchange {
                sessions_end: Some(closing.clone()),
                ..Exchange::new(gateway, closing)
            },
            admit,
            in_flight,
            lines,
            state: Arc::new(Mutex::new(LocalState { session, chosen })),
        }
    }

    /// Request with its protocol and caller.
    fn identify(&self, message: RequestMessage) -> Result<Request, RpcError> {
        let Admission { rights, ended } = self.admission()?;
        let session = Arc::clone(&self.state().session);
        let protocol = self.protocol_of(&message);
        let (caller, session) = match protocol {
            Protocol::Session if message.method == Method::Initialize => {
                let caller = Caller {
                    rights,
                    ..Caller::default()
                };
                (Arc::new(caller), None)
            }
            Protocol::Session if session.caller.rights != rights => return Err(other_rights()),
            Protocol::Session => {
                let params = &message.params;
                let caller = caller::in_session(&session.caller, &HeaderMap::new(), params);
                (caller, Some(session))
            }
            Protocol::Stateless => {
                let params = &message.params;
                params.check_stateless()?;
                let caller = caller::stateless(&HeaderMap::new(), params, rights, None);
                (caller, None)
            }
        };
        Ok(message.into_request(protocol, &Endpoint::Menu, caller, session, ended))
    }

    /// Admission of the client at this moment.
    fn admission(&self) -> Result<Admission, RpcError> {
        (self.admit)().map_err(|failure| RpcError {
            code: INVALID_REQUEST,
            message: failure.message.clone(),
            data: Some(json!({ "error": failure.to_json(Uuid::now_v7()) })),
        })
    }

    fn protocol_of(&self, message: &RequestMessage) -> Protocol {
        let mut state = self.state();
        let said = message.protocol();
        if said == Some(Protocol::Stateless) && message.method != Method::ServerDiscover {
            // A client that asks who is there chooses nothing by it.
            state.chosen.get_or_insert(Protocol::Stateless);
        }
        let by_method = if message.has_stateless_method() {
            Protocol::Stateless
        } else {
            Protocol::Session
        };
        said.or(state.chosen).unwrap_or(by_method)
    }

    fn state(&self) -> MutexGuard<'_, LocalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientConnection for LocalConnection {
    fn request(&self, message: RequestMessage, _: Bytes) -> BoxFuture<'static, Reply> {
        let request = match self.identify(message) {
            Ok(request) => request,
            Err(error) => return Box::pin(std::future::ready(Reply::Result(Err(error)))),
        };
        let (exchange, lines) = (self.exchange.clone(), self.lines.clone());
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            let reply = exchange.dispatch(request, Delivery::Stream).await;
            if let Reply::Opened(opened) = &reply {
                begin(&state, Arc::clone(&opened.session), lines);
            }
            reply
        })
    }

    fn batch(&self, line: Bytes) -> BoxFuture<'static, Option<String>> {
        let (exchange, in_flight) = (self.exchange.clone(), self.in_flight.clone());
        let session = Arc::clone(&self.state().session);
        let admission = self.admission().and_then(|admission| {
            let is_same = admission.rights == session.caller.rights;
            is_same.then_some(()).ok_or_else(other_rights)
        });
        Box::pin(async move {
            if let Err(error) = admission {
                return Some(error_response(None, &error));
            }
            if !session.revision.has_batches() {
                // Decoded as one message, it says what is wrong with a batch.
                return decode(&line).err();
            }
            let headers = &HeaderMap::new();
            let answered = batch::answer(&exchange, &session, &in_flight, headers, &line).await;
            answered.unwrap_or_else(|error| Some(error_response(None, &error)))
        })
    }

    fn receive(&self, message: Incoming, _: Bytes) -> BoxFuture<'static, ()> {
        receive(&self.state().session, &self.in_flight, message);
        Box::pin(std::future::ready(()))
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let suspended = Arc::clone(&self.exchange.suspended);
        Box::pin(async move { suspended.ended().await })
    }
}

/// Error of a session whose client has other rights than when it was opened.
fn other_rights() -> RpcError {
    let message = "The rights of this client have changed: send initialize to open another session";
    RpcError::new(INVALID_REQUEST, message)
}

/// Begins a session in the place of the one before, and writes its changes until it ends.
fn begin(state: &Mutex<LocalState>, session: Arc<Session>, lines: LineSender) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.session.ended.cancel();
    state.session = Arc::clone(&session);
    state.chosen = Some(Protocol::Session);
    drop(state);
    tokio::spawn(async move {
        loop {
            let change = tokio::select! {
                () = session.ended.cancelled() => return,
                change = session.changes.next() => change,
            };
            if lines.send(change.in_session()).await.is_err() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_is_one_line_whatever_an_upstream_sent() {
        let (lines, waiting) = mpsc::channel(1);
        let (output, mut read) = tokio::io::duplex(1_000);
        let writer = tokio::spawn(write_lines(output, waiting));
        lines
            .send("{\r\n \"a\": [\n1]\n}".to_owned())
            .await
            .unwrap();
        drop(lines);
        writer.await.unwrap().unwrap();
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut read, &mut text)
            .await
            .unwrap();
        assert_eq!(text, "{   \"a\": [ 1] }\n");
    }
}
