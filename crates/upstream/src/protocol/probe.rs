//! Probe that finds out whether a server has sessions, by sending it `server/discover`.
//!
//! Servers with sessions do not know the request. Most refuse it, some say nothing, some end over it,
//! and one that is still starting says nothing either. A program is started once wherever that
//! is enough: a probe in vain is followed by the greeting with a session on the same connection.

use std::pin::pin;
use std::time::Duration;

use mcpproxy_wire::{Json, Protocol, Revision, RpcError};
use tokio::time::{Instant, timeout, timeout_at};

use super::connection::UpstreamConnection;
use super::stateless::read_discovery;
use crate::CallError;
use crate::transport::Greeting;

/// Codes that only servers without sessions answer with: wrong headers, a missing capability, an unknown revision.
const CODES: std::ops::RangeInclusive<i64> = -32022..=-32020;
const UNSUPPORTED_REVISION: i64 = -32022;

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

/// Probes the server at the other end of a new connection without sessions; waits so long where it is silent.
pub(crate) async fn probe(
    connection: &UpstreamConnection,
    silence: Duration,
    deadline: Instant,
) -> ProbeOutcome {
    if connection.is_program() {
        return probe_program(connection, silence, deadline).await;
    }
    let until = deadline.min(Instant::now() + silence);
    match timeout_at(until, connection.discover(deadline)).await {
        Ok(Err(error @ CallError::Disconnected { sent: false, .. })) => {
            ProbeOutcome::Unreachable(error)
        }
        Ok(response) => judge(&response),
        Err(_) => ProbeOutcome::Elsewhere(Protocol::Session),
    }
}

async fn probe_program(
    connection: &UpstreamConnection,
    silence: Duration,
    deadline: Instant,
) -> ProbeOutcome {
    let session = connection.in_session();
    let mut discovery = pin!(connection.discover(deadline));
    if let Ok(response) = timeout(silence, &mut discovery).await {
        return match judge(&response) {
            // The server understood that it was asked something.
            ProbeOutcome::Elsewhere(Protocol::Session)
                if matches!(response, Ok(_) | Err(CallError::Rpc(_))) =>
            {
                settled(session.greet(deadline).await)
            }
            judged => judged,
        };
    }
    // It is still starting, or ignores what it does not know. The greeting with a session goes out as
    // well, and what is answered first shows which of the two it is.
    let mut greeting = pin!(session.greet(deadline));
    tokio::select! {
        biased;
        response = &mut discovery => match judge(&response) {
            ProbeOutcome::Elsewhere(Protocol::Session) => settled(greeting.await),
            // Both were read by now, so it may have opened a session here.
            _ => ProbeOutcome::Elsewhere(Protocol::Stateless),
        },
        greeted = &mut greeting => match greeted {
            Ok(greeting) => ProbeOutcome::Session(greeting),
            Err(_) => match judge(&discovery.await) {
                ProbeOutcome::Stateless(_) => ProbeOutcome::Elsewhere(Protocol::Stateless),
                judged => judged,
            },
        },
    }
}

/// Outcome of a greeting after a probe: one that fails on a connection on which something else was
/// said first may work on a new one.
fn settled(greeted: Result<Greeting, CallError>) -> ProbeOutcome {
    match greeted {
        Ok(greeting) => ProbeOutcome::Session(greeting),
        Err(_) => ProbeOutcome::Elsewhere(Protocol::Session),
    }
}

/// Outcome that the response to `server/discover` stands for. Whatever says nothing of itself is greeted elsewhere.
fn judge(response: &Result<Json, CallError>) -> ProbeOutcome {
    match response {
        Ok(result) => match read_discovery(result) {
            Ok(greeting) => ProbeOutcome::Stateless(greeting),
            Err(_) => ProbeOutcome::Elsewhere(Protocol::Session),
        },
        Err(CallError::Rpc(error))
            if CODES.contains(&error.code)
                && !(error.code == UNSUPPORTED_REVISION && names_sessions_only(error)) =>
        {
            ProbeOutcome::Elsewhere(Protocol::Stateless)
        }
        Err(_) => ProbeOutcome::Elsewhere(Protocol::Session),
    }
}

/// Whether the server says that it has sessions, and nothing newer that we know.
fn names_sessions_only(error: &RpcError) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
    let named = supported.and_then(serde_json::Value::as_array);
    let revisions = named.into_iter().flatten();
    let mut protocols = revisions
        .filter_map(|one| Some(Revision::parse(one.as_str()?)?.protocol()))
        .peekable();
    protocols.peek().is_some() && protocols.all(|one| one == Protocol::Session)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn json(text: &'static str) -> Json {
        Json::parse(text).expect("valid JSON")
    }

    #[test]
    fn protocols_are_told_apart() {
        let is_stateless = |response: Result<Json, CallError>| {
            matches!(
                judge(&response),
                ProbeOutcome::Stateless(_) | ProbeOutcome::Elsewhere(Protocol::Stateless)
            )
        };
        assert!(is_stateless(Ok(json(
            r#"{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{}}"#
        ))));
        for text in [
            "{}",
            "[]",
            r#"{"supportedVersions":["2099-01-01"]}"#,
            "null",
        ] {
            assert!(!is_stateless(Ok(json(text))), "{text}");
        }
        let error = |code, data: serde_json::Value| {
            let mut error = RpcError::new(code, "no");
            error.data = Some(data);
            Err(CallError::Rpc(error))
        };
        for (code, data, expected) in [
            (-32020, json!(null), true),
            (-32021, json!(null), true),
            (-32022, json!(null), true),
            (-32022, json!({ "supported": ["2026-07-28"] }), true),
            (-32022, json!({ "supported": ["2099-01-01"] }), true),
            (-32022, json!({ "supported": ["2025-11-25"] }), false),
            (-32601, json!(null), false),
            (-32602, json!(null), false),
            (-32000, json!(null), false),
        ] {
            assert_eq!(
                is_stateless(error(code, data.clone())),
                expected,
                "{code} {data}"
            );
        }
        assert!(!is_stateless(Err(CallError::unavailable("no"))));
    }
}
