//! Any bytes on a connection of the HTTP faces, with a whole gateway behind them: it ends every connection, answers
//! what is a request with JSON or events, and lives on.
//!
//! Few inputs would be a request by chance, so most choose one and fill in a part of it.

#![no_main]

use std::sync::{Arc, LazyLock};
use std::sync::atomic::{AtomicU64, Ordering};

use libfuzzer_sys::fuzz_target;
use mcpproxy_fuzz::gateway::{API_KEY, Scene};
use mcpproxy_fuzz::http::{FuzzedResponse, Expect, exchange};
use mcpproxy_fuzz::templates::{META, MessageTemplate};
use mcpproxy_fuzz::words::spell_out;
use mcpproxy_server::{Entrance, Reach};
use mcpproxy_wire::{Message, batch, sse};
use serde_json::Value;
use serde_json::value::RawValue;

const ENDPOINTS: [&str; 4] = ["/mcp", "/mcp/all", "/mcp/s/cards", "/mcp/s/mcpproxy"];

const WORDS: [&str; 24] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
    r#""jsonrpc":"2.0","#,
    r#""id":1,"#,
    r#""method":"#,
    r#""params":{"#,
    r#""_meta":{"progressToken":1}"#,
    r#""cursor":"#,
    r#""toolsListChanged":true"#,
    r#""resourceSubscriptions":["#,
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n",
    "Content-Length: ",
    "Transfer-Encoding: chunked\r\n",
    "\r\nExpect: 100-continue\r\n",
    "\r\n\r\n",
    "activity?limit=",
    "activity/summary?",
    "activity/export?",
    "activity/verify",
    "events?",
    "status",
    "tools?",
    "tools/cards/search-cards",
    "openapi.json",
    "&type=tool_call",
];

/// After so many inputs the gateway has to show that it lives.
const CHECK_EVERY: u64 = 64;

static SCENE: LazyLock<Scene> = LazyLock::new(|| Scene::start("http_request"));
static LOOPBACK: LazyLock<Arc<Entrance>> = LazyLock::new(|| Entrance::new(&SCENE.app, Reach::Loopback));
static SESSIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| ENDPOINTS.iter().map(|path| open_session(path)).collect());
static INPUTS: AtomicU64 = AtomicU64::new(0);

/// The requests that an input can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// None: the input is all of it.
    Bytes,
    /// A message with headers that may say anything of its length.
    AnyHeaders,
    /// A message in chunks, with headers after it.
    Chunks,
    /// A message of a session.
    InSession,
    /// Many of them.
    List,
    /// A message of the stateless protocol.
    Stateless,
    /// The same under headers that may say something else.
    Mismatched,
    /// A message of a session that the input names.
    InAnySession,
    /// A message that is to be answered in events, or in what else the input accepts.
    InEvents,
    /// The stream of a session.
    Stream,
    /// The end of a session that the input names.
    End,
    /// What administrators can look at.
    Administration,
    /// A call of an administrator.
    AdministratorsCall,
}

use Kind::{
    Administration, AdministratorsCall, AnyHeaders, Stateless, Bytes, Chunks, End, InAnySession,
    InEvents, InSession, List, Mismatched, Stream,
};

const KINDS: [Kind; 13] = [
    Bytes,
    AnyHeaders,
    Chunks,
    InSession,
    List,
    Stateless,
    Mismatched,
    InAnySession,
    InEvents,
    Stream,
    End,
    Administration,
    AdministratorsCall,
];

fuzz_target!(|input: (u8, u8, u8, &[u8], &[u8])| {
    let (kind, endpoint, template, value, bytes) = input;
    let (value, bytes) = (spell_out(value, &WORDS), spell_out(bytes, &WORDS));
    let fuzzed = FuzzedRequest {
        endpoint: usize::from(endpoint) % ENDPOINTS.len(),
        template: MessageTemplate::of(template),
        value: &value,
        bytes: &bytes,
    };
    let kind = KINDS[usize::from(kind) % KINDS.len()];
    let request = match kind {
        Administration | AdministratorsCall => fuzzed.of_administrator(kind),
        Bytes | Chunks => fuzzed.loose(kind),
        _ => fuzzed.of_agent(kind),
    };
    check(&send(&request, kind.expect()), kind);
    if INPUTS.fetch_add(1, Ordering::Relaxed) % CHECK_EVERY == 0 {
        check_life();
    }
});

impl Kind {
    fn expect(self) -> Expect {
        match self {
            Bytes | AnyHeaders | Chunks => Expect::Anything,
            _ => Expect::Response,
        }
    }

    /// Whether a message is sent, so that messages are the answer.
    fn is_message(self) -> bool {
        matches!(
            self,
            InSession | List | Stateless | Mismatched | InAnySession | InEvents
        )
    }
}

/// What an input chose, and what it fills in.
struct FuzzedRequest<'a> {
    endpoint: usize,
    template: &'static MessageTemplate,
    value: &'a [u8],
    bytes: &'a [u8],
}

