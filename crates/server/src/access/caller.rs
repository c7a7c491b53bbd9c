//! The caller of a request, made here once and passed on unchanged: the client of its session and
//! what this very request adds to that, or the client that the request itself names. Its rights are those of the
//! credential that was checked in `mod.rs`.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, header};
use mcpproxy_policy::{Caller, Rights};
use mcpproxy_wire::header::TRACEPARENT;
use mcpproxy_wire::initialize::NAME_LIMIT;

use crate::exchange::params::StatelessClient;

/// Caller of a request in a session: with the trace id of this request where it came with one.
pub(crate) fn in_session(session: &Arc<Caller>, headers: &HeaderMap) -> Arc<Caller> {
    let Some(trace_id) = trace_id(headers) else {
        return Arc::clone(session);
    };
    Arc::new(Caller {
        trace_id: Some(trace_id),
        ..Caller::clone(session)
    })
}

/// Caller of a stateless request, from what it says of its client.
pub(crate) fn stateless(
    client: StatelessClient,
    headers: &HeaderMap,
    rights: Rights,
    peer: Option<IpAddr>,
) -> Arc<Caller> {
    let in_meta = client.traceparent.as_deref();
    Arc::new(Caller {
        session_id: None,
        client_name: client.name,
        client_version: client.version,
        trace_id: trace_id(headers).or_else(|| in_meta.and_then(trace_id_of)),
        peer,
        rights,
    })
}

/// Caller of a REST request, from the `User-Agent` header.
pub(crate) fn of_rest(headers: &HeaderMap, rights: Rights, peer: Option<IpAddr>) -> Arc<Caller> {
    let agent = headers.get(header::USER_AGENT);
    let agent = agent.and_then(|value| value.to_str().ok());
    let mut parts = agent.unwrap_or("rest").splitn(2, '/');
    let bounded = |text: &str| text.chars().take(NAME_LIMIT).collect();
    Arc::new(Caller {
        session_id: None,
        client_name: parts.next().map(bounded),
        client_version: parts.next().map(bounded),
        trace_id: trace_id(headers),
        peer,
        rights,
    })
}

/// Trace id of the W3C `traceparent` header; nothing if there is none, or it is not one.
fn trace_id(headers: &HeaderMap) -> Option<String> {
    trace_id_of(headers.get(TRACEPARENT)?.to_str().ok()?)
}

/// Trace id of a W3C `traceparent`.
fn trace_id_of(text: &str) -> Option<String> {
    let mut parts = text.split('-');
    let mut hexadecimal = |length: usize| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_whole = |part: &&str| part.len() == length && part.bytes().all(is_digit);
        parts.next().filter(is_whole)
    };
    let (version, trace, parent) = (hexadecimal(2)?, hexadecimal(32)?, hexadecimal(16)?);
    let _flags = hexadecimal(2)?;
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let is_valid = version != "ff"
        // A version that is not known yet may have more parts.
        && (version != "00" || parts.next().is_none())
        && !is_zero(trace)
        && !is_zero(parent);
    is_valid.then(|| trace.to_owned())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_whole_traceparent_names_a_trace() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", HeaderValue::from_str(text).unwrap());
            trace_id(&headers)
        };
        let good = format!("00-{trace}-00f067aa0ba902b7-01");
        assert_eq!(read(&good).as_deref(), Some(trace));
        assert_eq!(
            read(&format!("01-{trace}-00f067aa0ba902b7-01-more")).as_deref(),
            Some(trace)
        );
        for wrong in [
            "",
            trace,
            &format!("ff-{trace}-00f067aa0ba902b7-01"),
            &format!("{good}-more"),
            &good.to_uppercase(),
            &format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            &format!("00-{trace}-0000000000000000-01"),
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(trace_id(&HeaderMap::new()), None);
    }
}
