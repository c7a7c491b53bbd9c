//! The client behind a request, and the way back to it while the request is open.
//!
//! A server may tell how far it is, write log messages, and ask for what only the client has:
//! an answer of its user, its model, its folders. All of that travels as [`Event`]s to whoever serves
//! the client, and nothing here knows how that one speaks.

mod events;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_wire::Json;
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::result::with_member;
use mcpproxy_wire::revision::Era;
use mcpproxy_wire::rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub use self::events::Events;
use self::events::Queue;

/// What a client said of itself, with a request or when its session was opened.
#[derive(Debug, Clone)]
pub struct Declared {
    /// Which protocol it speaks. One without sessions takes a result that asks for input as it
    /// is; for the others its questions are asked here.
    pub era: Era,
    /// The same text for the same client: requests of one client may stand in for each other
    /// where a server does not say which one it means.
    pub who: Arc<str>,
    /// What it can be asked, as it declared it: an object.
    pub capabilities: Json,
    /// What it wants progress to be reported under, as it gave it.
    pub progress_token: Option<Json>,
    /// The least severe log messages it wants; nothing if it wants none.
    pub log_level: Option<LogLevel>,
    /// What a repeated request carries on: the members `inputResponses` and `requestState` as
    /// far as they were given, for a server that asked for them.
    pub answers: Vec<(&'static str, Json)>,
}

/// How severe a log message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What a server can ask a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Question {
    /// `elicitation/create`: something that the user knows or decides.
    Elicitation,
    /// `sampling/createMessage`: an answer of the client's model.
    Sampling,
    /// `roots/list`: the folders that the client works in.
    Roots,
}

/// What reaches a client during a request.
#[derive(Debug)]
pub enum Event {
    /// Something it is told.
    Notice(Notice),
    /// Something it is asked.
    Ask(Ask),
}

/// Something that a client is told: a notification.
#[derive(Debug)]
pub struct Notice {
    /// The method of the notification.
    pub method: &'static str,
    /// Its parameters, for this client.
    pub params: Json,
}

/// Something that a client is asked. Dropping it says that there will be no answer.
#[derive(Debug)]
pub struct Ask {
    /// What is asked.
    pub question: Question,
    /// The parameters as the server gave them.
    pub params: Json,
    answer: oneshot::Sender<Result<Json, RpcError>>,
}

/// The client behind one request.
#[derive(Debug)]
pub struct Client {
    declared: Declared,
    queue: Queue,
    asked: Mutex<Asked>,
}

/// The time a client took to answer.
#[derive(Debug, Default)]
struct Asked {
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

/// A question that is open, until this is dropped.
struct Open<'a>(&'a Client);

// === impl Client ===

impl Client {
    /// The client of one request, and what reaches it while the request is open.
    pub fn new(declared: Declared) -> (Arc<Self>, Events) {
        let client = Arc::new(Self {
            declared,
            queue: Queue::default(),
            asked: Mutex::default(),
        });
        let events = Events(Arc::clone(&client));
        (client, events)
    }

    /// What it said of itself.
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    /// Whether it can be asked this.
    pub fn can_answer(&self, question: Question) -> bool {
        let capabilities = self.declared.capabilities.fields();
        capabilities.is_some_and(|all| all.given(question.capability()).is_some())
    }

