//! Delivery of a client's messages to the gateway, also to one that is started again meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use mcpproxy_server::stdio::{LineSender, Outbound, RequestMessage, end_of_changes};
use mcpproxy_wire::{Method, RequestId};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::messages::{StreamEnd, failed, failed_batch, pass_on, with_id, withdrawn};
use super::repeat::may_repeat;
use super::session::{ClientSession, SessionMark};
use crate::daemon::{Daemon, LostRequest, RESTART_TIME, SESSION_ID, STEP, Stream};

/// Times that one message is sent: a gateway that comes back and goes again is left alone some time.
pub(super) const MOST_TRIES: u32 = 10;

const TOO_LARGE: &str = "the gateway's answer is too large";

/// State that requests under way share.
pub(super) struct DaemonRelay {
    pub(super) daemon: Daemon,
    /// Header that shows the credential of the client, if it has one.
    credential: HeaderMap,
    pub(super) lines: LineSender,
    session: Mutex<ClientSession>,
    /// Held while the session is opened anew, which one does for all.
    pub(super) reopening: tokio::sync::Mutex<()>,
    /// Time since when the gateway is gone.
    gone_since: Mutex<Option<Instant>>,
    /// Cancelled when the input has ended.
    pub(super) closing: CancellationToken,
}

/// Place where a message belongs.
pub(super) enum SentIn {
    Session(SessionMark),
    /// No session: one of the stateless protocol, with the headers that mirror it, or one that opens a session.
    Nothing(HeaderMap),
}

/// Message on its way, and for a request where the messages before its response go.
struct DaemonMessage<'m> {
    line: Bytes,
    request: Option<(&'m RequestMessage, &'m mpsc::Sender<Outbound>)>,
    may_repeat: bool,
}

/// Outcome of sending a message once.
enum Attempt {
    /// It was answered: the last message of the answer, if that is not written yet.
    Answered(Option<String>),
    Lost(LostRequest),
    /// The gateway does not know the session, and has done nothing.
    SessionEnded,
}

/// Reason why a message is not answered by the gateway.
enum Undelivered {
    /// It was sent, and nobody knows what came of it.
    InDoubt(String),
    /// It was sent twice, which changes nothing.
    Unanswered(String),
    /// The gateway did not come back.
    Gone { was_sent: bool },
    /// The gateway does not open another session: its answer.
    Refused(Vec<u8>),
}

/// Reason why there is no other session.
pub(super) enum NotReopened {
    Lost,
    Refused(Vec<u8>),
}

// === impl DaemonRelay ===

impl DaemonRelay {
    pub(super) fn new(
        daemon: Daemon,
        credential: HeaderMap,
        lines: LineSender,
        closing: CancellationToken,
    ) -> Self {
        Self {
            daemon,
            credential,
            lines,
            session: Mutex::default(),
            reopening: tokio::sync::Mutex::default(),
            gone_since: Mutex::default(),
            closing,
        }
    }

    pub(super) fn session(&self) -> MutexGuard<'_, ClientSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request: gives the last message of the answer, if that is not written yet.
    pub(super) async fn answer(
        self: &Arc<Self>,
        request: &RequestMessage,
        sent_in: SentIn,
        line: Bytes,
        out: &mpsc::Sender<Outbound>,
    ) -> Option<String> {
        let tool = request.params.text("name");
        let message = DaemonMessage {
            line,
            request: Some((request, out)),
            may_repeat: may_repeat(request.method, tool.as_deref()),
        };
        let delivered = self.deliver(sent_in, &message).await;
        delivered.unwrap_or_else(|failure| Some(failure.answer_to(&request.id)))
    }

    /// Answers a batch. It has calls, and so it is not sent twice.
    pub(super) async fn answer_batch(
        self: &Arc<Self>,
        mark: SessionMark,
        line: Bytes,
    ) -> Option<String> {
        let message = DaemonMessage::unanswered(line.clone());
        let delivered = self.deliver(SentIn::Session(mark), &message).await;
        delivered.unwrap_or_else(|failure| failed_batch(&line, &failure.message()))
    }

