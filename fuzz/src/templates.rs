//! Messages that a client can send, with room for what an input fills in.

/// Message that a client can send, around what an input fills in.
#[derive(Debug)]
pub struct MessageTemplate {
    /// Its method.
    pub method: &'static str,
    /// The name that headers have to repeat.
    pub name: &'static str,
    before: &'static str,
    after: &'static str,
}

/// Metadata that every request of the stateless protocol has.
pub const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"#;

impl MessageTemplate {
    /// Template that a byte chooses.
    pub fn of(byte: u8) -> &'static Self {
        &TEMPLATES[usize::from(byte) % TEMPLATES.len()]
    }

    /// Message with what an input fills in; `id` is JSON, and so is `meta` with a comma after it.
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

const fn template(
    method: &'static str,
    name: &'static str,
    before: &'static str,
    after: &'static str,
) -> MessageTemplate {
    MessageTemplate {
        method,
        name,
        before,
        after,
    }
}

const TEMPLATES: [MessageTemplate; 20] = [
    template("ping", "", "", ""),
    template("initialize", "", r#""protocolVersion":"2025-03-26","#, ""),
    template("server/discover", "", "", ""),
    template("tools/list", "", "", ""),
    template("tools/call", "x", r#""name":"x","arguments":"#, ""),
    template(
        "tools/call",
        "retrieve_tools",
        r#""name":"retrieve_tools","arguments":{"query":"#,
        "}",
    ),
    template(
        "tools/call",
        "describe_tool",
        r#""name":"describe_tool","arguments":{"names":["#,
        "]}",
    ),
    template(
        "tools/call",
        "call_tool_read",
        r#""name":"call_tool_read","arguments":{"intent":{"operation_type":"read","reason":"r"},"name":"cards:search-cards","args":{"#,
        "}}",
    ),
    template(
        "tools/call",
        "call_tool_write",
        r#""name":"call_tool_write","arguments":{"intent":{"operation_type":"write","reason":"r"},"name":"cards:create-deck","args":{"#,
        "}}",
    ),
    template(
        "tools/call",
        "call_tool_read",
        r#""name":"call_tool_read","arguments":{"#,
        "}",
    ),
    template(
        "tools/call",
        "cards__search-cards",
        r#""name":"cards__search-cards","arguments":{"#,
        "}",
    ),
    template(
        "tools/call",
        "search-cards",
        r#""name":"search-cards","arguments":{"#,
        "}",
    ),
    template("prompts/list", "", "", ""),
    template("prompts/get", "p", r#""name":"p","#, ""),
    template("resources/list", "", "", ""),
    template("resources/read", "test:a", r#""uri":"test:a","#, ""),
    template(
        "completion/complete",
        "",
        r#""ref":{"type":"ref/prompt","#,
        "}",
    ),
    template("resources/subscribe", "", r#""uri":"#, ""),
    template("subscriptions/listen", "", r#""notifications":{"#, "}"),
    template("logging/setLevel", "", r#""level":"#, ""),
];
