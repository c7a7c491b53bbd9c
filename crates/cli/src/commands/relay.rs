//! `mcpproxy stdio` beside a running gateway: the client's messages go there, and the answers back.
//!
//! Nothing is decided here. A message that stands for itself gets the headers that repeat it, and
//! one of a session the session's id. A request that is called off loses its connection, which
//! calls it off at the gateway, whatever the protocol.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_server::in_flight::{Entered, InFlight};
use mcpproxy_server::message::{self, LISTEN, protocol_of};
use mcpproxy_server::stdio::{Line, Lines, MOST_IN_FLIGHT};
use mcpproxy_wire::Method;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::json::on_one_line;
use mcpproxy_wire::method;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, INVALID_REQUEST, RpcError, error_response};
use mcpproxy_wire::stateless::Params;
use mcpproxy_wire::{Message, header, sse};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::daemon::{Answer, Daemon, SESSION_ID, Stream};

/// Answers that wait to be written.
const WAITING_ANSWERS: usize = 64;

/// The largest message of a stream.
const EVENT_LIMIT: usize = 64 * 1024 * 1024;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
const NAME: HeaderName = HeaderName::from_static(header::NAME);

/// Serves the client until its input ends.
pub(super) async fn run(daemon: Daemon) -> std::io::Result<()> {
    let (answers, waiting) = mpsc::channel(WAITING_ANSWERS);
    let writer = tokio::spawn(write(waiting));
    let relay = Relay {
        daemon,
        answers,
        session_id: Arc::default(),
        in_flight: InFlight::default(),
        closing: CancellationToken::new(),
    };
    let calls = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MOST_IN_FLIGHT));
    let mut lines = Lines::new(BufReader::new(tokio::io::stdin()));
    while let Some(line) = lines.next().await? {
        let line = match line {
            Line::Message(line) => Bytes::from(line),
            Line::TooLong => {
                let error = RpcError::new(INVALID_REQUEST, "The message is too large");
                relay.send(error_response(None, &error)).await;
                continue;
            }
        };
        let heard = relay.hear(&line);
        match heard.kind {
            Kind::CallsOff => {}
            // What follows an initialize belongs to the session it opens, so it has to wait. An
            // answer takes no place of a request: all requests may be waiting for it.
            Kind::Initialize | Kind::Answers => relay.pass_on(&line, heard).await,
            Kind::Request | Kind::Listen | Kind::WantsNothing => {
                let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                    break;
                };
                let relay = relay.clone();
                calls.spawn(async move {
                    relay.pass_on(&line, heard).await;
                    drop(place);
                });
            }
        }
    }
    relay.closing.cancel();
    calls.close();
    calls.wait().await;
    relay.end().await;
    drop(relay);
    writer.await.map_err(std::io::Error::other)?
}

async fn write(mut waiting: mpsc::Receiver<String>) -> std::io::Result<()> {
    let mut stdout = tokio::io::stdout();
    while let Some(answer) = waiting.recv().await {
        // An upstream's line breaks would end the message here.
        stdout.write_all(on_one_line(&answer).as_bytes()).await?;
        stdout.write_all(b"\n").await?;
        stdout.flush().await?;
    }
    Ok(())
}

/// One client of the running gateway.
#[derive(Clone)]
struct Relay {
    daemon: Daemon,
    answers: mpsc::Sender<String>,
    session_id: Arc<Mutex<Option<HeaderValue>>>,
    in_flight: InFlight,
    /// Cancelled when the input has ended.
    closing: CancellationToken,
}

/// What a line is, and what it needs on its way.
struct Heard {
    kind: Kind,
    headers: HeaderMap,
    entered: Option<Entered>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Opens a session.
    Initialize,
    /// Opens a stream of messages.
    Listen,
    /// Has one answer. So has what is no message at all.
    Request,
    /// Answers what the client was asked.
    Answers,
    /// Has no answer.
    WantsNothing,
    /// Calls a request off, which is done.
    CallsOff,
}

impl Relay {
    /// Reads a line as far as it matters for passing it on.
    fn hear(&self, line: &[u8]) -> Heard {
        let mut heard = Heard {
            kind: Kind::Request,
            headers: HeaderMap::new(),
            entered: None,
        };
        heard
            .headers
            .extend(self.session_id().map(|id| (SESSION_ID, id)));
        match Message::parse(line) {
            Ok(Message::Request { id, method, params }) => {
                let params = Params::read(params);
                match protocol_of(&method, &params) {
                    Some(Protocol::Session) => heard.kind = Kind::Initialize,
                    Some(Protocol::Stateless) => heard.headers = repeated(&method, &params),
                    None => {}
                }
                if method == LISTEN {
                    heard.kind = Kind::Listen;
                }
                heard.entered = Some(self.in_flight.enter(id.text()));
            }
            Ok(Message::Notification { method, params }) => {
                heard.kind = Kind::WantsNothing;
                if method == method::CANCELLED {
                    self.in_flight.call_off(&Params::read(params));
                    heard.kind = Kind::CallsOff;
                }
            }
            Ok(Message::Response { .. }) => heard.kind = Kind::Answers,
            // The gateway says what is wrong with it.
            Err(_) => {}
        }
        heard
    }

