//! A server spoken to over its standard input and output.
//!
//! CallRoutes write through a bounded queue and wait for their own answer, so a server that
//! does not read its input holds nobody beyond the deadline.

#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;

use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_redact::Mask;
use mcpproxy_wire::method;
use mcpproxy_wire::{json, rpc};
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::CallError;
use crate::board::Board;
use crate::client::incoming::{IncomingAction, IncomingMessages};
use crate::lines::{Line, Lines, MESSAGE_LIMIT};
use crate::patience::within;
use crate::pending::{Answer, Passage, Pending};
use crate::process::Process;
use crate::request::OutgoingRequest;
use crate::spec::StdioSpec;
use crate::stderr::Tail;

/// Messages that wait to be written. CallRoutes wait when it is full.
const QUEUE: usize = 64;
/// How long the end of a process may take to follow the end of its output, and the other
/// way round, before the waiting calls are told.
const AFTERMATH: Duration = Duration::from_millis(250);
/// How long a server has to end by itself when nobody said how long.
const DEFAULT_GRACE: Duration = Duration::from_secs(2);
/// The most of a line that is no message that goes to the log, and how many such lines do.
const LOGGED_CHARACTERS: usize = 200;
const LOGGED_LINES: u32 = 10;
/// What is read of such a line to hide secrets in it before it is cut.
const READ_OF_GARBAGE: usize = 4096;

/// A connection to a running program.
#[derive(Debug)]
pub(crate) struct Connection {
    queue: mpsc::Sender<Outgoing>,
    pending: Arc<Pending>,
    inlet: IncomingMessages,
    /// Says why the connection ended; closed itself when the process is gone.
    ended: watch::Receiver<Option<Arc<str>>>,
    stop: Mutex<Option<oneshot::Sender<Duration>>>,
    pub(crate) pid: Option<u32>,
}

/// A message on its way to the program.
#[derive(Debug)]
struct Outgoing {
    line: Vec<u8>,
    passage: Passage,
}

/// A request in the hands of its caller; dropping it unanswered takes it back.
struct InFlight<'a> {
    connection: &'a Connection,
    id: u64,
    passage: Passage,
    is_answered: bool,
}

/// The connection's own tasks.
struct Tasks {
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
    drain: JoinHandle<()>,
}

/// What the connection's own tasks share.
struct Context {
    name: Arc<str>,
    mask: Mask,
    inlet: IncomingMessages,
    pending: Arc<Pending>,
}

// === impl Connection ===

