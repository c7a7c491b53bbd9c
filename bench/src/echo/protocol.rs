//! The JSON-RPC half of the echo upstream: bytes in, bytes out.
//!
//! Values that only travel through (ids, the echoed text) stay the bytes they came as. Must never do I/O.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The one protocol revision this server speaks.
pub(crate) const PROTOCOL_VERSION: &str = "2025-11-25";

/// JSON that cannot be read, or is no single message.
pub(super) const PARSE_ERROR: i32 = -32700;
/// JSON that is no JSON-RPC message, or one that may not come now.
pub(super) const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

const INITIALIZE_RESULT: &str = concat!(
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"#,
    r#""serverInfo":{"name":"mcpproxy-bench-echo","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}}"#
);

const TOOLS_RESULT: &str = concat!(
    r#"{"tools":[{"name":"echo","description":"Answers with the text it was given.","#,
    r#""inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"#,
    r#""annotations":{"readOnlyHint":true}},"#,
    r#"{"name":"store","description":"Keeps the text in place of the one before it, and answers with it.","#,
    r#""inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"#,
    r#""annotations":{"readOnlyHint":false,"destructiveHint":false}}]}"#
);

/// One message of a client: a request, a notification, or an answer to something we never asked.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// What a message asks of the transport.
#[derive(Debug)]
pub(super) enum Reply {
    /// A new session, and the answer that opens it.
    Open(Bytes),
    /// An answer inside a session.
    Answer(Bytes),
    /// An answer inside a session, after the text (as JSON) was kept.
    Keep(Bytes, Box<RawValue>),
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

    /// The answer to this message.
    pub(super) fn reply(&self) -> Reply {
        let (Some(id), Some(method)) = (self.id, self.method.as_deref()) else {
            return Reply::Accepted;
        };
        match method {
            "tools/call" => self.call(id),
            "tools/list" => Reply::Answer(result(id, TOOLS_RESULT)),
            "ping" => Reply::Answer(result(id, "{}")),
            "initialize" => Reply::Open(result(id, INITIALIZE_RESULT)),
            other => Reply::Answer(error(
                Some(id),
                METHOD_NOT_FOUND,
                &format!("Method not found: {other}"),
            )),
        }
    }

    fn call(&self, id: &RawValue) -> Reply {
        let params = self.params.map_or("null", RawValue::get);
        let params: CallParams<'_> = match serde_json::from_str(params) {
            Ok(params) => params,
            Err(cause) => {
                let message = format!("Invalid params: {cause}");
                return Reply::Answer(error(Some(id), INVALID_PARAMS, &message));
            }
        };
        let keeps = match params.name.as_ref() {
            "echo" => false,
            "store" => true,
            other => {
                let message = format!("Unknown tool: {other}");
                return Reply::Answer(error(Some(id), INVALID_PARAMS, &message));
            }
        };
        match text_argument(params.arguments) {
            Some(text) if keeps => Reply::Keep(tool_result(id, text.get(), false), text.to_owned()),
            Some(text) => Reply::Answer(tool_result(id, text.get(), false)),
            None => Reply::Answer(tool_result(
                id,
                r#""Invalid arguments: text must be a string""#,
                true,
            )),
        }
    }
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

fn result(id: &RawValue, result: &str) -> Bytes {
    concat(&[
        r#"{"jsonrpc":"2.0","id":"#,
        id.get(),
        r#","result":"#,
        result,
        "}",
    ])
}

fn tool_result(id: &RawValue, json_text: &str, is_error: bool) -> Bytes {
    concat(&[
        r#"{"jsonrpc":"2.0","id":"#,
        id.get(),
        r#","result":{"content":[{"type":"text","text":"#,
        json_text,
        r#"}],"isError":"#,
        if is_error { "true" } else { "false" },
        "}}",
    ])
}

/// One allocation of the exact size for the whole answer.
fn concat(parts: &[&str]) -> Bytes {
    Bytes::from(parts.concat())
}
