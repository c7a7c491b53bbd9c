//! The protocol without sessions: what a request says of itself, what its headers repeat, and the answer.
//!
//! Headers and message have to agree, because others may have decided by the headers alone. Must never do I/O.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::messages::{
    INVALID_PARAMS, METHOD_NOT_FOUND, Message, Reply, TOOLS, call, error, result,
};
use super::{METHOD_HEADER, NAME_HEADER, VERSION_HEADER};
use crate::call::CALL_METHOD;
use crate::protocol::Protocol;

const HEADER_MISMATCH: i32 = -32020;
const UNSUPPORTED_VERSION: i32 = -32022;

/// What every result begins with.
const COMPLETE: &str = r#""resultType":"complete","#;
/// What one that may be kept says besides: for an hour, by everybody, because it never changes.
const CACHEABLE: &str = r#""ttlMs":3600000,"cacheScope":"public","#;

const DISCOVERY: &str = concat!(
    r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"#,
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpproxy-bench-echo","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}}"#
);

/// The parameters of every method; a member that a method does not have is passed over.
#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Meta<'a>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    notifications: Option<Wanted>,
}

/// What a request must say of its sender.
#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Cow<'a, str>,
    /// Read because a request without it is refused; nothing here asks for any of them.
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: &'a RawValue,
}

/// What a stream of changes is asked for.
#[derive(Deserialize)]
struct Wanted {
    #[serde(rename = "toolsListChanged", default)]
    tools: bool,
}

/// The answer to a message with these headers.
pub(super) fn reply(message: &Message<'_>, headers: &HeaderMap) -> Reply {
    let (Some(id), Some(method)) = (message.id, message.method.as_deref()) else {
        return Reply::Accepted;
    };
    let bad = |answer| Reply::Refuse(StatusCode::BAD_REQUEST, answer);
    let params: Params<'_> = match serde_json::from_str(message.parameters()) {
        Ok(params) => params,
        Err(cause) => {
            let message = format!("Invalid params: {cause}");
            return bad(error(Some(id), INVALID_PARAMS, &message));
        }
    };
    if let Err(answer) = check(id, method, &params, headers) {
        return bad(answer);
    }
    match method {
        CALL_METHOD => call(id, COMPLETE, &params.name, params.arguments),
        "tools/list" => Reply::Answer(result(id, &["{", COMPLETE, CACHEABLE, TOOLS, "}"])),
        "server/discover" => Reply::Answer(result(id, &["{", COMPLETE, CACHEABLE, DISCOVERY, "}"])),
        "subscriptions/listen" => listen(id, params.notifications.as_ref()),
        other => {
            let message = format!("Method not found: {other}");
            let answer = error(Some(id), METHOD_NOT_FOUND, &message);
            Reply::Refuse(StatusCode::NOT_FOUND, answer)
        }
    }
}

/// Whether the request is one of this revision, and its headers say the same; the error is the answer.
fn check(
    id: &RawValue,
    method: &str,
    params: &Params<'_>,
    headers: &HeaderMap,
) -> Result<(), Bytes> {
    let revision = params.meta.revision.as_ref();
    if revision != Protocol::Stateless.revision() {
        return Err(unsupported(id, revision));
    }
    if !params.meta.capabilities.get().starts_with('{') {
        let message = "Invalid params: clientCapabilities must be an object";
        return Err(error(Some(id), INVALID_PARAMS, message));
    }
    repeats(id, headers, VERSION_HEADER, revision)?;
    repeats(id, headers, METHOD_HEADER, method)?;
    if method == CALL_METHOD {
        // The names of both tools can stand in a header as they are, so a wrapped one names neither.
        repeats(id, headers, NAME_HEADER, &params.name)?;
    }
    Ok(())
}

fn repeats(id: &RawValue, headers: &HeaderMap, header: &str, told: &str) -> Result<(), Bytes> {
    if headers.get(header).is_some_and(|value| value == told) {
        return Ok(());
    }
    let message = format!("Header mismatch: {header} does not say what the message says");
    Err(error(Some(id), HEADER_MISMATCH, &message))
}

fn unsupported(id: &RawValue, requested: &str) -> Bytes {
    let supported = Protocol::Stateless.revision();
    let error = json!({
        "code": UNSUPPORTED_VERSION,
        "message": format!("Unsupported protocol version, expected: {supported}"),
        "data": { "supported": [supported], "requested": requested },
    });
    Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#,
        id.get()
    ))
}

fn listen(id: &RawValue, wanted: Option<&Wanted>) -> Reply {
    if let Some(wanted) = wanted {
        return Reply::Listen(acknowledgement(id, wanted));
    }
    let message = "Invalid params: notifications must be an object";
    let answer = error(Some(id), INVALID_PARAMS, message);
    Reply::Refuse(StatusCode::BAD_REQUEST, answer)
}

/// The event that opens a stream of changes: what will be told on it, which is what was asked for and is offered.
fn acknowledgement(id: &RawValue, wanted: &Wanted) -> Bytes {
    let promised = if wanted.tools {
        r#"{"toolsListChanged":true}"#
    } else {
        "{}"
    };
    let id = id.get();
    Bytes::from(format!(
        "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":\
         {{\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{id}}},\"notifications\":{promised}}}}}\n\n"
    ))
}
