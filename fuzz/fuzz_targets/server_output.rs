//! Any bytes as what a server sends, in lines or in events, cut anywhere: whatever is sent back to it answers a request
//! of its own on one line, and what its caller gets is JSON.

#![no_main]

use std::cell::LazyCell;

use libfuzzer_sys::fuzz_target;
use mcpproxy_fuzz::server::{FuzzedOutcome, FuzzedTransport, take_in};
use mcpproxy_fuzz::words::spell_out;
use mcpproxy_wire::{Json, Message};
use tokio::runtime::Runtime;

const TRANSPORTS: [FuzzedTransport; 3] = [
    FuzzedTransport::Lines,
    FuzzedTransport::OwnStream,
    FuzzedTransport::SharedStream,
];

const WORDS: [&str; 26] = [
    "data: ",
    "event: message\n",
    "\n\n",
    "id: ",
    "retry: ",
    r#"{"jsonrpc":"2.0","#,
    r#""id":1,"#,
    r#""id":"a","#,
    r#""result":"#,
    r#""error":{"code":-1,"message":"no"}"#,
    r#""params":{"#,
    r#""method":"ping""#,
    r#""method":"elicitation/create","#,
    r#""method":"sampling/createMessage","#,
    r#""method":"roots/list""#,
    r#""method":"notifications/progress","params":{"progressToken":1,"#,
    r#""method":"notifications/message","params":{"level":"error","#,
    r#""method":"notifications/cancelled","params":{"requestId":"a""#,
    r#""method":"notifications/tools/list_changed""#,
    r#""method":"notifications/prompts/list_changed""#,
    r#""method":"notifications/resources/list_changed""#,
    r#""method":"notifications/resources/updated","params":{"uri":"test:a""#,
    r#""method":"notifications/subscriptions/acknowledged","params":{"notifications":{"#,
    r#""toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true"#,
    r#""resourceSubscriptions":["test:a"]"#,
    r#""method":"notifications/elicitation/complete","#,
];

thread_local! {
    static RUNTIME: LazyCell<Runtime> = const { LazyCell::new(|| {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("the system has a runtime")
    }) };
}

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (transport, piece, bytes) = input;
    let transport = TRANSPORTS[usize::from(transport) % TRANSPORTS.len()];
    let bytes = spell_out(bytes, &WORDS);
    let outcome =
        RUNTIME.with(|runtime| runtime.block_on(take_in(&bytes, transport, piece.into())));
    check(&outcome, transport);
});

fn check(outcome: &FuzzedOutcome, transport: FuzzedTransport) {
    for message in &outcome.sent {
        if transport == FuzzedTransport::Lines {
            let line = message.strip_suffix('\n');
            assert!(line.is_some_and(|line| !line.contains(['\n', '\r'])));
        }
        let read = Message::parse(message.as_bytes());
        let is_answer = matches!(read, Ok(Message::Response { id: Some(_), .. }));
        assert!(is_answer, "{message} is no answer: {read:?}");
    }
    for notification in &outcome.notifications {
        assert!(notification.method.starts_with("notifications/"));
        Json::parse(notification.params.text().to_owned()).expect("what a client is told is JSON");
    }
    if let Some(Ok(result)) = &outcome.response {
        Json::parse(result.clone()).expect("a result is JSON");
    }
}
