//! Meaning of a refusing status or a broken connection for the call.

use std::sync::Arc;

use http::{Response, StatusCode};
use hyper::body::Incoming;
use mcpproxy_wire::{Message, RpcError};

use super::HttpEndpoint;
use super::address;
use super::pool::SendError;
use super::response::read_body;
use crate::CallError;

/// Most that is read of a refusal.
const REFUSAL_LIMIT: usize = 64 * 1024;

impl HttpEndpoint {
    /// Error of a request that did not get through.
    pub(super) fn broken(&self, error: SendError, sent: bool) -> CallError {
        let reason: Arc<str> = match error {
            SendError::NotConnected(cause) => {
                let url = address::shown(&self.url);
                format!("it cannot be reached at {url}: {cause}").into()
            }
            SendError::Broken => "the connection broke off".into(),
        };
        // What was not even sent is tried again on another connection, so this one has to go.
        if !sent {
            self.lose(&reason, false);
        }
        CallError::Disconnected { sent, reason }
    }

    /// Error of a response whose status is no success.
    pub(super) async fn refused(&self, response: Response<Incoming>) -> CallError {
        let status = response.status();
        let error = match read_body(response.into_body(), REFUSAL_LIMIT).await {
            Ok(bytes) => error_in(&bytes),
            Err(_) => None,
        };
        let has_session = self.has_session_id() || self.event_stream.get().is_some();
        if has_session && is_expiry(status, error.as_ref()) {
            let reason: Arc<str> = "its session has expired".into();
            self.lose(&reason, true);
            // The server does not know the session, so it did nothing in it.
            return CallError::Disconnected {
                sent: false,
                reason,
            };
        }
        if status == StatusCode::UNAUTHORIZED {
            let reason: Arc<str> = unauthorized(status).into();
            self.lose(&reason, false);
            return CallError::Unavailable { reason };
        }
        explain(status, error)
    }
}

/// Whether a refusal means that the session is over.
///
/// The protocol says 404. Servers built on the examples of the TypeScript SDK say 400 and
/// name the session in the message.
fn is_expiry(status: StatusCode, error: Option<&RpcError>) -> bool {
    status == StatusCode::NOT_FOUND
        || (status == StatusCode::BAD_REQUEST
            && error.is_some_and(|error| error.message.to_ascii_lowercase().contains("session")))
}

fn explain(status: StatusCode, error: Option<RpcError>) -> CallError {
    let code = status.as_u16();
    match (code, error) {
        (300..=399, _) => CallError::unavailable(format!(
            "it redirects (HTTP {code}), which is not followed: configure the address it moved to"
        )),
        (403, None) => CallError::unavailable(unauthorized(status)),
        (429, _) => CallError::unavailable("it takes no more requests for now (HTTP 429)"),
        (_, Some(error)) => CallError::Rpc(error),
        (404 | 405 | 406 | 415, None) => {
            CallError::unavailable(format!("there is no MCP endpoint at its url (HTTP {code})"))
        }
        (400..=499, None) => {
            CallError::unavailable(format!("it refuses the request (HTTP {code})"))
        }
        (_, None) => CallError::disconnected(true, format!("it failed (HTTP {code})")),
    }
}

fn unauthorized(status: StatusCode) -> String {
    format!(
        "it refuses our credentials (HTTP {}): check the headers configured for it",
        status.as_u16()
    )
}

fn error_in(bytes: &[u8]) -> Option<RpcError> {
    match Message::parse(bytes) {
        Ok(Message::Response { outcome, .. }) => outcome.err(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, error: Option<&str>, expected: &str) {
        let status = StatusCode::from_u16(status).expect("a status");
        let error = error.map(|message| RpcError::new(-32000, message));
        assert_eq!(explain(status, error).to_string(), expected);
    }

    #[test]
    fn statuses_are_explained() {
        check(
            302,
            None,
            "it redirects (HTTP 302), which is not followed: configure the address it moved to",
        );
        check(
            403,
            None,
            "it refuses our credentials (HTTP 403): check the headers configured for it",
        );
        check(403, Some("not for you"), "not for you (-32000)");
        check(404, None, "there is no MCP endpoint at its url (HTTP 404)");
        check(400, Some("bad"), "bad (-32000)");
        check(418, None, "it refuses the request (HTTP 418)");
        check(503, None, "it failed (HTTP 503)");
        assert!(explain(StatusCode::BAD_GATEWAY, None).may_have_taken_effect());
        assert!(!explain(StatusCode::FORBIDDEN, None).may_have_taken_effect());
    }

    #[test]
    fn an_expired_session_is_told_from_a_bad_request() {
        let check = |status: u16, error: Option<&str>| {
            let error = error.map(|message| RpcError::new(-32000, message));
            is_expiry(
                StatusCode::from_u16(status).expect("a status"),
                error.as_ref(),
            )
        };
        assert!(check(404, None));
        assert!(check(
            400,
            Some("Bad Request: No valid session ID provided")
        ));
        assert!(!check(400, Some("Bad Request: wrong arguments")));
        assert!(!check(400, None));
        assert!(!check(500, Some("session store failed")));
    }
}