    /// Sends a notification. Nobody waits for an answer, so there is nobody to tell of a failure.
    pub(super) async fn notify(self: &Arc<Self>, mark: SessionMark, line: Bytes) {
        let message = DaemonMessage::unanswered(line);
        let _ = self.deliver(SentIn::Session(mark), &message).await;
    }

    /// Sends a message that only this session has a use for.
    pub(super) async fn post_once(self: &Arc<Self>, mark: SessionMark, line: Bytes) {
        let message = DaemonMessage::unanswered(line);
        self.attempt(&message, mark.headers).await;
    }

    pub(super) async fn end_session(&self) {
        let headers = self.session().mark().headers;
        if !headers.is_empty() {
            // The gateway forgets sessions by itself; this only frees its place sooner.
            let _ = self.daemon.end_session(self.shown(headers)).await;
        }
    }

    /// Headers of a request, with the credential.
    pub(super) fn shown(&self, mut headers: HeaderMap) -> HeaderMap {
        headers.extend(self.credential.clone());
        headers
    }

    // === delivery ===

    /// Sends a message until it is answered, as often as that is safe.
    async fn deliver(
        self: &Arc<Self>,
        mut sent_in: SentIn,
        message: &DaemonMessage<'_>,
    ) -> Result<Option<String>, Undelivered> {
        let mut was_sent = false;
        for _ in 0..MOST_TRIES {
            let headers = match &sent_in {
                SentIn::Session(mark) => mark.headers.clone(),
                SentIn::Nothing(headers) => headers.clone(),
            };
            let lost = match self.attempt(message, headers).await {
                Attempt::Answered(last) => return Ok(last),
                Attempt::Lost(lost) => {
                    if lost.may_be_sent && !message.may_repeat {
                        return Err(Undelivered::InDoubt(lost.reason));
                    }
                    // A gateway that ended over a request is not asked the same thing for ever.
                    if lost.may_be_sent && was_sent {
                        return Err(Undelivered::Unanswered(lost.reason));
                    }
                    was_sent |= lost.may_be_sent;
                    true
                }
                Attempt::SessionEnded => match self.reopen(&sent_in).await {
                    Ok(mark) => {
                        sent_in = SentIn::Session(mark);
                        false
                    }
                    Err(NotReopened::Refused(answer)) => return Err(Undelivered::Refused(answer)),
                    Err(NotReopened::Lost) => true,
                },
            };
            if lost && !self.comes_back().await {
                break;
            }
        }
        Err(Undelivered::Gone { was_sent })
    }