    /// Asks the client and waits for its answer, which whoever serves it limits in time.
    pub async fn ask(&self, question: Question, params: Json) -> Result<Json, RpcError> {
        self.check(question, &params)?;
        let (answer, answered) = oneshot::channel();
        let _open = self.open_question();
        let ask = Ask {
            question,
            params,
            answer,
        };
        let gone = || RpcError::new(METHOD_NOT_FOUND, "The client does not wait any more");
        if !self.queue.push(Event::Ask(ask)) {
            return Err(gone());
        }
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Tells how far the request is, if the client wants to know. A notice that finds no room is
    /// dropped: the next one says more.
    pub(crate) fn progress(&self, params: &Json) {
        let Some(token) = &self.declared.progress_token else {
            return;
        };
        let params = with_member(params, "progressToken", token);
        self.tell("notifications/progress", params);
    }

    /// Passes a log message on, if it is severe enough for the client.
    pub(crate) fn log(&self, params: &Json) {
        let level = params
            .fields()
            .and_then(|fields| LogLevel::read(fields.given("level")?));
        let is_wanted = match (self.declared.log_level, level) {
            (Some(least), Some(level)) => level >= least,
            _ => false,
        };
        if is_wanted {
            self.tell("notifications/message", params.clone());
        }
    }

    /// Tells the client something. A notice that finds no room is dropped.
    pub fn tell(&self, method: &'static str, params: Json) {
        self.queue.push(Event::Notice(Notice { method, params }));
    }

    /// How long the client has been asked in all. A server is not held to account for that time.
    pub(crate) fn asked_for(&self) -> Duration {
        let asked = self.asked();
        asked.total + asked.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn check(&self, question: Question, params: &Json) -> Result<(), RpcError> {
        if !self.can_answer(question) {
            let message = format!(
                "The client that made this request did not declare '{}'",
                question.capability()
            );
            return Err(RpcError::new(METHOD_NOT_FOUND, message));
        }
        let mode = params.fields().and_then(|fields| {
            let mode = fields.given("mode")?;
            serde_json::from_str::<String>(mode.get()).ok()
        });
        if question == Question::Elicitation
            && mode.as_deref() == Some("url")
            && !self.has_url_mode()
        {
            let message = "The client that made this request cannot be sent to a web page";
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        Ok(())
    }

    fn has_url_mode(&self) -> bool {
        let capabilities = self.declared.capabilities.fields();
        let elicitation = capabilities
            .and_then(|all| all.given(Question::Elicitation.capability()))
            .and_then(|raw| serde_json::from_str::<Fields<'_>>(raw.get()).ok());
        elicitation.is_some_and(|modes| modes.given("url").is_some())
    }

    fn open_question(&self) -> Open<'_> {
        let mut asked = self.asked();
        asked.open += 1;
        asked.since.get_or_insert_with(Instant::now);
        Open(self)
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut asked = self.0.asked();
        asked.open = asked.open.saturating_sub(1);
        if asked.open == 0
            && let Some(since) = asked.since.take()
        {
            asked.total += since.elapsed();
        }
    }
}

// === impl Ask ===

impl Ask {
    /// Gives the answer: the result as the client gave it, or why there is none.
    pub fn answer(self, answer: Result<Json, RpcError>) {
        // Nobody waits any more if the server was lost or gave the call up.
        let _ = self.answer.send(answer);
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_withdrawn(&self) -> bool {
        self.answer.is_closed()
    }

    /// Waits until nobody waits for the answer any more.
    pub async fn withdrawn(&mut self) {
        self.answer.closed().await;
    }
}

// === impl Question ===

impl Question {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Elicitation, Self::Sampling, Self::Roots];

    /// The question that a method asks.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|question| question.method() == method)
    }

    /// The method that asks it.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// The capability that a client declares to be asked it.
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }
}

// === impl LogLevel ===

impl LogLevel {
    /// All levels, the least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The level of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// The level that a JSON string names.
    pub fn read(raw: &RawValue) -> Option<Self> {
        match serde_json::from_str(raw.get()) {
            Ok(Value::String(name)) => Self::parse(&name),
            _ => None,
        }
    }

    /// Its name in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

// === impl Declared ===

impl Declared {
    /// A client that declares nothing.
    pub fn nothing(era: Era, who: impl Into<Arc<str>>) -> Self {
        Self {
            era,
            who: who.into(),
            capabilities: Json::empty_object(),
            progress_token: None,
            log_level: None,
            answers: Vec::new(),
        }
    }
}
