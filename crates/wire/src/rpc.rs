//! The JSON-RPC envelope.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use bytestring::ByteString;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{Fields, Json, JsonText, to_text};

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is JSON, but not a request.
pub const INVALID_REQUEST: i64 = -32600;
/// Code of an error about a method that there is not.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Code of an error about parameters that do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// Code of an error about something that failed on our side.
pub const INTERNAL_ERROR: i64 = -32603;

/// One message, as a view into the bytes it came in. Its parameters are read as `P`: untouched, or
/// in the same pass as something else.
#[derive(Debug)]
pub enum Message<'a, P = &'a RawValue> {
    /// Wants an answer.
    Request {
        /// The sender's id, to be repeated as it is.
        id: Id<'a>,
        /// Name of the method.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<P>,
    },
    /// Wants none.
    Notification {
        /// Name of the method.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<P>,
    },
    /// Answers a request.
    Response {
        /// The id of the request; absent when the peer could not read it.
        id: Option<Id<'a>>,
        /// Result or error of it.
        outcome: Result<&'a RawValue, RpcError>,
    },
}

/// Text of one message. Its UTF-8 was checked once, and values found in it share its bytes.
#[derive(Debug, Clone)]
pub struct MessageText(ByteString);

/// A request id: the JSON text of a string or a number, kept as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id<'a>(&'a str);

/// Request id that outlives the message it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Box<str>);

/// The error object of JSON-RPC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// Kind of the error.
    pub code: i64,
    /// Message for people.
    pub message: String,
    /// Data for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Request or notification as it is written.
#[derive(Serialize)]
pub struct OutgoingMessage<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<P>,
}

/// Response as it is written, with a result or with an error.
#[derive(Serialize)]
struct OutgoingResponse<'a> {
    jsonrpc: &'static str,
    id: JsonText<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<JsonText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

/// Response to a request, as text. `result` is JSON.
pub fn response(id: Id<'_>, result: &str) -> String {
    to_text(&OutgoingResponse {
        jsonrpc: "2.0",
        id: JsonText(id.0),
        result: Some(JsonText(result)),
        error: None,
    })
}

/// Refusal of a request, as text; without an id if there was none to read.
pub fn error_response(id: Option<Id<'_>>, error: &RpcError) -> String {
    to_text(&OutgoingResponse {
        jsonrpc: "2.0",
        id: JsonText(id.map_or("null", |id| id.0)),
        result: None,
        error: Some(error),
    })
}

/// Request of ours, as text. `params` is JSON.
pub fn request(id: u64, method: &str, params: &str) -> String {
    to_text(&OutgoingMessage::request(id, method, JsonText(params)))
}

/// Notification of ours, as text. `params` is JSON, or empty where there are none.
pub fn notification(method: &str, params: &str) -> String {
    let params = (!params.is_empty()).then_some(JsonText(params));
    to_text(&OutgoingMessage::notification(method, params))
}

// === impl OutgoingMessage ===

impl<'a, P> OutgoingMessage<'a, P> {
    /// Request of ours.
    pub fn request(id: u64, method: &'a str, params: P) -> Self {
        Self {
            id: Some(id),
            ..Self::notification(method, Some(params))
        }
    }

    /// Notification of ours.
    pub fn notification(method: &'a str, params: Option<P>) -> Self {
        Self {
            jsonrpc: "2.0",
            id: None,
            method,
            params,
        }
    }
}

// === impl MessageText ===

impl MessageText {
    /// Takes the bytes of a message. The error is the one to answer with.
    pub fn new(bytes: &Bytes) -> Result<Self, RpcError> {
        match ByteString::try_from(bytes.clone()) {
            Ok(text) => Ok(Self(text)),
            // The reader says better where they are not UTF-8.
            Err(_) => Err(Message::parse(bytes)
                .err()
                .unwrap_or_else(|| RpcError::parse_error("it is not UTF-8"))),
        }
    }

    /// Reads the message, its parameters untouched. The error is the one to answer with.
    pub fn message(&self) -> Result<Message<'_>, RpcError> {
        self.message_as()
    }

    /// Reads the message with its parameters as `P`. The error is the one to answer with.
    pub fn message_as<'a, P: Deserialize<'a>>(&'a self) -> Result<Message<'a, P>, RpcError> {
        Message::read(self.0.as_bytes(), serde_json::from_str(&self.0))
    }

    /// Text of the message.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Part of the text that a reader found to be JSON.
    pub(crate) fn part(&self, text: &str) -> Json {
        Json::part_of(&self.0, text)
    }

    /// Value found in the message.
    pub fn json(&self, raw: &RawValue) -> Json {
        Json::part_of(&self.0, raw.get())
    }
}

// === impl Message ===

impl<'a, P> Message<'a, P> {
    fn read(
        bytes: &[u8],
        envelope: Result<Envelope<'a, P>, serde_json::Error>,
    ) -> Result<Self, RpcError> {
        let opening = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        match envelope {
            // A derived reader also takes the fields as a list, in order; JSON-RPC does not.
            Ok(envelope) if opening == Some(&b'{') => envelope.into_message(),
            Err(error) if !error.is_data() => Err(RpcError::parse_error(error)),
            Err(error) if opening == Some(&b'{') => Err(RpcError::invalid_request(error)),
            _ if opening == Some(&b'[') => Err(RpcError::invalid_request(
                "a list of messages is for sessions of revision 2025-03-26; send one message at a time",
            )),
            _ => Err(RpcError::invalid_request("a message is a JSON object")),
        }
    }
}