impl FuzzedRequest<'_> {
    /// A request that may be none.
    fn loose(&self, kind: Kind) -> Vec<u8> {
        if kind == Bytes {
            return [self.value, self.bytes, b"\r\n\r\n"].concat();
        }
        let path = ENDPOINTS[self.endpoint];
        let message = self.message(META);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n",
            message.len()
        );
        let parts: [&[u8]; 5] = [
            head.as_bytes(),
            &message,
            b"\r\n0\r\n",
            self.value,
            b"\r\n\r\n",
        ];
        parts.concat()
    }

    fn of_agent(&self, kind: Kind) -> Vec<u8> {
        let path = ENDPOINTS[self.endpoint];
        let session = format!("Mcp-Session-Id: {}\r\n", SESSIONS[self.endpoint]);
        let MessageTemplate { method, name, .. } = self.template;
        let stateless = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
        let value = match kind {
            AnyHeaders => self.value.to_vec(),
            _ => one_line(self.value),
        };
        let headers = match kind {
            InSession | List => session,
            Stateless => format!("{stateless}Mcp-Name: {name}\r\n"),
            Mismatched => format!("{stateless}Mcp-Name: "),
            InEvents => format!("{session}Accept: text/event-stream,"),
            Stream => format!("{session}Accept: text/event-stream\r\nLast-Event-Id: "),
            AnyHeaders => format!("{session}X-Other: "),
            _ => "Mcp-Session-Id: ".to_owned(),
        };
        let value: &[u8] = match kind {
            InSession | List | Stateless => b"",
            _ => &[&value[..], b"\r\n"].concat(),
        };
        let (verb, body) = match kind {
            Stream => ("GET", Vec::new()),
            End => ("DELETE", Vec::new()),
            List => ("POST", [b"[", self.bytes, b"]"].concat()),
            Stateless | Mismatched => ("POST", self.message(META)),
            _ => ("POST", self.message("")),
        };
        whole(verb, path.as_bytes(), &[headers.as_bytes(), value], &body)
    }

    fn of_administrator(&self, kind: Kind) -> Vec<u8> {
        let key = format!("X-API-Key: {API_KEY}\r\nUser-Agent: ");
        let value = one_line(self.value);
        if kind == Administration {
            let path = [&b"/api/v1/"[..], &without_spaces(&value)].concat();
            return whole("GET", &path, &[key.as_bytes(), b"f\r\n"], b"");
        }
        let call: &[u8] = br#"{"variant":"call_tool_read","intent":{"operation_type":"read","reason":"r"},"name":"cards:search-cards","args":{"#;
        let body = [call, self.bytes, b"}}"].concat();
        let headers = [key.as_bytes(), &value, b"\r\n"];
        whole("POST", b"/api/v1/tools/call", &headers, &body)
    }

    fn message(&self, meta: &str) -> Vec<u8> {
        self.template.message(b"1", meta, self.bytes)
    }
}

/// A whole request, after whose answer the connection ends.
fn whole(method: &str, path: &[u8], headers: &[&[u8]], body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let rest = format!(
        " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
    );
    [
        method.as_bytes(),
        b" ",
        path,
        rest.as_bytes(),
        &headers.concat(),
        b"\r\n",
        body,
    ]
    .concat()
}

fn one_line(value: &[u8]) -> Vec<u8> {
    value
        .iter()
        .copied()
        .filter(|byte| !b"\r\n".contains(byte))
        .collect()
}

fn without_spaces(value: &[u8]) -> Vec<u8> {
    value.iter().copied().filter(|byte| *byte != b' ').collect()
}

fn send(request: &[u8], expect: Expect) -> Vec<u8> {
    SCENE
        .runtime
        .block_on(exchange(Arc::clone(&LOOPBACK), request, expect))
}

fn check(bytes: &[u8], kind: Kind) {
    let shown = String::from_utf8_lossy(bytes);
    let Some(answer) = FuzzedResponse::parse(bytes) else {
        let is_owed = kind.expect() == Expect::Response;
        assert!(!is_owed && bytes.is_empty(), "no answer: {shown}");
        return;
    };
    let is_sane = (200..=504).contains(&answer.status) && answer.status != 500;
    assert!(is_sane, "{shown}");
    if kind.expect() == Expect::Anything {
        return;
    }
    if answer.says("content-type: application/json") {
        let json: Value = serde_json::from_slice(&answer.body).expect("it says that it is JSON");
        assert!(json.is_object() || json.is_array(), "{shown}");
        if kind.is_message() && answer.status == 200 {
            check_messages(&answer.body);
        }
    } else if answer.says("content-type: text/event-stream") {
        let mut reader = sse::SseReader::new(usize::MAX);
        let events = reader.feed(&answer.body).expect("nothing is too large");
        for event in events.iter().filter(|_| kind.is_message()) {
            check_messages(event.data.as_bytes());
        }
    }
}

fn check_messages(bytes: &[u8]) {
    let shown = String::from_utf8_lossy(bytes);
    if !batch::is_list(bytes) {
        assert!(Message::parse(bytes).is_ok(), "{shown}");
        return;
    }
    let answers: Vec<&RawValue> = serde_json::from_slice(bytes).expect("a list is JSON");
    for answer in answers {
        let read = Message::parse(answer.get().as_bytes());
        assert!(matches!(read, Ok(Message::Response { .. })), "{answer}");
    }
}

/// A session of a revision that has lists of messages, so that those are reached as well.
fn open_session(path: &str) -> String {
    let hello = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"f","version":"1"}}}"#;
    let answer = send(&whole("POST", path.as_bytes(), &[], hello), Expect::Response);
    let head = String::from_utf8_lossy(&answer);
    let id = head
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "));
    id.expect("initialize opens a session")
        .trim_end()
        .to_owned()
}

fn check_life() {
    let session = format!("Mcp-Session-Id: {}\r\n", SESSIONS[0]);
    let ping = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let answer = send(
        &whole("POST", b"/mcp", &[session.as_bytes()], ping),
        Expect::Response,
    );
    let answer = FuzzedResponse::parse(&answer).expect("the gateway answers");
    assert_eq!(answer.body, br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
}
