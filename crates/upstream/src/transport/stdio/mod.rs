//! Transport to a program, over its standard input and output.
//!
//! Callers write through a bounded queue and wait for their own response, so a server that
//! does not read its input holds nobody beyond the deadline.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_redact::Mask;
use mcpproxy_wire::{method, rpc};
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::deadline::before_deadline;
use super::pending::{PendingRequests, SendState, UnansweredRequest};
use super::request::OutgoingRequest;
use crate::CallError;
use crate::call_error::UpstreamResponse;
use crate::client::incoming::{Announcements, IncomingAction, IncomingMessages};
use crate::process::child::{Process, StartError};
use crate::process::life_signs::LifeSigns;
use crate::process::lines::{MESSAGE_LIMIT, OutputLine, OutputLines};
use crate::process::printed::PrintedLine;
use crate::process::server_log::{LogSource, ServerLog};
use crate::process::stderr::StderrTail;
use crate::spec::StdioSpec;

/// Messages that wait to be written. Callers wait when it is full.
pub(crate) const QUEUE: usize = 64;
/// Time that the end of a process may take to follow the end of its output, and the other way round, before the
/// waiting calls are told.
const AFTERMATH: Duration = Duration::from_millis(250);
/// Time that a program has to end by itself when nobody said how long.
pub(crate) const DEFAULT_GRACE: Duration = Duration::from_secs(2);
/// Most of a line that is no message that goes to the log, and how many such lines do.
const LOGGED_CHARACTERS: usize = 200;
const LOGGED_LINES: u32 = 10;
/// Bytes read of such a line to hide secrets in it before it is cut.
const READ_OF_GARBAGE: usize = 4096;

/// Connection to a running program.
pub(crate) struct StdioConnection {
    queue: mpsc::Sender<OutgoingLine>,
    pending: Arc<PendingRequests>,
    incoming: IncomingMessages,
    /// Reason why the connection ended; closed itself when the process is gone.
    ended: watch::Receiver<Option<Arc<str>>>,
    /// Grace that the program has to end by itself, once it is to be stopped.
    stop: watch::Sender<Option<Duration>>,
    pub(crate) pid: Option<u32>,
}

/// Message on its way to the program.
#[derive(Debug)]
pub(crate) struct OutgoingLine {
    pub(crate) line: Vec<u8>,
    send_state: SendState,
}

/// Tasks of the connection.
struct StdioTasks {
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
    drain: JoinHandle<()>,
}

/// Parts that the reader of a program's output needs.
pub(crate) struct OutputReader {
    pub(crate) name: Arc<str>,
    pub(crate) mask: Mask,
    pub(crate) incoming: IncomingMessages,
    pub(crate) pending: Arc<PendingRequests>,
    /// Log for lines that are no messages.
    pub(crate) log: Option<Arc<ServerLog>>,
}

/// Readers of what a program prints.
pub(crate) struct PrintReaders {
    /// End of its standard error.
    pub(crate) tail: Arc<StderrTail>,
    pub(crate) log: Option<Arc<ServerLog>>,
    pub(crate) signs: Arc<LifeSigns>,
}

impl StdioConnection {
    /// Starts the program.
    pub(crate) fn start(
        name: &Arc<str>,
        spec: &StdioSpec,
        guard: Option<&Path>,
        mask: Mask,
        announcements: Arc<dyn Announcements>,
        printed: PrintReaders,
    ) -> Result<Self, StartError> {
        let (process, streams) = Process::start(spec, guard)?;
        let pid = process.id();
        let PrintReaders { tail, log, signs } = printed;
        signs.set_process(pid);
        let pending = Arc::new(PendingRequests::default());
        let (queue, outgoing) = mpsc::channel(QUEUE);
        let (end, ended) = watch::channel(None);
        let (stop, stop_wanted) = watch::channel(None);
        let incoming = IncomingMessages::new(announcements);
        let reader = OutputReader {
            name: Arc::clone(name),
            mask,
            incoming: incoming.clone(),
            pending: Arc::clone(&pending),
            log: log.clone(),
        };
        let errors = signs.watch(streams.errors);
        let drain = tokio::spawn(async move { tail.drain(errors, log.as_ref()).await });
        let writer = tokio::spawn(write(streams.input, streams.preamble, outgoing));
        let lines = OutputLines::new(signs.watch(streams.output), MESSAGE_LIMIT);
        let reader = tokio::spawn(reader.read(lines, queue.downgrade()));
        let tasks = StdioTasks {
            reader,
            writer,
            drain,
        };
        let waiting = Arc::clone(&pending);
        tokio::spawn(supervise(process, tasks, stop_wanted, waiting, end));
        Ok(Self {
            queue,
            pending,
            incoming,
            ended,
            stop,
            pid,
        })
    }

    /// Sends a request and waits for its response.
    pub(crate) async fn request(&self, request: OutgoingRequest<'_>) -> UpstreamResponse {
        let pending = self.pending.register();
        let mut pending = pending.map_err(|reason| CallError::disconnected(false, reason))?;
        let cancel = |message| {
            // Best effort: a full queue means that the server does not listen anyway.
            let _ = self.queue.try_send(OutgoingLine::new(message));
        };
        let send_state = &SendState::default();
        let unanswered = UnansweredRequest::new(pending.id, send_state, cancel);
        let _route = request.route(&self.incoming.routes, pending.id);
        let mut line = OutgoingLine::new(request.message(pending.id)?);
        line.send_state = send_state.clone();
        let exchange = pin!(async {
            if self.queue.send(line).await.is_ok()
                && let Some(response) = pending.response().await
            {
                return response;
            }
            let may_be_sent = !send_state.withdraw();
            Err(CallError::disconnected(may_be_sent, self.pending.closed()))
        });
        let response = before_deadline(&request, send_state, exchange).await;
        unanswered.end(response)
    }

