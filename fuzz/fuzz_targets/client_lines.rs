//! Any bytes as the lines of a client, into a whole gateway: it answers all it has to and ends, and every line of it is
//! a message or a list of answers.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use mcpproxy_fuzz::gateway::Scene;
use mcpproxy_fuzz::templates::{META, MessageTemplate};
use mcpproxy_fuzz::words::spell_out;
use mcpproxy_gateway::tokens::Admission;
use mcpproxy_policy::Rights;
use mcpproxy_server::stdio;
use mcpproxy_wire::{Message, batch};
use serde_json::value::RawValue;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

/// What a client begins with.
const OPENINGS: [&str; 5] = [
    "",
    concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"f","version":"1"}}}"#,
        "\n"
    ),
    concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}"#,
        "\n"
    ),
    concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        "\n"
    ),
    concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        "\n"
    ),
];

const WORDS: [&str; 12] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","#,
    r#""id":1,"#,
    r#""result":{}"#,
    r#""method":"#,
    r#""params":{"#,
    r#""_meta":{"progressToken":1}"#,
    r#""cursor":"#,
    r#""toolsListChanged":true"#,
    r#""resourceSubscriptions":["#,
];

/// The most bytes of answers that wait to be read.
const ROOM: usize = 4096;

static SCENE: LazyLock<Scene> = LazyLock::new(|| Scene::start("client_lines"));

fuzz_target!(|input: (u8, Vec<(u8, u8, &[u8])>)| {
    let (opening, lines) = input;
    let opening = OPENINGS[usize::from(opening) % OPENINGS.len()];
    let mut input = opening.as_bytes().to_vec();
    for (number, (kind, template, bytes)) in (1_usize..).zip(lines) {
        let bytes = spell_out(bytes, &WORDS);
        input.extend(line(number, kind, MessageTemplate::of(template), &bytes));
        input.push(b'\n');
    }
    let output = SCENE.runtime.block_on(answers(&input));
    for line in output.lines() {
        check(line.as_bytes());
    }
});

/// A line, which is a message if the input says what it should. It may be more than one line if it does not.
fn line(number: usize, kind: u8, template: &MessageTemplate, bytes: &[u8]) -> Vec<u8> {
    let id = number.to_string();
    match kind % 5 {
        0 => bytes.to_vec(),
        1 => [b"[", bytes, b"]"].concat(),
        2 => template.message(id.as_bytes(), META, bytes),
        // Others may have the same id.
        3 => template.message(b"1", "", bytes),
        _ => template.message(id.as_bytes(), "", bytes),
    }
}

/// Admission of a client without a token.
fn anybody() -> stdio::AdmitClient {
    Box::new(|| {
        Ok(Admission {
            rights: Rights::default(),
            ended: CancellationToken::new(),
        })
    })
}

async fn answers(lines: &[u8]) -> String {
    let (written, mut read) = tokio::io::duplex(ROOM);
    let serving = stdio::serve(Arc::clone(&SCENE.gateway), anybody(), lines, written);
    let mut output = String::new();
    let (served, collected) = tokio::join!(serving, read.read_to_string(&mut output));
    served.expect("nothing keeps the lines from being read");
    collected.expect("answers are text");
    assert!(output.is_empty() || output.ends_with('\n'), "{output}");
    output
}

fn check(line: &[u8]) {
    if !batch::is_list(line) {
        let read = Message::parse(line);
        assert!(read.is_ok(), "{}: {read:?}", String::from_utf8_lossy(line));
        return;
    }
    let answers: Vec<&RawValue> = serde_json::from_slice(line).expect("a list is JSON");
    assert!(!answers.is_empty());
    for answer in answers {
        let read = Message::parse(answer.get().as_bytes());
        assert!(matches!(read, Ok(Message::Response { .. })), "{answer}");
    }
}
