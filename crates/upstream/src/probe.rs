//! Finding out whether a server has sessions, by asking it.
//!
//! Old servers do not know the question. Most refuse it, some say nothing, some end over it,
//! and one that is still starting says nothing either. A program is started once wherever that
//! is enough: what was asked in vain is followed by the old greeting on the same connection.

use std::pin::pin;
use std::time::Duration;

use mcpproxy_wire::Protocol;
use tokio::time::{Instant, timeout, timeout_at};

use crate::CallError;
use crate::connection::{Connection, Greeting};
use crate::modern::{Verdict, judge};
use crate::pending::Answer;

/// What came of the question.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The server has no sessions. The connection goes on.
    Stateless(Greeting),
    /// The server has sessions, and one was opened on this connection.
    Session(Greeting),
    /// The server speaks this, on another connection: this one is of no more use.
    Elsewhere(Protocol),
    /// The server was not there to be asked.
    Unreachable(CallError),
}

/// How a server is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    /// Our version, as servers are told.
    pub(crate) version: &'a str,
    /// How long silence is waited for.
    pub(crate) patience: Duration,
    /// When the server has to have started.
    pub(crate) deadline: Instant,
}

/// Asks the server at the other end of a new connection without sessions.
pub(crate) async fn ask(connection: &Connection, question: Question<'_>) -> Outcome {
    if connection.is_program() {
        return ask_program(connection, question).await;
    }
    let Question {
        patience, deadline, ..
    } = question;
    let until = deadline.min(Instant::now() + patience);
    match timeout_at(until, connection.discover(deadline)).await {
        Ok(Err(error @ CallError::Disconnected { sent: false, .. })) => Outcome::Unreachable(error),
        Ok(answer) => match judge(&answer) {
            Verdict::Stateless(Some(greeting)) => Outcome::Stateless(greeting),
            Verdict::Stateless(None) => Outcome::Elsewhere(Protocol::Stateless),
            Verdict::Session => Outcome::Elsewhere(Protocol::Session),
        },
        Err(_) => Outcome::Elsewhere(Protocol::Session),
    }
}

async fn ask_program(connection: &Connection, question: Question<'_>) -> Outcome {
    let Question {
        version,
        patience,
        deadline,
    } = question;
    let session = connection.in_session();
    let mut discovery = pin!(connection.discover(deadline));
    if let Ok(answer) = timeout(patience, &mut discovery).await {
        return match judge(&answer) {
            Verdict::Stateless(Some(greeting)) => Outcome::Stateless(greeting),
            Verdict::Stateless(None) => Outcome::Elsewhere(Protocol::Stateless),
            Verdict::Session if is_refusal(&answer) => {
                settled(session.greet(version, deadline).await)
            }
            Verdict::Session => Outcome::Elsewhere(Protocol::Session),
        };
    }
    // It is still starting, or ignores what it does not know. The old greeting goes out as
    // well, and what is answered first shows which of the two it is.
    let mut greeting = pin!(session.greet(version, deadline));
    tokio::select! {
        biased;
        answer = &mut discovery => match judge(&answer) {
            // Both were read by now, so it may have opened a session here.
            Verdict::Stateless(_) => Outcome::Elsewhere(Protocol::Stateless),
            Verdict::Session => settled(greeting.await),
        },
        greeted = &mut greeting => match greeted {
            Ok(greeting) => Outcome::Session(greeting),
            Err(_) => match judge(&discovery.await) {
                Verdict::Stateless(_) => Outcome::Elsewhere(Protocol::Stateless),
                Verdict::Session => Outcome::Elsewhere(Protocol::Session),
            },
        },
    }
}

/// Whether the server understood that it was asked something.
fn is_refusal(answer: &Answer) -> bool {
    matches!(answer, Ok(_) | Err(CallError::Rpc(_)))
}

/// A greeting that fails on a connection on which something else was said first may work on a
/// new one.
fn settled(greeted: Result<Greeting, CallError>) -> Outcome {
    match greeted {
        Ok(greeting) => Outcome::Session(greeting),
        Err(_) => Outcome::Elsewhere(Protocol::Session),
    }
}
