//! What a client can ask, with room for what an input says.

/// What is asked, around what the input says of it.
#[derive(Debug)]
pub struct Question {
    /// Its method.
    pub method: &'static str,
    /// The name that headers have to repeat.
    pub name: &'static str,
    before: &'static str,
    after: &'static str,
}

/// What a request says of itself where there are no sessions.
pub const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"#;

impl Question {
    /// The question that a byte chooses.
    pub fn of(byte: u8) -> &'static Self {
        &QUESTIONS[usize::from(byte) % QUESTIONS.len()]
    }

    /// The message that asks it; `id` is JSON, and so is `meta` with a comma after it.
    pub fn message(&self, id: &[u8], meta: &str, bytes: &[u8]) -> Vec<u8> {
        let Self { method, before, .. } = self;
        let opening = format!(r#","method":"{method}","params":{{{meta}{before}"#);
        let head: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
        let parts: [&[u8]; 5] = [head, id, opening.as_bytes(), bytes, self.after.as_bytes()];
        let mut message = parts.concat();
        // A comma would make the rest no JSON where the input says nothing.
        while message.last() == Some(&b',') {
            message.pop();
        }
        message.extend_from_slice(b"}}");
        message
    }
}

const fn ask(
    method: &'static str,
    name: &'static str,
    before: &'static str,
    after: &'static str,
) -> Question {
    Question {
        method,
        name,
        before,
        after,
    }
}

const QUESTIONS: [Question; 20] = [
    ask("ping", "", "", ""),
    ask("initialize", "", r#""protocolVersion":"2025-03-26","#, ""),
    ask("server/discover", "", "", ""),
    ask("tools/list", "", "", ""),
    ask("tools/call", "x", r#""name":"x","arguments":"#, ""),
    ask(
        "tools/call",
        "retrieve_tools",
        r#""name":"retrieve_tools","arguments":{"query":"#,
        "}",
    ),
    ask(
        "tools/call",
        "describe_tool",
        r#""name":"describe_tool","arguments":{"names":["#,
        "]}",
    ),
    ask(
        "tools/call",
        "call_tool_read",
        r#""name":"call_tool_read","arguments":{"intent":{"operation_type":"read","reason":"r"},"name":"cards:search-cards","args":{"#,
        "}}",
    ),
    ask(
        "tools/call",
        "call_tool_write",
        r#""name":"call_tool_write","arguments":{"intent":{"operation_type":"write","reason":"r"},"name":"cards:create-deck","args":{"#,
        "}}",
    ),
    ask(
        "tools/call",
        "call_tool_read",
        r#""name":"call_tool_read","arguments":{"#,
        "}",
    ),
    ask(
        "tools/call",
        "cards__search-cards",
        r#""name":"cards__search-cards","arguments":{"#,
        "}",
    ),
    ask(
        "tools/call",
        "search-cards",
        r#""name":"search-cards","arguments":{"#,
        "}",
    ),
    ask("prompts/list", "", "", ""),
    ask("prompts/get", "p", r#""name":"p","#, ""),
    ask("resources/list", "", "", ""),
    ask("resources/read", "test:a", r#""uri":"test:a","#, ""),
    ask(
        "completion/complete",
        "",
        r#""ref":{"type":"ref/prompt","#,
        "}",
    ),
    ask("resources/subscribe", "", r#""uri":"#, ""),
    ask("subscriptions/listen", "", r#""notifications":{"#, "}"),
    ask("logging/setLevel", "", r#""level":"#, ""),
];