    /// Sends a message once.
    async fn attempt(self: &Arc<Self>, message: &DaemonMessage<'_>, headers: HeaderMap) -> Attempt {
        let has_session = headers.contains_key(SESSION_ID);
        let sent = self
            .daemon
            .message(self.shown(headers), message.line.clone());
        let stream = match sent.await {
            Ok(stream) => stream,
            Err(lost) => return Attempt::Lost(lost),
        };
        *self.gone_since() = None;
        if has_session && stream.status == StatusCode::NOT_FOUND {
            return Attempt::SessionEnded;
        }
        if let Some((request, out)) = message.request
            && stream.has_events()
        {
            return self.pass_events(request, out, stream).await;
        }
        let session_id = stream.headers.get(SESSION_ID).cloned();
        let answer = match stream.whole().await {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                let id = message.request.map(|(request, _)| &request.id);
                return Attempt::Answered(match id {
                    Some(id) => Some(failed(id, TOO_LARGE)),
                    None => failed_batch(&message.line, TOO_LARGE),
                });
            }
            Err(reason) => return Attempt::Lost(LostRequest::sent(reason)),
        };
        let Some((request, _)) = message.request else {
            let answer = String::from_utf8_lossy(&answer).into_owned();
            return Attempt::Answered((!answer.is_empty()).then_some(answer));
        };
        if let Some(session_id) = session_id {
            let hello = message.line.clone();
            let mark = self.session().begin(session_id, hello, &answer);
            self.follow(mark);
        } else {
            self.session().remember(request, &message.line, &answer);
        }
        Attempt::Answered((!answer.is_empty()).then(|| with_id(&answer, &request.id)))
    }

    /// Passes the events of an answer on. A stream of changes ends with the input as well, and with the gateway; all
    /// else that was asked is still answered then.
    async fn pass_events(
        &self,
        request: &RequestMessage,
        out: &mpsc::Sender<Outbound>,
        stream: Stream,
    ) -> Attempt {
        let is_listen = request.method == Method::SubscriptionsListen;
        let send = |message| out.send(Outbound::Message(message));
        let end = tokio::select! {
            end = pass_on(stream, send) => end,
            () = self.closing.cancelled(), if is_listen => StreamEnd::Broken(Vec::new()),
        };
        match end {
            StreamEnd::Answered => Attempt::Answered(None),
            StreamEnd::TooLarge => Attempt::Answered(Some(failed(&request.id, TOO_LARGE))),
            StreamEnd::Broken(_) if is_listen => {
                Attempt::Answered(Some(end_of_changes(&request.id)))
            }
            StreamEnd::Broken(open) => {
                for id in &open {
                    let _ = send(withdrawn(id)).await;
                }
                let reason = "the gateway broke off before it answered";
                Attempt::Lost(LostRequest::sent(reason))
            }
        }
    }

    // === a gateway that is gone ===

    /// Waits until the gateway listens again, within its time; false if it does not, or if nobody waits any more.
    async fn comes_back(&self) -> bool {
        let since = *self.gone_since().get_or_insert_with(Instant::now);
        // Also one that listens is given a moment: it was lost just now.
        let looking = async {
            tokio::time::sleep(STEP).await;
            self.listens_again(STEP).await;
        };
        let waiting = tokio::time::timeout_at(since + RESTART_TIME, looking);
        let waited = self.closing.run_until_cancelled(waiting).await;
        // The last look, of a request that came when the time was over.
        matches!(waited, Some(Ok(()))) || (waited.is_some() && self.daemon.listens().await)
    }

    /// Waits until the gateway listens.
    pub(super) async fn listens_again(&self, step: Duration) {
        while !self.daemon.listens().await {
            tokio::time::sleep(step).await;
        }
        *self.gone_since() = None;
    }

    fn gone_since(&self) -> MutexGuard<'_, Option<Instant>> {
        let gone_since = self.gone_since.lock();
        gone_since.unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl DaemonMessage ===

impl DaemonMessage<'_> {
    /// Message that has one answer at most, and is sent once.
    fn unanswered(line: Bytes) -> Self {
        Self {
            line,
            request: None,
            may_repeat: false,
        }
    }
}

// === impl Undelivered ===

impl Undelivered {
    /// Answer to a request in place of the gateway's.
    fn answer_to(&self, id: &RequestId) -> String {
        match self {
            Self::Refused(answer) => with_id(answer, id),
            _ => failed(id, self.message()),
        }
    }

    fn message(&self) -> String {
        let seconds = RESTART_TIME.as_secs();
        match self {
            Self::InDoubt(reason) => format!(
                "{reason}: the request was sent, and it may have taken effect. Look before you repeat it"
            ),
            Self::Unanswered(reason) => format!("{reason}, twice: the request was not answered"),
            Self::Gone { was_sent } => {
                let done = if *was_sent { "answered" } else { "sent" };
                format!(
                    "The gateway has stopped and was not back within {seconds} seconds: the request was not {done}. \
                     `mcpproxy serve` starts it; requests work again as soon as it runs"
                )
            }
            Self::Refused(_) => "The gateway opens no other session for this client".to_owned(),
        }
    }
}
