//! Probe that finds out whether a server has sessions, by sending it `server/discover`.
//!
//! Servers with sessions do not know the request. Most refuse it, some say nothing, some end over it,
//! and one that is still starting says nothing either. A program is started once wherever that
//! is enough: a probe in vain is followed by the greeting with a session on the same connection.

use std::pin::pin;
use std::time::Duration;

use mcpproxy_wire::{Json, Protocol};
use tokio::time::{Instant, timeout, timeout_at};

use super::connection::UpstreamConnection;
use super::greeting::Greeting;
use super::stateless::{DiscoveredProtocol, judge_discovery};
use crate::CallError;

/// Outcome of a probe.
#[derive(Debug)]
pub(crate) enum ProbeOutcome {
    /// No sessions. The connection goes on.
    Stateless(Greeting),
    /// Sessions, of which one was opened on this connection.
    Session(Greeting),
    /// Protocol to speak on another connection: this one is of no more use.
    Elsewhere(Protocol),
    /// Server not there to be probed.
    Unreachable(CallError),
}

/// Limits of a probe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProbeLimits<'a> {
    /// Our version, as servers are told.
    pub(crate) version: &'a str,
    /// Time that silence is waited for.
    pub(crate) silence: Duration,
    /// Deadline for the server to have started.
    pub(crate) deadline: Instant,
}

/// Probes the server at the other end of a new connection without sessions.
pub(crate) async fn probe(
    connection: &UpstreamConnection,
    limits: ProbeLimits<'_>,
) -> ProbeOutcome {
    if connection.is_program() {
        return probe_program(connection, limits).await;
    }
    let ProbeLimits {
        silence, deadline, ..
    } = limits;
    let until = deadline.min(Instant::now() + silence);
    match timeout_at(until, connection.discover(deadline)).await {
        Ok(Err(error @ CallError::Disconnected { sent: false, .. })) => {
            ProbeOutcome::Unreachable(error)
        }
        Ok(response) => judge_discovery(&response).into(),
        Err(_) => ProbeOutcome::Elsewhere(Protocol::Session),
    }
}

async fn probe_program(connection: &UpstreamConnection, limits: ProbeLimits<'_>) -> ProbeOutcome {
    let ProbeLimits {
        version,
        silence,
        deadline,
    } = limits;
    let session = connection.in_session();
    let mut discovery = pin!(connection.discover(deadline));
    if let Ok(response) = timeout(silence, &mut discovery).await {
        return match judge_discovery(&response) {
            DiscoveredProtocol::Session if is_refusal(&response) => {
                settled(session.greet(version, deadline).await)
            }
            judged => judged.into(),
        };
    }
    // It is still starting, or ignores what it does not know. The greeting with a session goes out as
    // well, and what is answered first shows which of the two it is.
    let mut greeting = pin!(session.greet(version, deadline));
    tokio::select! {
        biased;
        response = &mut discovery => match judge_discovery(&response) {
            // Both were read by now, so it may have opened a session here.
            DiscoveredProtocol::Stateless(_) => ProbeOutcome::Elsewhere(Protocol::Stateless),
            DiscoveredProtocol::Session => settled(greeting.await),
        },
        greeted = &mut greeting => match greeted {
            Ok(greeting) => ProbeOutcome::Session(greeting),
            Err(_) => match judge_discovery(&discovery.await) {
                DiscoveredProtocol::Stateless(_) => ProbeOutcome::Elsewhere(Protocol::Stateless),
                DiscoveredProtocol::Session => ProbeOutcome::Elsewhere(Protocol::Session),
            },
        },
    }
}

impl From<DiscoveredProtocol> for ProbeOutcome {
    fn from(discovered: DiscoveredProtocol) -> Self {
        match discovered {
            DiscoveredProtocol::Stateless(Some(greeting)) => Self::Stateless(greeting),
            DiscoveredProtocol::Stateless(None) => Self::Elsewhere(Protocol::Stateless),
            DiscoveredProtocol::Session => Self::Elsewhere(Protocol::Session),
        }
    }
}

/// Whether the server understood that it was asked something.
fn is_refusal(response: &Result<Json, CallError>) -> bool {
    matches!(response, Ok(_) | Err(CallError::Rpc(_)))
}

/// Outcome of a greeting after a probe: one that fails on a connection on which something else was
/// said first may work on a new one.
fn settled(greeted: Result<Greeting, CallError>) -> ProbeOutcome {
    match greeted {
        Ok(greeting) => ProbeOutcome::Session(greeting),
        Err(_) => ProbeOutcome::Elsewhere(Protocol::Session),
    }
}
