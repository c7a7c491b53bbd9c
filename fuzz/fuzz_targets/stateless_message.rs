//! Any bytes as a message that stands for itself, or a list of messages: whatever we answer is JSON, is for the one
//! who asked, and a result says once that it is complete.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_fuzz::words::spell_out;
use mcpproxy_wire::initialize::Announces;
use mcpproxy_wire::json::{Fields, on_one_line, text_of};
use mcpproxy_wire::rpc::{Id, error_response, response};
use mcpproxy_wire::stateless::{self, CacheScope, Freshness};
use mcpproxy_wire::{Json, Message, RpcError, batch};
use serde_json::json;
use serde_json::value::RawValue;

/// What the bytes are put into, before and after them: few inputs would be a message by chance.
const FRAMES: [(&str, &str); 8] = [
    ("", ""),
    ("[", "]"),
    (r#"{"jsonrpc":"2.0","id":1,"result":"#, "}"),
    (
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"x""#,
        "}}",
    ),
    (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"#, "}"),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"#,
        "}}}",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"#,
        "}}}}",
    ),
    (
        r#"{"jsonrpc":"2.0","method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}},"id":"#,
        "}",
    ),
];

const WORDS: [&str; 9] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#,
    r#""_meta":"#,
    r#""io.modelcontextprotocol/protocolVersion":"#,
    r#""2026-07-28""#,
    r#""io.modelcontextprotocol/clientCapabilities":"#,
    r#""name":"#,
    r#""version":"#,
    r#""resultType":"#,
    r#""result\u0054ype":"#,
];

const FRESHNESS: Freshness = Freshness {
    ttl_ms: u64::MAX,
    scope: CacheScope::Private,
};

fuzz_target!(|input: (u8, &[u8])| {
    let (frame, bytes) = input;
    let (before, after) = FRAMES[usize::from(frame) % FRAMES.len()];
    let bytes = spell_out(bytes, &WORDS);
    answer(&[before.as_bytes(), &bytes, after.as_bytes()].concat());
});

fn answer(bytes: &[u8]) {
    if !batch::is_list(bytes) {
        answer_one(bytes);
        return;
    }
    assert!(Message::parse(bytes).is_err(), "a list is no message");
    match batch::split(bytes) {
        Ok(messages) => {
            assert!((1..=batch::MOST_MESSAGES).contains(&messages.len()));
            let answers: Vec<String> = messages
                .iter()
                .flat_map(|message| answer_one(message.get().as_bytes()))
                .collect();
            let list = batch::join(&answers);
            let read: Vec<&RawValue> =
                serde_json::from_str(&list).expect("a list of answers is JSON");
            assert_eq!(read.len(), answers.len());
        }
        Err(error) => check_answer(&error_response(None, &error), None),
    }
}

/// All that could be answered to a message.
fn answer_one(bytes: &[u8]) -> Vec<String> {
    match Message::parse(bytes) {
        Ok(Message::Request { id, params, .. }) => {
            // What is skipped is not looked at, but all of a message has to be text for its id to be found.
            if std::str::from_utf8(bytes).is_ok() {
                assert_eq!(Message::salvage_id(bytes), Some(id));
            }
            answer_request(id, &check_texts(params))
        }
        Ok(Message::Notification { params, .. }) => {
            check_texts(params);
            Vec::new()
        }
        Ok(Message::Response { outcome, .. }) => {
            if let Ok(result) = outcome {
                check_result(result.get());
            }
            Vec::new()
        }
        Err(error) => {
            let id = Message::salvage_id(bytes);
            let refusal = error_response(id, &error);
            check_answer(&refusal, id);
            vec![refusal]
        }
    }
}

fn answer_request(id: Id<'_>, name: &str) -> Vec<String> {
    let discovery = stateless::discovery(name, name, Announces::Lists, FRESHNESS);
    for notification in [
        stateless::subscription_opened(id, &json!({ "toolsListChanged": true })),
        stateless::stream_notification(id, "notifications/resources/updated", Some(name)),
    ] {
        let read = Message::parse(notification.as_bytes());
        assert!(
            matches!(read, Ok(Message::Notification { .. })),
            "{notification}"
        );
    }
    let answers = vec![
        response(id, &stateless::subscription_ended(id, name)),
        response(id, &stateless::cacheable(&discovery, FRESHNESS)),
        response(id, &stateless::complete(discovery)),
        error_response(Some(id), &stateless::unsupported_version(name)),
    ];
    for answer in &answers {
        check_answer(answer, Some(id));
    }
    answers
}

/// A text of ours is the text that any other reader takes it for. Gives the last one.
fn check_texts(params: Option<&RawValue>) -> String {
    let fields: Fields<'_> = params
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let mut last = String::new();
    for (_, raw) in fields.iter() {
        let expected: Option<String> = serde_json::from_str(raw.get()).ok();
        assert_eq!(text_of(raw.get()).as_deref(), expected.as_deref());
        last = expected.unwrap_or(last);
    }
    last
}

/// A foreign result keeps what it says, but for its type, which it says once.
fn check_result(result: &str) {
    let complete = stateless::complete(result.to_owned());
    Json::parse(complete.clone()).expect("a result with its type is JSON");
    Json::parse(stateless::cacheable(result, FRESHNESS)).expect("a result to keep is JSON");
    let Ok(sent) = serde_json::from_str::<Fields<'_>>(result) else {
        return;
    };
    let passed_on = stateless::without_result_type(result);
    let kept = |fields: &Fields<'_>| -> Vec<(String, String)> {
        fields
            .iter()
            .filter(|(name, _)| *name != "resultType")
            .map(|(name, value)| (name.to_owned(), value.get().to_owned()))
            .collect()
    };
    for (text, types) in [(&*passed_on, 0), (&*complete, 1)] {
        let fields: Fields<'_> = serde_json::from_str(text).expect("a result stays an object");
        assert_eq!(kept(&fields), kept(&sent), "{text}");
        let named = fields.iter().filter(|(name, _)| *name == "resultType");
        assert_eq!(named.count(), types, "{text}");
    }
}

/// An answer is a message for the one who asked, even on one line.
fn check_answer(answer: &str, asked: Option<Id<'_>>) {
    let line = on_one_line(answer);
    assert!(!line.contains(['\n', '\r']), "{line:?}");
    for text in [answer, &line] {
        let read = Message::parse(text.as_bytes());
        let Ok(Message::Response { id, outcome }) = read else {
            panic!("{text} is no answer: {read:?}");
        };
        assert_eq!(id, asked, "{text}");
        if let Err(RpcError { code, message, .. }) = outcome {
            assert!(code < 0 && !message.is_empty(), "{text}");
        }
    }
}
