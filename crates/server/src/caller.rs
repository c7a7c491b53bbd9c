//! Who makes a request: the client of the session and what this very request adds to that, or
//! whoever the request itself names.

use std::sync::Arc;

use http::HeaderMap;
use mcpproxy_policy::{Caller, Rights};
use mcpproxy_wire::stateless::Introduction;

use crate::access::Standing;

/// The caller, with the trace id of this request where it came with one, and with what its
/// credential allows. A session outlives a key, so nothing of that is kept.
pub(crate) fn of_request(
    caller: &Arc<Caller>,
    headers: &HeaderMap,
    standing: Standing,
) -> Arc<Caller> {
    let trace_id = trace_id(headers);
    if trace_id.is_none() && standing == Standing::Agent {
        return Arc::clone(caller);
    }
    Arc::new(Caller {
        trace_id,
        rights: rights_of(standing),
        ..Caller::clone(caller)
    })
}

/// The caller of a request that belongs to no session, from what it says of itself.
pub(crate) fn introduced(
    introduction: Introduction,
    headers: &HeaderMap,
    standing: Standing,
) -> Arc<Caller> {
    let told = introduction.traceparent.as_deref();
    Arc::new(Caller {
        session_id: None,
        client_name: introduction.name,
        client_version: introduction.version,
        trace_id: trace_id(headers).or_else(|| told.and_then(trace_id_of)),
        rights: rights_of(standing),
    })
}

fn rights_of(standing: Standing) -> Rights {
    match standing {
        Standing::Agent => Rights::UseTools,
        Standing::Administrator => Rights::Administer,
    }
}

/// The trace id of the W3C `traceparent` header; nothing if there is none, or it is not one.
fn trace_id(headers: &HeaderMap) -> Option<String> {
    trace_id_of(headers.get("traceparent")?.to_str().ok()?)
}

/// The trace id of a W3C `traceparent`.
fn trace_id_of(text: &str) -> Option<String> {
    let mut parts = text.split('-');
    let (version, trace, parent, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hexadecimal = |part: &str, length: usize| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        part.len() == length && part.bytes().all(is_digit)
    };
    let is_whole = is_hexadecimal(version, 2)
        && is_hexadecimal(trace, 32)
        && is_hexadecimal(parent, 16)
        && is_hexadecimal(flags, 2);
    let is_valid = is_whole
        && version != "ff"
        // A version that is not known yet may have more parts.
        && (version != "00" || parts.next().is_none())
        && trace.bytes().any(|byte| byte != b'0')
        && parent.bytes().any(|byte| byte != b'0');
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
