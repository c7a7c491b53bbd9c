//! Probe that finds out whether a server has sessions, by sending it `server/discover`.
//!
//! Servers with sessions do not know the request. Most refuse it, some say nothing, some end over it,
//! and one that is still starting says nothing either. A program is started once wherever that
//! is enough: a probe in vain is followed by the greeting with a session on the same connection, and one that is busy
//! starting is waited for.

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
    Session {
        greeting: Greeting,
        /// Protocol to speak the next time.
        next_time: Protocol,
    },
    /// Protocol to speak on another connection: this one is of no more use.
    Elsewhere {
        protocol: Protocol,
        /// Whether the server said so. Neither silence nor a connection that breaks off says anything of the next time.
        is_said: bool,
    },
    /// Server not there to be probed.
    Unreachable(CallError),
}

/// Probes a server over HTTP, at the other end of a new connection without sessions; waits so long where it is silent.
pub(crate) async fn probe(
    connection: &UpstreamConnection,
    silence: Duration,
    deadline: Instant,
) -> ProbeOutcome {
    let until = deadline.min(Instant::now() + silence);
    match timeout_at(until, connection.discover(deadline)).await {
        Ok(Err(error @ CallError::Disconnected { sent: false, .. })) => {
            ProbeOutcome::Unreachable(error)
        }
        Ok(Err(CallError::Disconnected { .. } | CallError::Timeout { .. })) | Err(_) => {
            ProbeOutcome::Elsewhere {
                protocol: Protocol::Session,
                is_said: false,
            }
        }
        Ok(response) => judge(&response),
    }
}

/// Probes a program. `silent` ends when it has shown no sign of life for a while, or was busy for long; `second_wait` is
/// how long the second of two responses may take after the first.
pub(crate) async fn probe_program(
    connection: &UpstreamConnection,
    silent: impl Future<Output = ()>,
    second_wait: Duration,
    deadline: Instant,
) -> ProbeOutcome {
    let session = connection.in_session();
    let mut discovery = pin!(connection.discover(deadline));
    let early = tokio::select! {
        biased;
        response = &mut discovery => Some(response),
        () = silent => None,
    };
    if let Some(response) = early {
        return match judge(&response) {
            // The server understood that it was asked something.
            ProbeOutcome::Elsewhere {
                protocol: Protocol::Session,
                ..
            } if matches!(response, Ok(_) | Err(CallError::Rpc(_))) => {
                settled(session.greet(deadline).await)
            }
            judged => judged,
        };
    }
    // It is still starting and waits for something itself, or ignores what it does not know. The greeting with a session
    // goes out as well, and what is answered shows which of the two it is.
    let mut greeting = pin!(session.greet(deadline));
    tokio::select! {
        biased;
        response = &mut discovery => match judge(&response) {
            ProbeOutcome::Elsewhere { protocol: Protocol::Session, .. } => settled(greeting.await),
            ProbeOutcome::Stateless(found) => {
                both_read(found, timeout(second_wait, greeting).await.ok())
            }
            judged => judged,
        },
        greeted = &mut greeting => match greeted {
            Ok(greeting) => {
                let late = timeout(second_wait, discovery).await;
                let judged = late.map(|response| judge(&response));
                let is_stateless =
                    matches!(judged, Ok(ProbeOutcome::Stateless(_) | ProbeOutcome::Elsewhere { protocol: Protocol::Stateless, .. }));
                let next_time = if is_stateless { Protocol::Stateless } else { Protocol::Session };
                ProbeOutcome::Session { greeting, next_time }
            }
            Err(error) => match judge(&discovery.await) {
                ProbeOutcome::Stateless(found) => both_read(found, Some(Err(error))),
                judged => judged,
            },
        },
    }
}

/// Outcome where a server without sessions has read the greeting with one as well: it is not started again for that.
fn both_read(found: Greeting, greeted: Option<Result<Greeting, CallError>>) -> ProbeOutcome {
    match greeted {
        // It refused the greeting, or ignores what it does not know.
        Some(Err(CallError::Rpc(_))) | None => ProbeOutcome::Stateless(found),
        // It speaks both, and the session is open now. The next time it is spoken to without one.
        Some(Ok(greeting)) => ProbeOutcome::Session {
            greeting,
            next_time: Protocol::Stateless,
        },
        Some(Err(_)) => said(Protocol::Stateless),
    }
}

/// Outcome of a greeting after a probe: one that fails on a connection on which something else was
/// said first may work on a new one.
fn settled(greeted: Result<Greeting, CallError>) -> ProbeOutcome {
    match greeted {
        Ok(greeting) => ProbeOutcome::Session {
            greeting,
            next_time: Protocol::Session,
        },
        Err(_) => said(Protocol::Session),
    }
}

fn said(protocol: Protocol) -> ProbeOutcome {
    ProbeOutcome::Elsewhere {
        protocol,
        is_said: true,
    }
}

/// Outcome that the response to `server/discover` stands for. Whatever says nothing of itself is greeted elsewhere.
fn judge(response: &Result<Json, CallError>) -> ProbeOutcome {
    match response {
        Ok(result) => match read_discovery(result) {
            Ok(greeting) => ProbeOutcome::Stateless(greeting),
            Err(_) => said(Protocol::Session),
        },
        Err(CallError::Rpc(error))
            if CODES.contains(&error.code)
                && !(error.code == UNSUPPORTED_REVISION && names_sessions_only(error)) =>
        {
            said(Protocol::Stateless)
        }
        Err(_) => said(Protocol::Session),
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
                ProbeOutcome::Stateless(_)
                    | ProbeOutcome::Elsewhere {
                        protocol: Protocol::Stateless,
                        ..
                    }
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
