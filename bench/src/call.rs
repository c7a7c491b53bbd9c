//! What is called: the same tool with the same text, either directly or through the gateway.
//!
//! Requests are put together from two fixed halves and answers are checked without decoding them, so that the
//! generator costs little and the same on both sides. Must never treat an answer as good that was not checked.

use std::borrow::Cow;

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use clap::ValueEnum;
use memchr::memmem;
use serde_json::{Value, json};

use crate::protocol::Protocol;

/// The method of every call.
pub(crate) const CALL_METHOD: &str = "tools/call";

/// What the measured call does upstream, and with that which variant of the gateway takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    /// The tool `echo`, which changes nothing.
    Read,
    /// The tool `store`, which the gateway must have on record before it is sent.
    Write,
}

/// A call with two holes: its id and its text.
#[derive(Clone, Debug)]
pub(crate) struct CallTemplate {
    /// The tool that is called, as headers repeat it.
    name: String,
    before_text: String,
    after_text: String,
}

impl Operation {
    /// The name used in declarations and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    fn tool(self) -> &'static str {
        match self {
            Self::Read => "echo",
            Self::Write => "store",
        }
    }
}

impl CallTemplate {
    /// The call as the echo upstream itself takes it.
    pub(crate) fn direct(operation: Operation) -> Self {
        Self::tool(operation.tool())
    }

    /// The call as the gateway takes it, with the intent declared.
    pub(crate) fn through_gateway(operation: Operation) -> Self {
        let (name, tool) = (operation.name(), operation.tool());
        Self {
            name: format!("call_tool_{name}"),
            before_text: format!(
                r#""name":"call_tool_{name}","arguments":{{"name":"echo:{tool}","args":{{"text":""#
            ),
            after_text: format!(r#""}},"intent":{{"operation_type":"{name}"}}}}}}}}"#),
        }
    }

    /// A plain call of any tool that takes a text.
    pub(crate) fn tool(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            before_text: format!(r#""name":"{name}","arguments":{{"text":""#),
            after_text: r#""}}}"#.to_owned(),
        }
    }

    /// The tool that is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The request; `text` must not need escaping in JSON.
    pub(crate) fn request(&self, protocol: Protocol, id: u64, text: &str) -> Bytes {
        Bytes::from(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{CALL_METHOD}","params":{{{}{}{text}{}"#,
            protocol.introduction(),
            self.before_text,
            self.after_text
        ))
    }
}

/// Looks for the echoed text and for `isError: true` in one message, without decoding anything.
pub(crate) fn check_quickly(body: &[u8], is_event_stream: bool, text: &str) -> anyhow::Result<()> {
    let is_good = |message: &[u8]| quoted(message, text) && !is_error(message);
    ensure!(
        if is_event_stream {
            events(body).any(|data| is_good(&data))
        } else {
            is_good(body)
        },
        "the answer is no success, or not the one to this call: {}",
        String::from_utf8_lossy(body)
    );
    Ok(())
}

/// Decodes the whole answer and compares every part that matters.
pub(crate) fn check_fully(
    answer: &Value,
    protocol: Protocol,
    id: u64,
    text: &str,
) -> anyhow::Result<()> {
    ensure!(
        answer["jsonrpc"] == "2.0" && answer["id"] == json!(id),
        "the answer does not carry id {id}: {answer}"
    );
    let result = &answer["result"];
    ensure!(
        result["isError"] != json!(true),
        "the call was answered with an error: {answer}"
    );
    // Only there every result says of what type it is, so this also shows which protocol was answered in.
    ensure!(
        protocol == Protocol::Session || result["resultType"] == "complete",
        "the answer does not say that it is complete, as one without sessions has to: {answer}"
    );
    ensure!(
        result["content"][0] == json!({"type": "text", "text": text}),
        "the answer does not carry the text {text}: {answer}"
    );
    Ok(())
}

/// The JSON-RPC answer with this id in a body that is plain JSON or an event stream.
pub(crate) fn decode(body: &[u8], is_event_stream: bool, id: u64) -> anyhow::Result<Value> {
    let shown = || String::from_utf8_lossy(body).into_owned();
    if !is_event_stream {
        return serde_json::from_slice(body)
            .with_context(|| format!("the answer is not JSON: {}", shown()));
    }
    for data in events(body) {
        match serde_json::from_slice::<Value>(&data) {
            Ok(message) if message["id"] == json!(id) => return Ok(message),
            _ => {}
        }
    }
    bail!("no event answers id {id}: {}", shown())
}

/// The data of each complete event that has any; most have one line of it, which is not copied.
fn events(body: &[u8]) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let mut lines = body
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    std::iter::from_fn(move || {
        let mut data: Option<Cow<'_, [u8]>> = None;
        for line in lines.by_ref() {
            if line.is_empty() && data.is_some() {
                return data;
            }
            let Some(piece) = line.strip_prefix(b"data:") else {
                continue;
            };
            let piece = piece.strip_prefix(b" ").unwrap_or(piece);
            match &mut data {
                None => data = Some(Cow::Borrowed(piece)),
                Some(before) => {
                    let before = before.to_mut();
                    before.push(b'\n');
                    before.extend_from_slice(piece);
                }
            }
        }
        // Without its empty line the last event was cut off, and nobody may act on it.
        None
    })
}

fn quoted(body: &[u8], text: &str) -> bool {
    memmem::find_iter(body, text.as_bytes()).any(|start| {
        start > 0
            && body.get(start - 1) == Some(&b'"')
            && body.get(start + text.len()) == Some(&b'"')
    })
}

