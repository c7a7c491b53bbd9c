//! MCP over standard input and output: one message a line.
//!
//! The first request decides which protocol the client speaks, but every message is still taken
//! for what it says of itself, so that a client can ask in one way and fall back to the other.

use std::sync::Arc;

use futures_util::future::join_all;
use http::HeaderMap;
use mcpproxy_gateway::Gateway;
use mcpproxy_policy::{Caller, Rights};
use mcpproxy_wire::Protocol;
use mcpproxy_wire::json::on_one_line;
use mcpproxy_wire::rpc::{INVALID_REQUEST, Id, RpcError, error_response};
use mcpproxy_wire::stateless::Params;
use mcpproxy_wire::{Message, Revision, batch};
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::access::Standing;
use crate::caller::introduced;
use crate::endpoint::Endpoint;
use crate::in_flight::{Entered, InFlight};
pub use crate::lines::{Line, Lines};
use crate::message::{self, Context, DISCOVER, InSession, LISTEN};
use crate::news::{self, Listener};
use crate::parked::Parked;
use crate::peer::Peer;
use crate::relay::{Conversation, Step, Told, WAITING_MESSAGES};
use crate::reply::Progress;

/// Messages that wait to be written; when the reader is slow, callers wait too.
const WAITING_ANSWERS: usize = 64;

/// The most messages of one client that are worked on at a time; then reading pauses.
pub const MOST_IN_FLIGHT: usize = 256;

/// Serves one client until its input ends; then answers what is still open.
pub async fn serve(
    gateway: Arc<Gateway>,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (answers, waiting) = mpsc::channel(WAITING_ANSWERS);
    let writer = tokio::spawn(write_lines(output, waiting));
    let calls = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MOST_IN_FLIGHT));
    let mut lines = Lines::new(input);
    let closing = CancellationToken::new();
    let mut connection = Connection {
        gateway,
        answers,
        in_flight: InFlight::default(),
        parked: Parked::new(closing.clone()),
        peer: Arc::new(Peer::new("", None, closing.clone())),
        session_over: closing.child_token(),
        closing,
        caller: Arc::default(),
        spoken: None,
    };
    while let Some(line) = lines.next().await? {
        let line = match line {
            Line::Message(line) => line,
            Line::TooLong => {
                let error = RpcError::new(INVALID_REQUEST, "The message is too large");
                connection.send(error_response(None, &error)).await;
                continue;
            }
        };
        // Entered here and not in its task: what calls it off may be the next line.
        let entered = match connection.hear(&line) {
            Heard::Whole => continue,
            Heard::Request(entered) => Some(entered),
            Heard::Other => None,
        };
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            break;
        };
        let connection = connection.clone();
        // Each message has its own task, so a slow call does not hold up the next.
        calls.spawn(async move {
            connection.answer(&line, entered).await;
            drop(place);
        });
    }
    connection.closing.cancel();
    calls.close();
    calls.wait().await;
    connection.parked.ended().await;
    drop(connection);
    writer.await.map_err(std::io::Error::other)?
}

/// What is known of the client, at one line of its input.
#[derive(Clone)]
struct Connection {
    gateway: Arc<Gateway>,
    answers: mpsc::Sender<String>,
    in_flight: InFlight,
    /// Calls whose answers asked the client something.
    parked: Arc<Parked>,
    /// The client of the session.
    peer: Arc<Peer>,
    /// Cancelled when the input has ended.
    closing: CancellationToken,
    /// Cancelled when the session ends, or another one begins.
    session_over: CancellationToken,
    caller: Arc<Caller>,
    spoken: Option<Spoken>,
}

/// What a line was, as far as the lines after it are concerned.
enum Heard {
    /// Nothing is left to do for it.
    Whole,
    /// A request, which the next line may call off.
    Request(Entered),
    /// What has to be looked at further.
    Other,
}

/// Which protocol the client chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoken {
    /// It opened a session, in this revision.
    Session(Revision),
    /// Its first request stood for itself.
    Stateless,
}