impl<'a> Message<'a> {
    /// Reads one message, its parameters untouched. The error is the one to answer with.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RpcError> {
        Self::read(bytes, serde_json::from_slice(bytes))
    }

    /// The id of a request that could not be read further, so that even a refusal reaches
    /// whoever waits for it.
    pub fn salvage_id(bytes: &'a [u8]) -> Option<Id<'a>> {
        let fields: Fields<'a> = serde_json::from_slice(bytes).ok()?;
        Id::parse(fields.get("id")?).ok()
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
struct Envelope<'a, P> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "even_null")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    params: Option<P>,
    #[serde(borrow, default, deserialize_with = "even_null")]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcError>,
}

/// Tells a field that is null from one that is absent.
fn even_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a, P> Envelope<'a, P> {
    fn into_message(self) -> Result<Message<'a, P>, RpcError> {
        if self.jsonrpc.as_deref() != Some("2.0") {
            return Err(RpcError::invalid_request(r#""jsonrpc" must be "2.0""#));
        }
        let params = self.params;
        match (self.method, self.id) {
            (Some(method), Some(id)) => Ok(Message::Request {
                id: Id::parse(id)?,
                method,
                params,
            }),
            (Some(method), None) => Ok(Message::Notification { method, params }),
            (None, id) => {
                let id = id.filter(|id| id.get() != "null");
                let id = id.map(Id::parse).transpose()?;
                let outcome = match (self.result, self.error) {
                    (Some(result), None) => Ok(result),
                    (None, Some(error)) => Err(error),
                    _ => {
                        return Err(RpcError::invalid_request(
                            r#"expected "method", or exactly one of "result" and "error""#,
                        ));
                    }
                };
                Ok(Message::Response { id, outcome })
            }
        }
    }
}

// === impl Id ===

impl<'a> Id<'a> {
    pub(crate) fn parse(raw: &'a RawValue) -> Result<Self, RpcError> {
        match raw.get().as_bytes().first() {
            Some(b'"' | b'-' | b'0'..=b'9') => Ok(Self(raw.get())),
            _ => Err(RpcError::invalid_request(
                r#""id" must be a string or a number"#,
            )),
        }
    }

    /// The JSON text.
    pub fn text(self) -> &'a str {
        self.0
    }

    /// Id that can be repeated after the message is gone.
    pub fn keep(self) -> RequestId {
        RequestId(self.0.into())
    }

    /// Number of the id, if it is one of ours.
    pub fn number(self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl RequestId {
    /// Reads the JSON text of an id; nothing if it is neither a string nor a number.
    pub fn parse(json: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        Id::parse(raw).ok().map(Id::keep)
    }

    /// Id as it was written.
    pub fn id(&self) -> Id<'_> {
        Id(&self.0)
    }

    /// JSON text of the id.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Number of the id, if it is one of ours.
    pub fn number(&self) -> Option<u64> {
        self.id().number()
    }
}

// === impl RpcError ===

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Error about bytes that are no JSON.
    pub(crate) fn parse_error(why: impl fmt::Display) -> Self {
        Self::new(PARSE_ERROR, format!("Parse error: {why}"))
    }

    /// Error about JSON that is no message.
    pub fn invalid_request(why: impl fmt::Display) -> Self {
        Self::new(INVALID_REQUEST, format!("Invalid Request: {why}"))
    }

    /// Error about parameters that do not fit the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> i64 {
        Message::parse(text.as_bytes()).unwrap_err().code
    }

    #[test]
    fn reads_the_three_kinds() {
        let Message::Request { id, method, params } =
            Message::parse(br#"{"jsonrpc":"2.0","id":"a\"b","method":"x","params":{"n":1.0}}"#)
                .unwrap()
        else {
            panic!("not a request");
        };
        assert_eq!(
            (id.text(), &*method, params.unwrap().get()),
            (r#""a\"b""#, "x", r#"{"n":1.0}"#)
        );
        assert!(matches!(
            Message::parse(br#"{"jsonrpc":"2.0","method":"x"}"#).unwrap(),
            Message::Notification { params: None, .. }
        ));
        assert!(matches!(
            Message::parse(br#"{"jsonrpc":"2.0","id":7,"result":null}"#).unwrap(),
            Message::Response { outcome: Ok(result), .. } if result.get() == "null"
        ));
        assert!(matches!(
            Message::parse(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#)
                .unwrap(),
            Message::Response {
                id: None,
                outcome: Err(RpcError { code: -32700, .. })
            }
        ));
    }

    #[test]
    fn refuses_what_is_no_message_with_the_fitting_code() {
        for text in ["", "{", "nonsense", "\u{0}", r#"{"jsonrpc":"2.0""#] {
            assert_eq!(code_of(text), PARSE_ERROR, "{text}");
        }
        for text in [
            "[]",
            "1",
            r#""x""#,
            "null",
            "{}",
            r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}"#,
        ] {
            assert_eq!(code_of(text), INVALID_REQUEST, "{text}");
        }
    }

    #[test]
    fn an_id_is_found_in_a_message_that_is_otherwise_refused() {
        let id = Message::salvage_id(br#"{"id":5,"method":7}"#).unwrap();
        assert_eq!(id.text(), "5");
        assert!(Message::salvage_id(b"[1]").is_none());
    }

    #[test]
    fn answers_repeat_the_id_as_it_was_written() {
        let raw: &RawValue = serde_json::from_str("1.50").unwrap();
        let id = Id::parse(raw).unwrap();
        assert_eq!(
            response(id, "{}"),
            r#"{"jsonrpc":"2.0","id":1.50,"result":{}}"#
        );
        assert_eq!(
            error_response(None, &RpcError::new(-1, "m")),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#
        );
    }
}