impl Connection {
    /// Starts the program; the error is for people.
    pub(crate) fn start(
        name: &Arc<str>,
        spec: &StdioSpec,
        guard: Option<&Path>,
        mask: Mask,
        board: &Arc<Board>,
        tail: &Arc<Tail>,
    ) -> Result<Self, String> {
        let (process, streams) = Process::start(spec, guard)?;
        let pid = process.id();
        let pending = Arc::new(Pending::default());
        let (queue, outgoing) = mpsc::channel(QUEUE);
        let (end, ended) = watch::channel(None);
        let (stop, stopping) = oneshot::channel();
        let inlet = IncomingMessages::new(board);
        let context = Context {
            name: Arc::clone(name),
            mask,
            inlet: inlet.clone(),
            pending: Arc::clone(&pending),
        };
        let tail = Arc::clone(tail);
        let drain = tokio::spawn(async move { tail.drain(streams.errors).await });
        let writer = tokio::spawn(write(streams.input, outgoing));
        let lines = Lines::new(streams.output, MESSAGE_LIMIT);
        let reader = tokio::spawn(read(lines, context, queue.downgrade()));
        let tasks = Tasks {
            reader,
            writer,
            drain,
        };
        let waiting = Arc::clone(&pending);
        tokio::spawn(supervise(process, tasks, stopping, waiting, end));
        Ok(Self {
            queue,
            pending,
            inlet,
            ended,
            stop: Mutex::new(Some(stop)),
            pid,
        })
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn request(&self, request: OutgoingRequest<'_>) -> Answer {
        let started = Instant::now();
        let mut ticket = self
            .pending
            .register()
            .map_err(|reason| CallError::disconnected(false, reason))?;
        let mut in_flight = InFlight {
            connection: self,
            id: ticket.id,
            passage: Passage::default(),
            is_answered: false,
        };
        let routes = &self.inlet.routes;
        let _route = request
            .is_for_caller
            .then(|| routes.enter(ticket.id, request.client));
        let message = request.message(ticket.id);
        let outgoing = Outgoing {
            line: line(json::on_one_line(&message).into_owned()),
            passage: in_flight.passage.clone(),
        };
        let exchange = pin!(async {
            self.queue.send(outgoing).await.ok()?;
            ticket.answer().await
        });
        let client = request.client.map(|client| &**client);
        match within(request.deadline, client, exchange).await {
            Ok(Some(answer)) => {
                in_flight.is_answered = true;
                answer
            }
            Ok(None) => Err(CallError::disconnected(
                !in_flight.passage.withdraw(),
                self.pending.closed(),
            )),
            Err(_) => Err(CallError::Timeout {
                after: started.elapsed(),
                sent: !in_flight.passage.withdraw(),
            }),
        }
    }

    /// Sends a notification. `params` is JSON.
    pub(crate) async fn notify(
        &self,
        method: &str,
        params: &str,
        deadline: Instant,
    ) -> Result<(), CallError> {
        let outgoing = Outgoing::of(&rpc::notification(method, params));
        match timeout_at(deadline, self.queue.send(outgoing)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(CallError::disconnected(false, self.pending.closed())),
            Err(_) => Err(CallError::unavailable("the server does not read its input")),
        }
    }

    /// Waits for the end of the connection and says why it came.
    pub(crate) async fn closed(&self) -> Arc<str> {
        let mut ended = self.ended.clone();
        let reason = ended.wait_for(Option::is_some).await;
        match reason.as_deref() {
            Ok(Some(reason)) => Arc::clone(reason),
            _ => "the connection was closed".into(),
        }
    }

    /// Ends the program; returns when it is gone.
    pub(crate) async fn stop(&self, grace: Duration) {
        let stop = self
            .stop
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(stop) = stop {
            let _ = stop.send(grace);
        }
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.is_answered || self.passage.withdraw() {
            return;
        }
        // Best effort: a full queue means that the server does not listen anyway.
        let params = format!(
            r#"{{"requestId":{},"reason":"no longer awaited"}}"#,
            self.id
        );
        let cancelled = rpc::notification(method::CANCELLED, &params);
        let _ = self.connection.queue.try_send(Outgoing::of(&cancelled));
    }
}

// === the connection's own tasks ===

/// Writes messages; returns when the program has closed its input.
async fn write(mut input: ChildStdin, mut outgoing: mpsc::Receiver<Outgoing>) {
    while let Some(message) = outgoing.recv().await {
        if message.passage.begin() && input.write_all(&message.line).await.is_err() {
            return;
        }
    }
    // Nobody will write any more. The input stays open until the program is stopped, so
    // that its end is not taken for the program's own doing.
    std::future::pending::<()>().await;
}

/// Reads messages until the program closes its output.
async fn read(
    mut lines: Lines<impl AsyncRead + Unpin>,
    context: Context,
    queue: mpsc::WeakSender<Outgoing>,
) {
    let mut garbage = 0;
    while let Some(line) = lines.next().await {
        match line {
            Line::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
            Line::Whole(bytes) => match context.inlet.receive(&bytes, None) {
                IncomingAction::Response(id, answer) => {
                    context.pending.answer(id, answer);
                }
                IncomingAction::Reply(text) => {
                    // The reader must never wait for the writer: both would stand still
                    // with a server that answers only what was read. So a reply is dropped
                    // when the queue is full.
                    send_if_room(&queue, &text);
                }
                IncomingAction::Relay(request) => {
                    let waiting = queue.clone();
                    let reply = async move |text: String| {
                        if let Some(queue) = waiting.upgrade() {
                            let _ = queue.send(Outgoing::of(&text)).await;
                        }
                    };
                    if let Err(refusal) = context.inlet.routes.relay(request, reply) {
                        send_if_room(&queue, &refusal);
                    }
                }
                IncomingAction::Nothing => {}
                IncomingAction::Garbage(reason) => {
                    garbage += 1;
                    context.log_garbage(&bytes, &reason, garbage);
                }
            },
            Line::TooLong(line) => {
                tracing::warn!(server = %context.name, limit = MESSAGE_LIMIT,
                    "skipped a message that is too long");
                if let Some(id) = line.id() {
                    let reason = format!("the answer is longer than {MESSAGE_LIMIT} bytes");
                    context
                        .pending
                        .answer(id, Err(CallError::malformed(reason)));
                }
            }
        }
    }
}

/// Waits for the end of the program, or brings it about.
async fn supervise(
    mut process: Process,
    mut tasks: Tasks,
    stopping: oneshot::Receiver<Duration>,
    pending: Arc<Pending>,
    end: watch::Sender<Option<Arc<str>>>,
) {
    let reason: Arc<str> = tokio::select! {
        reason = process.exited() => {
            // Answers written before the end are still in the pipe.
            let _ = timeout(AFTERMATH, &mut tasks.reader).await;
            reason.into()
        }
        _ = &mut tasks.reader => match timeout(AFTERMATH, process.exited()).await {
            Ok(reason) => reason.into(),
            Err(_) => "the server closed its output".into(),
        },
        _ = &mut tasks.writer => match timeout(AFTERMATH, process.exited()).await {
            Ok(reason) => reason.into(),
            Err(_) => "the server closed its input".into(),
        },
        grace = stopping => {
            // Closing its input asks a server to end.
            tasks.writer.abort();
            process.stop(grace.unwrap_or(DEFAULT_GRACE)).await;
            "the server was stopped".into()
        }
    };
    pending.close(&reason);
    // The last words explain the end, so they are there when it is told.
    let _ = timeout(AFTERMATH, &mut tasks.drain).await;
    end.send_replace(Some(reason));
    tasks.writer.abort();
    process.stop(Duration::ZERO).await;
    tasks.reader.abort();
    tasks.drain.abort();
}

impl Context {
    /// Says what a server prints between its messages, cut and not for ever.
    fn log_garbage(&self, bytes: &[u8], reason: &str, count: u32) {
        if count > LOGGED_LINES {
            return;
        }
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(READ_OF_GARBAGE)]);
        let shown: String = self
            .mask
            .apply(&text)
            .chars()
            .filter(|character| !character.is_control())
            .take(LOGGED_CHARACTERS)
            .collect();
        tracing::warn!(server = %self.name, line = shown, reason = %self.mask.apply(reason),
            "ignored a line of output that is no message");
        if count == LOGGED_LINES {
            tracing::warn!(server = %self.name, "further such lines are ignored silently");
        }
    }
}

fn send_if_room(queue: &mpsc::WeakSender<Outgoing>, message: &str) {
    if let Some(queue) = queue.upgrade() {
        let _ = queue.try_send(Outgoing::of(message));
    }
}

impl Outgoing {
    /// A message that nobody takes back.
    fn of(message: &str) -> Self {
        Self {
            line: line(json::on_one_line(message).into_owned()),
            passage: Passage::default(),
        }
    }
}

fn line(message: String) -> Vec<u8> {
    let mut line = message.into_bytes();
    line.push(b'\n');
    line
}