    /// Tells the server that the session is open.
    pub(crate) async fn notify_initialized(&self, deadline: Instant) -> Result<(), CallError> {
        let message = rpc::notification(method::INITIALIZED, "{}");
        let line = OutgoingLine::new(message.into_bytes());
        match timeout_at(deadline, self.queue.send(line)).await {
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
        self.stop.send_replace(Some(grace));
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }
}

// === the connection's own tasks ===

/// Writes messages; returns when the program has closed its input.
async fn write(
    mut input: ChildStdin,
    preamble: Vec<u8>,
    mut outgoing: mpsc::Receiver<OutgoingLine>,
) {
    if input.write_all(&preamble).await.is_err() {
        return;
    }
    while let Some(message) = outgoing.recv().await {
        if message.send_state.begin() && input.write_all(&message.line).await.is_err() {
            return;
        }
    }
    // Nobody will write any more. The input stays open until the program is stopped, so
    // that its end is not taken for the program's own doing.
    std::future::pending::<()>().await;
}

/// Waits until a program is to be stopped, also because nobody is left who could say so; gives the grace that it has.
pub(crate) async fn stopping(stop: &mut watch::Receiver<Option<Duration>>) -> Duration {
    let grace = stop.wait_for(Option::is_some).await;
    grace.ok().and_then(|grace| *grace).unwrap_or(DEFAULT_GRACE)
}

/// Waits for the end of the program, or brings it about.
async fn supervise(
    mut process: Process,
    mut tasks: StdioTasks,
    mut stop: watch::Receiver<Option<Duration>>,
    pending: Arc<PendingRequests>,
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
        grace = stopping(&mut stop) => {
            // Closing its input asks a server to end.
            tasks.writer.abort();
            process.stop(grace).await;
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

impl OutputReader {
    /// Reads messages until the program closes its output.
    pub(crate) async fn read(
        self,
        mut lines: OutputLines<impl AsyncRead + Unpin>,
        queue: mpsc::WeakSender<OutgoingLine>,
    ) {
        let mut garbage = 0;
        while let Some(line) = lines.next().await {
            match line {
                OutputLine::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
                OutputLine::Whole(bytes) => match self.incoming.receive(&bytes, None) {
                    IncomingAction::Response(id, response) => {
                        self.pending.respond(id, response);
                    }
                    IncomingAction::Reply(text) => {
                        // The reader must never wait for the writer: both would stand still
                        // with a server that answers only what was read. So a reply is dropped
                        // when the queue is full.
                        send_if_room(&queue, text);
                    }
                    IncomingAction::Relay(request) => {
                        let waiting = queue.clone();
                        let reply = async move |text: String| {
                            if let Some(queue) = waiting.upgrade() {
                                let _ = queue.send(OutgoingLine::new(text.into_bytes())).await;
                            }
                        };
                        if let Err(refusal) = self.incoming.routes.relay(request, reply) {
                            send_if_room(&queue, refusal);
                        }
                    }
                    IncomingAction::Notified | IncomingAction::Nothing => {}
                    IncomingAction::Garbage(reason) => {
                        garbage += 1;
                        if let Some(log) = &self.log {
                            log.line(LogSource::Stdout, &bytes);
                        }
                        self.log_garbage(&bytes, &reason, garbage);
                    }
                },
                OutputLine::TooLong(line) => {
                    tracing::warn!(server = %self.name, limit = MESSAGE_LIMIT,
                        "skipped a message that is too long");
                    if let Some(id) = line.id() {
                        let reason = format!("the answer is longer than {MESSAGE_LIMIT} bytes");
                        self.pending.respond(id, Err(CallError::malformed(reason)));
                    }
                }
            }
        }
    }

    /// Logs what a server prints between its messages, cut and not for ever.
    fn log_garbage(&self, bytes: &[u8], reason: &str, count: u32) {
        if count > LOGGED_LINES {
            return;
        }
        let line = PrintedLine::read(bytes, READ_OF_GARBAGE, &self.mask);
        let shown = line.without_controls();
        let shown: String = shown.chars().take(LOGGED_CHARACTERS).collect();
        tracing::warn!(server = %self.name, line = shown, reason = %self.mask.apply(reason),
            "ignored a line of output that is no message");
        if count == LOGGED_LINES {
            tracing::warn!(server = %self.name, "further such lines are ignored silently");
        }
    }
}

fn send_if_room(queue: &mpsc::WeakSender<OutgoingLine>, message: String) {
    if let Some(queue) = queue.upgrade() {
        let _ = queue.try_send(OutgoingLine::new(message.into_bytes()));
    }
}

impl OutgoingLine {
    /// Line of a message that nobody takes back.
    ///
    /// JSON has line breaks between values only, where a space means the same. Inside strings they
    /// are escaped.
    fn new(mut message: Vec<u8>) -> Self {
        for byte in &mut message {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        message.push(b'\n');
        Self {
            line: message,
            send_state: SendState::default(),
        }
    }
}