impl Connection {
    /// Takes from a line what concerns the lines after it.
    fn hear(&mut self, line: &[u8]) -> Heard {
        match Message::parse(line) {
            Ok(Message::Request { id, method, params }) => {
                let read = Params::read(params);
                match message::protocol_of(&method, &read) {
                    Some(Protocol::Session) => self.greet(params),
                    // Asking who is there chooses nothing.
                    Some(Protocol::Stateless) if method != DISCOVER => {
                        self.spoken.get_or_insert(Spoken::Stateless);
                    }
                    _ => {}
                }
                Heard::Request(self.in_flight.enter(id.text()))
            }
            Ok(Message::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    self.in_flight.call_off(&Params::read(params));
                }
                Heard::Whole
            }
            // It takes no place of a request: requests may be waiting for it.
            Ok(Message::Response { id, outcome }) => {
                self.peer.asked.answer(id, outcome);
                Heard::Whole
            }
            Err(_) => Heard::Other,
        }
    }

    /// The client that an `initialize` introduces.
    fn greet(&mut self, params: Option<&RawValue>) {
        let Ok((hello, _)) = message::hello(&Endpoint::Menu, params) else {
            return;
        };
        self.spoken = Some(Spoken::Session(Revision::negotiate(
            &hello.protocol_version,
        )));
        let session_id = Uuid::new_v4().to_string();
        let peer = Peer::new(&session_id, hello.capabilities, self.closing.clone());
        let listener = Listener::of_resources(&Endpoint::Menu, &self.gateway);
        self.peer = Arc::new(peer.who_hears(listener));
        self.session_over.cancel();
        self.session_over = self.closing.child_token();
        self.tell_of_changes();
        self.caller = Arc::new(Caller {
            session_id: Some(session_id),
            client_name: hello.name,
            client_version: hello.version,
            trace_id: None,
            rights: Rights::UseTools,
        });
    }

    /// Writes what the client of the session is told without having asked, until the session ends.
    fn tell_of_changes(&self) {
        let (peer, answers) = (Arc::clone(&self.peer), self.answers.clone());
        let over = self.session_over.clone();
        tokio::spawn(async move {
            loop {
                let news = tokio::select! {
                    () = over.cancelled() => return,
                    news = peer.listener.next() => news,
                };
                if answers.send(news.in_session()).await.is_err() {
                    return;
                }
            }
        });
    }

    async fn answer(&self, line: &[u8], entered: Option<Entered>) {
        if batch::is_list(line) {
            return self.answer_list(line).await;
        }
        match Message::parse(line) {
            Ok(Message::Request { id, method, params }) => {
                let work = self.answer_request(id, &method, params);
                match entered {
                    // Nothing is owed to whoever called it off.
                    Some(entered) => drop(entered.unless_called_off(work).await),
                    None => work.await,
                }
            }
            Ok(Message::Notification { .. } | Message::Response { .. }) => {}
            Err(error) => self.send(message::unreadable(line, &error)).await,
        }
    }

    async fn answer_request(&self, id: Id<'_>, method: &str, params: Option<&RawValue>) {
        let read = Params::read(params);
        let result = match self.protocol_of(method, &read) {
            Protocol::Session if method == "initialize" => {
                message::hello(&Endpoint::Menu, params).map(|(_, result)| result)
            }
            Protocol::Session if message::is_work(method) => {
                return self.work(id, method, &read).await;
            }
            Protocol::Session => {
                let context = self.context(&self.caller);
                context.result_in_session(&self.peer, method, &read).await
            }
            Protocol::Stateless => match read.introduce() {
                Ok(_) if method == LISTEN => return self.listen(id, &read).await,
                Ok(introduction) => {
                    let caller = introduced(introduction, &HeaderMap::new(), Standing::Agent);
                    let context = self.context(&caller);
                    if message::is_work(method) {
                        let progress = context.work_by_itself(&self.parked, method, &read, true);
                        return self.pass_on(id, progress.await).await;
                    }
                    context.result_by_itself(method, &read).await
                }
                Err(error) => Err(error),
            },
        };
        self.send(message::encode(id, result)).await;
    }

    /// A request of the session that a server works on.
    async fn work(&self, id: Id<'_>, method: &str, params: &Params<'_>) {
        let context = self.context(&self.caller);
        let mut running = context.work_in_session(&self.peer, method, params, true);
        let first = match running.next(true).await {
            Step::Done(result) => return self.pass_on(id, Progress::Done(result)).await,
            Step::Event(first) => first,
        };
        let conversation = Conversation {
            running,
            peer: Arc::clone(&self.peer),
            limit: self.gateway.settings().input_timeout,
        };
        let (out, told) = mpsc::channel(WAITING_MESSAGES);
        tokio::join!(
            conversation.hold(first, out),
            self.pass_on(id, Progress::Heard(told))
        );
    }

    /// Writes what a request comes to, and what is told before that.
    async fn pass_on(&self, id: Id<'_>, progress: Progress) {
        let mut told = match progress {
            Progress::Done(result) => return self.send(message::encode(id, result)).await,
            Progress::Heard(told) => told,
        };
        while let Some(told) = told.recv().await {
            let line = match told {
                Told::Message(message) => message,
                Told::Answer(result) => message::encode(id, result),
            };
            self.send(line).await;
        }
    }

    fn protocol_of(&self, method: &str, params: &Params<'_>) -> Protocol {
        let told = message::protocol_of(method, params);
        told.unwrap_or(match self.spoken {
            Some(Spoken::Stateless) => Protocol::Stateless,
            None if [DISCOVER, LISTEN].contains(&method) => Protocol::Stateless,
            Some(Spoken::Session(_)) | None => Protocol::Session,
        })
    }

    /// A stream of changes, which are those of resources alone, until the input ends.
    async fn listen(&self, id: Id<'_>, params: &Params<'_>) {
        match news::open(&Endpoint::Menu, &self.gateway, (id, params)).await {
            Ok(opened) => {
                self.send(opened.message).await;
                loop {
                    let news = tokio::select! {
                        () = self.closing.cancelled() => break,
                        news = opened.listener.next() => news,
                    };
                    self.send(news.on_stream(id)).await;
                }
                self.send(message::ended(id)).await;
            }
            Err(error) => self.send(message::encode(id, Err(error))).await,
        }
    }

    async fn answer_list(&self, line: &[u8]) {
        let has_lists =
            matches!(self.spoken, Some(Spoken::Session(revision)) if revision.has_batches());
        let messages = if has_lists {
            batch::split(line)
        } else {
            // It says what is wrong with a list.
            Message::parse(line).map(|_| Vec::new())
        };
        let messages = match messages {
            Ok(messages) => messages,
            Err(error) => return self.send(error_response(None, &error)).await,
        };
        let context = self.context(&self.caller);
        let session = InSession {
            in_flight: &self.in_flight,
            peer: &self.peer,
        };
        let answers = messages
            .into_iter()
            .map(|message| context.answer_in_list(session, message));
        let answers: Vec<String> = join_all(answers).await.into_iter().flatten().collect();
        if !answers.is_empty() {
            self.send(batch::join(&answers)).await;
        }
    }

    fn context<'a>(&'a self, caller: &'a Arc<Caller>) -> Context<'a> {
        Context {
            endpoint: &Endpoint::Menu,
            gateway: &self.gateway,
            caller,
        }
    }

    async fn send(&self, answer: String) {
        // The writer only ends when nobody reads; then nobody waits either.
        let _ = self.answers.send(answer).await;
    }
}

async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut waiting: mpsc::Receiver<String>,
) -> std::io::Result<()> {
    while let Some(answer) = waiting.recv().await {
        // What an upstream sent keeps its bytes, but here a line break would end the message.
        let mut line = on_one_line(&answer).into_owned();
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_one_line_whatever_an_upstream_sent() {
        let (answers, waiting) = mpsc::channel(1);
        let (output, mut read) = tokio::io::duplex(1_000);
        let writer = tokio::spawn(write_lines(output, waiting));
        answers
            .send("{\r\n \"a\": [\n1]\n}".to_owned())
            .await
            .unwrap();
        drop(answers);
        writer.await.unwrap().unwrap();
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut read, &mut text)
            .await
            .unwrap();
        assert_eq!(text, "{   \"a\": [ 1] }\n");
    }
}