    /// Sends a line on, and its answers back.
    async fn pass_on(&self, line: &Bytes, heard: Heard) {
        let Heard {
            kind,
            headers,
            entered,
        } = heard;
        let work = async {
            match self.daemon.message(headers, line.clone()).await {
                Ok(stream) if stream.has_events() => self.write_events(line, stream, kind).await,
                Ok(stream) => self.answer(line, stream.collect().await, kind).await,
                Err(message) => self.answer(line, Err(message), kind).await,
            }
        };
        match entered {
            // Nothing is owed to whoever called it off.
            Some(entered) => drop(entered.unless_called_off(work).await),
            None => work.await,
        }
    }

    async fn answer(&self, line: &[u8], answer: Result<Answer, String>, kind: Kind) {
        match answer {
            Ok(answer) => {
                if let Some(id) = answer.session_id {
                    *self.lock() = Some(id.clone());
                    self.hear_of_changes(id);
                }
                let wants_one = !matches!(kind, Kind::WantsNothing | Kind::Answers);
                if !answer.body.is_empty() && wants_one {
                    self.send(with_id(&answer.body, line)).await;
                }
            }
            Err(message) => {
                if let Some(id) = Message::salvage_id(line) {
                    let error = RpcError::new(INTERNAL_ERROR, message);
                    self.send(error_response(Some(id), &error)).await;
                }
            }
        }
    }

    /// Messages of a stream, each a line. A stream of changes ends with the input as well; all else
    /// that was asked is still answered then.
    async fn write_events(&self, line: &[u8], mut stream: Stream, kind: Kind) {
        let is_over = async {
            match kind {
                Kind::Listen => self.closing.cancelled().await,
                _ => std::future::pending().await,
            }
        };
        let mut is_over = std::pin::pin!(is_over);
        let mut reader = sse::Reader::new(EVENT_LIMIT);
        let mut is_answered = false;
        loop {
            let bytes = tokio::select! {
                bytes = stream.next() => bytes,
                () = &mut is_over => {
                    if let Some(id) = Message::salvage_id(line) {
                        self.send(message::ended(id)).await;
                    }
                    return;
                }
            };
            let events = match bytes {
                Ok(Some(bytes)) => reader.feed(&bytes).ok(),
                Ok(None) | Err(_) => None,
            };
            let Some(events) = events else { break };
            for event in events.into_iter().filter(|event| !event.data.is_empty()) {
                let message = Message::parse(event.data.as_bytes());
                is_answered |= matches!(message, Ok(Message::Response { .. }));
                self.send(event.data).await;
            }
        }
        if !is_answered {
            let message = "the gateway broke off before it answered".to_owned();
            self.answer(line, Err(message), kind).await;
        }
    }

    /// Passes on what a session is told without having asked, until the input ends.
    fn hear_of_changes(&self, session_id: HeaderValue) {
        let relay = self.clone();
        tokio::spawn(async move {
            let heard = async {
                if let Ok(stream) = relay.daemon.hear(session_id).await
                    && stream.has_events()
                {
                    relay.write_events(b"", stream, Kind::Request).await;
                }
            };
            tokio::select! {
                () = relay.closing.cancelled() => {}
                () = heard => {}
            }
        });
    }

    async fn end(&self) {
        if let Some(id) = self.session_id() {
            // The gateway forgets sessions by itself; this only frees its place sooner.
            let _ = self.daemon.end_session(id).await;
        }
    }

    async fn send(&self, answer: String) {
        // The writer only ends when nobody reads; then nobody waits either.
        let _ = self.answers.send(answer).await;
    }

    fn session_id(&self) -> Option<HeaderValue> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<HeaderValue>> {
        self.session_id
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The headers that repeat what a request says. What cannot be said in a header is left out, and
/// the gateway says so.
fn repeated(method: &str, params: &Params<'_>) -> HeaderMap {
    let name = match Method::parse(method) {
        Method::ResourcesRead => params.text("uri"),
        _ => params.text("name"),
    };
    let name = name.map(|name| header::encode_value(&name).into_owned());
    let revision = params.revision().map(std::borrow::Cow::into_owned);
    [
        (PROTOCOL_VERSION, revision),
        (METHOD, Some(method.to_owned())),
        (NAME, name),
    ]
    .into_iter()
    .filter_map(|(header, value)| Some((header, HeaderValue::try_from(value?).ok()?)))
    .collect()
}

/// Errors of the HTTP layer have no id; here each answer has to say what it answers.
fn with_id(answer: &[u8], request: &[u8]) -> String {
    let as_it_is = || String::from_utf8_lossy(answer).into_owned();
    let Ok(Message::Response {
        id: None,
        outcome: Err(error),
    }) = Message::parse(answer)
    else {
        return as_it_is();
    };
    match Message::salvage_id(request) {
        Some(id) => error_response(Some(id), &error),
        None => as_it_is(),
    }
}
