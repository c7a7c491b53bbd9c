//! The caller of a request, made here once and passed on unchanged: the client of its session and
//! what this very request adds to that, or the client that the request itself names. Its rights are those of the
//! credential that was checked in `mod.rs`.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, header};
use mcpproxy_policy::{Caller, Rights};
use mcpproxy_support::traceparent::read_traceparent;
use mcpproxy_wire::header::{CORRELATION_ID, TRACEPARENT};
use mcpproxy_wire::initialize::NAME_LIMIT;
use mcpproxy_wire::meta;
use uuid::Uuid;

use crate::exchange::params::RequestParams;

/// Caller of a request in a session: with what this very request brings.
pub(crate) fn in_session(
    session: &Caller,
    headers: &HeaderMap,
    params: &RequestParams,
) -> Arc<Caller> {
    with_context(session.clone(), headers, params)
}

/// Caller of a stateless request, from what it says of its client.
pub(crate) fn stateless(
    headers: &HeaderMap,
    params: &RequestParams,
    rights: Rights,
    peer: Option<IpAddr>,
) -> Arc<Caller> {
    let (client_name, client_version) = params.client_info();
    let caller = Caller {
        client_name,
        client_version,
        peer,
        rights,
        ..Caller::default()
    };
    with_context(caller, headers, params)
}

/// Caller of a REST request, from the `User-Agent` header.
pub(crate) fn of_rest(headers: &HeaderMap, rights: Rights, peer: Option<IpAddr>) -> Arc<Caller> {
    let mut parts = text(headers, header::USER_AGENT.as_str())
        .unwrap_or("rest")
        .splitn(2, '/');
    let bounded = |text: &str| text.chars().take(NAME_LIMIT).collect();
    let caller = Caller {
        client_name: parts.next().map(bounded),
        client_version: parts.next().map(bounded),
        peer,
        rights,
        ..Caller::default()
    };
    with_context(caller, headers, &RequestParams::default())
}

/// Caller with what a request brings for the tools it calls. What the message says is nearer to the client than what its
/// envelope says. A request that belongs to no trace begins one, so that every call has one.
fn with_context(caller: Caller, headers: &HeaderMap, params: &RequestParams) -> Arc<Caller> {
    let in_meta = params.meta_text(meta::TRACEPARENT);
    let read = |text: &str| read_traceparent(text).map(|(id, span)| (id.to_owned(), span));
    let trace = in_meta.and_then(|text| read(&text));
    let trace = trace.or_else(|| read(text(headers, TRACEPARENT)?));
    let (trace_id, parent_span) = trace.unzip();
    let in_meta = params.meta_text(meta::CORRELATION_ID);
    let correlation_id = in_meta.and_then(|text| Uuid::parse_str(&text).ok());
    let in_header = || Uuid::parse_str(text(headers, CORRELATION_ID)?).ok();
    Arc::new(Caller {
        trace_id: trace_id.or_else(|| Some(Uuid::new_v4().simple().to_string())),
        parent_span,
        correlation_id: correlation_id.or_else(in_header),
        metadata: params.call_metadata(),
        ..caller
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const OTHER: &str = "0af7651916cd43dd8448eb211c80319c";
    const CORRELATION: &str = "019a0000-0000-7000-8000-000000000001";

    fn traceparent(trace: &str) -> String {
        format!("00-{trace}-00f067aa0ba902b7-01")
    }

    #[test]
    fn the_message_counts_before_its_headers() {
        let mut headers = HeaderMap::new();
        let header = |text: &str| HeaderValue::from_str(text).unwrap();
        headers.insert("traceparent", header(&traceparent(TRACE)));
        headers.insert("x-correlation-id", header(CORRELATION));
        let made = |params: &str| {
            let params = RequestParams::parse(params);
            in_session(&Caller::default(), &headers, &params)
        };
        let of_headers = made("{}");
        assert_eq!(of_headers.trace_id.as_deref(), Some(TRACE));
        let span = of_headers.parent_span.as_deref();
        assert_eq!(span, Some("00f067aa0ba902b7-01"));
        let correlation = |caller: &Caller| caller.correlation_id.unwrap().to_string();
        assert_eq!(correlation(&of_headers), CORRELATION);

        let other = CORRELATION.replace('9', "8");
        let meta = format!(
            r#"{{"_meta":{{"traceparent":"{}","dev.mcpproxy/correlationId":"{other}","tenant":"north"}}}}"#,
            traceparent(OTHER)
        );
        let of_meta = made(&meta);
        assert_eq!(of_meta.trace_id.as_deref(), Some(OTHER));
        assert_eq!(correlation(&of_meta), other);
        assert_eq!(of_meta.metadata.iter().count(), 1);

        let of_neither = made(r#"{"_meta":{"traceparent":7,"dev.mcpproxy/correlationId":"x"}}"#);
        assert_eq!(of_neither.trace_id.as_deref(), Some(TRACE));
        assert_eq!(correlation(&of_neither), CORRELATION);
    }

    #[test]
    fn a_request_without_a_trace_begins_one_of_its_own() {
        let made = || {
            in_session(
                &Caller::default(),
                &HeaderMap::new(),
                &RequestParams::default(),
            )
        };
        let (one, two) = (made(), made());
        assert_eq!(one.trace_id.as_ref().map(String::len), Some(32));
        assert_ne!(one.trace_id, two.trace_id);
        assert_eq!((&one.parent_span, one.correlation_id), (&None, None));
    }
}
