//! HTTP headers: their names, and values that repeat a part of the message.
//!
//! A header takes visible ASCII only. Any other value is wrapped: `=?base64?` before and `?=` after
//! the Base64 of its UTF-8. What is not wrapped stands for itself.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Session that a message belongs to.
pub const SESSION_ID: &str = "mcp-session-id";
/// Revision that a message is written in.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// Method of the message, in the stateless protocol.
pub const METHOD: &str = "mcp-method";
/// Tool, prompt or resource that the message is about, in the stateless protocol.
pub const NAME: &str = "mcp-name";
/// Beginning of the headers that repeat arguments of a tool.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// Event of a stream after which it is resumed.
pub const LAST_EVENT_ID: &str = "last-event-id";
/// W3C trace that a request belongs to.
pub const TRACEPARENT: &str = "traceparent";
/// Id by which a client links its calls.
pub const CORRELATION_ID: &str = "x-correlation-id";

const OPENING: &str = "=?base64?";
const CLOSING: &str = "?=";

/// Text that a header value says; nothing if it is wrapped and what is inside is no Base64 of a text.
pub fn decode_value(value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim_matches([' ', '\t']);
    let wrapped = value.strip_prefix(OPENING);
    let Some(text) = wrapped.and_then(|rest| rest.strip_suffix(CLOSING)) else {
        return Some(Cow::Borrowed(value));
    };
    // Strict: padded, and without bits that say nothing. There is one spelling of every value, so two
    // readers cannot understand two things.
    let bytes = STANDARD.decode(text).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Header value that says a text.
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with(OPENING) && text.ends_with(CLOSING));
    if is_plain {
        return Cow::Borrowed(text);
    }
    Cow::Owned([OPENING, &STANDARD.encode(text), CLOSING].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stands_for_itself_unless_it_is_wrapped() {
        for (value, text) in [
            ("", Some("")),
            (" a b\t", Some("a b")),
            ("=?base64?SGVsbG8=?=", Some("Hello")),
            ("=?base64??=", Some("")),
            ("=?base64?w7w=?=", Some("ü")),
            ("SGVsbG8=", Some("SGVsbG8=")),
            ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
            ("=?BASE64?SGVsbG8=?=", Some("=?BASE64?SGVsbG8=?=")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVs!!!bG8=?=", None),
            ("=?base64?SGVsbG9=?=", None),
            ("=?base64?====?=", None),
            ("=?base64?SG=s?=", None),
            ("=?base64?/w==?=", None),
        ] {
            assert_eq!(decode_value(value).as_deref(), text, "{value}");
        }
    }

    #[test]
    fn every_text_comes_back() {
        for text in [
            "",
            "tool",
            "a b",
            " edge ",
            "ü",
            "日本",
            "\n",
            "=?base64?x?=",
            "a\u{1f600}b",
        ] {
            let value = encode_value(text);
            assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            assert_eq!(decode_value(&value).as_deref(), Some(text), "{value}");
        }
    }
}
