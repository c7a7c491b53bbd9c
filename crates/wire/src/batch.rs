//! Several messages as one list, which one revision has.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json::{JsonText, to_text};
use crate::rpc::RpcError;

/// The most messages in one list.
pub const MOST_MESSAGES: usize = 100;

/// Whether the bytes can only be a list.
pub fn is_list(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

/// The messages of a list, each to be read by itself. The error is the one to answer with.
pub fn split(bytes: &[u8]) -> Result<Vec<&RawValue>, RpcError> {
    let Messages(messages) = serde_json::from_slice(bytes).map_err(|error| {
        if error.is_data() {
            let why = format!("a list has at most {MOST_MESSAGES} messages");
            RpcError::invalid_request(why)
        } else {
            RpcError::parse_error(error)
        }
    })?;
    if messages.is_empty() {
        let why = "a list has at least one message";
        return Err(RpcError::invalid_request(why));
    }
    Ok(messages)
}

/// List of responses, each given as text.
pub fn join(responses: &[String]) -> String {
    let responses = responses.iter().map(|response| JsonText(response));
    to_text(&responses.collect::<Vec<_>>())
}

/// Reading stops at the bound, so that a long list of nothing costs no memory.
struct Messages<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Messages<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MessageList;
        impl<'de> Visitor<'de> for MessageList {
            type Value = Messages<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut messages = Vec::new();
                while let Some(message) = list.next_element()? {
                    if messages.len() == MOST_MESSAGES {
                        return Err(A::Error::custom("too many messages"));
                    }
                    messages.push(message);
                }
                Ok(Messages(messages))
            }
        }
        deserializer.deserialize_seq(MessageList)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{INVALID_REQUEST, PARSE_ERROR};

    #[test]
    fn a_list_is_split_within_bounds() {
        let texts = |bytes| -> Vec<&str> {
            split(bytes)
                .unwrap()
                .into_iter()
                .map(RawValue::get)
                .collect()
        };
        assert_eq!(
            texts(br#" [1, {"a" : [] },"x"]"#),
            ["1", r#"{"a" : [] }"#, r#""x""#]
        );
        let list_of = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert!(split(list_of(MOST_MESSAGES).as_bytes()).is_ok());
        for (text, code) in [
            (list_of(MOST_MESSAGES + 1), INVALID_REQUEST),
            (list_of(0), INVALID_REQUEST),
            ("{}".to_owned(), INVALID_REQUEST),
            ("[1".to_owned(), PARSE_ERROR),
            ("[1] x".to_owned(), PARSE_ERROR),
            ("[".repeat(100_000), PARSE_ERROR),
        ] {
            assert_eq!(split(text.as_bytes()).unwrap_err().code, code);
        }
    }
}
