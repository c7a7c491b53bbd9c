//! The JSON-RPC half of the echo upstream: bytes in, bytes out, and the protocol with sessions.
//!
//! Values that only travel through (ids, the echoed text) stay the bytes they came as. Must never do I/O.

use std::borrow::Cow;

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;

/// JSON that cannot be read, or is no single message.
pub(super) const PARSE_ERROR: i32 = -32700;
/// JSON that is no JSON-RPC message, or one that may not come now.
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;

const INITIALIZE_RESULT: &str = concat!(
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"#,
    r#""serverInfo":{"name":"mcpproxy-bench-echo","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}}"#
);

/// The member of a result that holds both tools.
pub(super) const TOOLS: &str = concat!(
    r#""tools":[{"name":"echo","description":"Answers with the text it was given.","#,
    r#""inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"#,
    r#""annotations":{"readOnlyHint":true}},"#,
    r#"{"name":"store","description":"Keeps the text in place of the one before it, and answers with it.","#,
    r#""inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"#,
    r#""annotations":{"readOnlyHint":false,"destructiveHint":false}}]"#
);

/// One message of a client: a request, a notification, or an answer to something we never asked.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// What a message asks of the transport.
#[derive(Debug)]
pub(super) enum Reply {
    /// A new session, and the answer that opens it.
    Open(Bytes),
    /// An answer, inside a session where there are any.
    Answer(Bytes),
    /// The same after the text (as JSON) was kept.
    Keep(Bytes, Box<RawValue>),
    /// An answer that the status of HTTP has to speak of as well.
    Refuse(StatusCode, Bytes),
    /// A stream that begins with this event and stays open.
    Listen(Bytes),
    /// Nothing to say: a notification or an answer.
    Accepted,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EchoArguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

impl<'a> Message<'a> {
    /// Reads one message; the error is the JSON-RPC answer to send back.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, Bytes> {
        let message: Self = serde_json::from_slice(body)
            .map_err(|cause| error(None, PARSE_ERROR, &format!("Parse error: {cause}")))?;
        if message.jsonrpc != "2.0" {
            return Err(error(
                message.id,
                INVALID_REQUEST,
                "Invalid request: jsonrpc must be \"2.0\"",
            ));
        }
        Ok(message)
    }

    /// Whether this message opens a session and therefore carries none.
    pub(super) fn opens_session(&self) -> bool {
        self.method.as_deref() == Some("initialize")
    }

    /// The parameters as JSON.
    pub(super) fn parameters(&self) -> &'a str {
        self.params.map_or("null", RawValue::get)
    }

    /// The answer to this message in a session.
    pub(super) fn reply(&self) -> Reply {
        let (Some(id), Some(method)) = (self.id, self.method.as_deref()) else {
            return Reply::Accepted;
        };
        match method {
            "tools/call" => self.call(id),
            "tools/list" => Reply::Answer(result(id, &["{", TOOLS, "}"])),
            "ping" => Reply::Answer(result(id, &["{}"])),
            "initialize" => Reply::Open(result(id, &[INITIALIZE_RESULT])),
            other => Reply::Answer(error(
                Some(id),
                METHOD_NOT_FOUND,
                &format!("Method not found: {other}"),
            )),
        }
    }

    fn call(&self, id: &RawValue) -> Reply {
        match serde_json::from_str::<CallParams<'_>>(self.parameters()) {
            Ok(params) => call(id, "", &params.name, params.arguments),
            Err(cause) => {
                let message = format!("Invalid params: {cause}");
                Reply::Answer(error(Some(id), INVALID_PARAMS, &message))
            }
        }
    }
}

/// The answer to a call; its result begins with `members`, as JSON up to the next member.
pub(super) fn call(
    id: &RawValue,
    members: &str,
    name: &str,
    arguments: Option<&RawValue>,
) -> Reply {
    let keeps = match name {
        "echo" => false,
        "store" => true,
        other => {
            let message = format!("Unknown tool: {other}");
            return Reply::Answer(error(Some(id), INVALID_PARAMS, &message));
        }
    };
    let Some(text) = text_argument(arguments) else {
        let complaint = r#""Invalid arguments: text must be a string""#;
        return Reply::Answer(tool_result(id, members, complaint, true));
    };
    let answer = tool_result(id, members, text.get(), false);
    if keeps {
        Reply::Keep(answer, text.to_owned())
    } else {
        Reply::Answer(answer)
    }
}

/// A JSON-RPC answer with a result that is put together from these parts.
pub(super) fn result(id: &RawValue, parts: &[&str]) -> Bytes {
    let head = [r#"{"jsonrpc":"2.0","id":"#, id.get(), r#","result":"#];
    Bytes::from([&head, parts, &["}"]].concat().concat())
}

/// A JSON-RPC error answer; without an id when the request's own could not be read.
pub(super) fn error(id: Option<&RawValue>, code: i32, message: &str) -> Bytes {
    let message = serde_json::Value::from(message);
    let id = id.map_or("null", RawValue::get);
    Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#
    ))
}

/// The `text` of a call, still as JSON, if it is a string.
fn text_argument(arguments: Option<&RawValue>) -> Option<&RawValue> {
    let arguments: EchoArguments<'_> = serde_json::from_str(arguments?.get()).ok()?;
    arguments
        .text
        .get()
        .starts_with('"')
        .then_some(arguments.text)
}

/// One allocation of the exact size for the whole answer, because this is what is measured.
fn tool_result(id: &RawValue, members: &str, json_text: &str, is_error: bool) -> Bytes {
    let parts = [
        r#"{"jsonrpc":"2.0","id":"#,
        id.get(),
        r#","result":{"#,
        members,
        r#""content":[{"type":"text","text":"#,
        json_text,
        r#"}],"isError":"#,
        if is_error { "true" } else { "false" },
        "}}",
    ];
    Bytes::from(parts.concat())
}
