//! Responses: those of upstreams read in one pass, ours written in one.
//!
//! [`Message`](crate::Message) finds out what kind of message some bytes are, and keeps a result as
//! it is; whoever wants a member of the result has to read all of it again. Results are the largest
//! part of what passes through, so a response gets a reader of its own, which finds the members of
//! its result on the way.

use serde::de::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Fields, text_of};
use crate::result::{ResultText, RpcResult};
use crate::rpc::{self, Id, MessageText};

/// Writes the response to a request; the pieces of its result are joined here and nowhere before.
pub fn write(id: Id<'_>, result: &ResultText) -> String {
    let frame = rpc::response(id, "0");
    let frame = frame.strip_suffix("0}").unwrap_or_default();
    let [front, before, inserted, behind] = result.pieces();
    [frame, front, before, inserted, behind, "}"].concat()
}

/// Reads a response whose result is an object. Nothing if the message is anything else, is
/// malformed, or is unusual in any way: it is to be read as a [`Message`](crate::Message) then.
pub fn read(message: &MessageText) -> Option<(Id<'_>, RpcResult)> {
    let mut rest = skip_space(message.as_str()).strip_prefix('{')?;
    let (mut id, mut result, mut is_2_0) = (None, None, false);
    loop {
        let (name, after) = value::<&RawValue>(rest)?;
        let name = text_of(name.get())?;
        let member = skip_space(after).strip_prefix(':')?;
        rest = match &*name {
            "jsonrpc" if !is_2_0 => {
                let (version, after) = value::<&RawValue>(member)?;
                is_2_0 = version.get() == r#""2.0""#;
                is_2_0.then_some(after)?
            }
            "id" if id.is_none() => {
                let (raw, after) = value::<&RawValue>(member)?;
                id = Some(Id::parse(raw).ok()?);
                after
            }
            "result" if result.is_none() => {
                let member = skip_space(member);
                let (fields, after) = value::<Fields<'_>>(member)?;
                let text = &member[..member.len() - after.len()];
                result = Some(RpcResult::read(message.part(text), &fields));
                after
            }
            "jsonrpc" | "id" | "result" | "error" | "method" | "params" => return None,
            _ => value::<&RawValue>(member)?.1,
        };
        rest = skip_space(rest);
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => break,
        }
    }
    let is_whole = skip_space(rest.strip_prefix('}')?).is_empty();
    (is_whole && is_2_0).then_some((id?, result?))
}

/// Value that a text begins with, and the text behind it.
fn value<'a, T: Deserialize<'a>>(text: &'a str) -> Option<(T, &'a str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::CallResult;
    use crate::rpc::Message;

    fn text(text: &str) -> MessageText {
        MessageText::new(&Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_response_reads_as_it_does_in_two_passes() {
        for sent in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"n":1e400}],"isError":true}}"#,
            r#" { "result" : { "_meta" : {"a": 1} , "resultType":"input_required" } , "id":"a\"b", "x":[1], "jsonrpc":"2.0" } "#,
            r#"{"id":1,"jsonrpc":"2.0","\u0072esult":{"structuredContent":null,"structuredContent":{"a":"é"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            let message = text(sent);
            let (id, result) = read(&message).unwrap();
            let Ok(Message::Response {
                id: Some(expected_id),
                outcome: Ok(raw),
            }) = message.message()
            else {
                panic!("{sent} is no response");
            };
            assert_eq!(id, expected_id, "{sent}");
            assert_eq!(result.json().text(), raw.get(), "{sent}");
            let expected = CallResult::parse(message.json(raw)).unwrap();
            let found = CallResult::of(result).unwrap();
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{sent}");
        }
    }

    #[test]
    fn what_is_anything_else_is_left_to_the_other_reader() {
        for sent in [
            "",
            "[]",
            "{}",
            r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1},}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":tru}}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":1 2,"result":{}}"#,
            r#"{"jsonrpc":"2.0" "id":1,"result":{}}"#,
            r#"{jsonrpc:"2.0","id":1,"result":{}}"#,
            r#"{1:"2.0","id":1,"result":{}}"#,
        ] {
            assert!(read(&text(sent)).is_none(), "{sent}");
        }
    }
}