/// Whether any member `isError` is true, however the JSON is spaced.
fn is_error(body: &[u8]) -> bool {
    const MEMBER: &[u8] = br#""isError""#;
    memmem::find_iter(body, MEMBER).any(|start| {
        body.get(start + MEMBER.len()..)
            .map(<[u8]>::trim_ascii_start)
            .and_then(|rest| rest.strip_prefix(b":"))
            .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"true"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_calls_they_should_be() {
        let parse = |template: CallTemplate| -> Value {
            serde_json::from_slice(&template.request(Protocol::Session, 7, "hello")).unwrap()
        };
        assert_eq!(
            parse(CallTemplate::direct(Operation::Read)),
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                   "params": {"name": "echo", "arguments": {"text": "hello"}}})
        );
        assert_eq!(
            parse(CallTemplate::through_gateway(Operation::Read)),
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                   "params": {"name": "call_tool_read", "arguments": {
                       "name": "echo:echo", "args": {"text": "hello"},
                       "intent": {"operation_type": "read"}}}})
        );
        assert_eq!(
            parse(CallTemplate::through_gateway(Operation::Write))["params"],
            json!({"name": "call_tool_write", "arguments": {
                       "name": "echo:store", "args": {"text": "hello"},
                       "intent": {"operation_type": "write"}}})
        );
    }

    #[test]
    fn requests_without_a_session_introduce_themselves_and_are_the_same_otherwise() {
        for template in [
            CallTemplate::direct(Operation::Write),
            CallTemplate::through_gateway(Operation::Read),
        ] {
            let parse = |protocol| -> Value {
                serde_json::from_slice(&template.request(protocol, 7, "hello")).unwrap()
            };
            let mut introduced = parse(Protocol::Stateless);
            let parameters = introduced["params"].as_object_mut().unwrap();
            let meta = parameters.remove("_meta").unwrap();
            let revision = &meta["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(revision, Protocol::Stateless.revision());
            assert_eq!(introduced, parse(Protocol::Session));
            assert_eq!(introduced["params"]["name"], template.name());
        }
    }

    #[test]
    fn quick_check_accepts_only_the_echoed_text_without_error() {
        let check = |body: &str, good: bool| {
            assert_eq!(
                check_quickly(body.as_bytes(), false, "hello-1-2").is_ok(),
                good,
                "{body}"
            );
        };
        check(r#"{"content":[{"text":"hello-1-2"}]}"#, true);
        check(
            r#"{"content":[{"text":"hello-1-2"}],"isError":false}"#,
            true,
        );
        check(
            r#"{"content":[{"text":"hello-1-2"}],"isError" : true}"#,
            false,
        );
        check(
            r#"{"isError":true,"content":[{"text":"hello-1-2"}]}"#,
            false,
        );
        check(r#"{"content":[{"text":"hello-1-21"}]}"#, false);
        check(r#"{"content":[{"text":"other"}]}"#, false);
        check("", false);
    }

    #[test]
    fn quick_check_judges_events_one_by_one() {
        let check = |body: &str, good: bool| {
            let outcome = check_quickly(body.as_bytes(), true, "hello");
            assert_eq!(outcome.is_ok(), good, "{body:?}");
        };
        check(
            "id: 0\nretry: 3000\ndata:\n\ndata: {\"text\":\"hello\"}\n\n",
            true,
        );
        check("data: {\"text\":\r\ndata: \"hello\"}\r\n\r\n", true);
        check(
            "data: {\"text\":\"hello\",\"isError\":\ndata: true}\n\n",
            false,
        );
        check("data: {\"text\":\"hello\"}\n", false);
        check(": \"hello\"\n\ndata: {}\n\n", false);
        check("", false);
    }

    #[test]
    fn a_refused_call_shows_its_body() {
        let body =
            br#"{"result":{"content":[{"type":"text","text":"no such tool"}],"isError":true}}"#;
        let message = check_quickly(body, false, "hello").unwrap_err().to_string();
        assert!(message.contains("no such tool"), "{message}");
    }

    #[test]
    fn full_check_compares_id_text_and_error() {
        let answer = |id: u64, text: &str, is_error: bool| {
            json!({"jsonrpc": "2.0", "id": id, "result": {
                "content": [{"type": "text", "text": text}], "isError": is_error}})
        };
        let is_good = |answer: &Value, protocol| check_fully(answer, protocol, 1, "a").is_ok();
        assert!(is_good(&answer(1, "a", false), Protocol::Session));
        assert!(!is_good(&answer(2, "a", false), Protocol::Session));
        assert!(!is_good(&answer(1, "b", false), Protocol::Session));
        assert!(!is_good(&answer(1, "a", true), Protocol::Session));
        let refusal = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "a"}});
        assert!(!is_good(&refusal, Protocol::Session));

        let mut typed = answer(1, "a", false);
        assert!(!is_good(&typed, Protocol::Stateless));
        typed["result"]["resultType"] = json!("input_required");
        assert!(!is_good(&typed, Protocol::Stateless));
        typed["result"]["resultType"] = json!("complete");
        assert!(is_good(&typed, Protocol::Stateless));
    }

    #[test]
    fn answers_decode_from_json_and_from_events() {
        let json = br#"{"id":3,"result":{}}"#;
        assert_eq!(decode(json, false, 3).unwrap()["id"], 3);
        let events = b": open\r\n\r\nevent: message\r\ndata: {\"method\":\"x\"}\r\n\r\ndata: {\"id\":3,\r\ndata: \"result\":1}\r\n\r\n";
        assert_eq!(decode(events, true, 3).unwrap()["result"], 1);
        assert!(decode(events, true, 4).is_err());
        assert!(decode(b"<html>", false, 3).is_err());
    }
}
