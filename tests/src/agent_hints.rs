//! Agent hints that the gateway adds to results of servers.

use serde_json::Value;

/// The hints that the gateway added; null where it had nothing to say.
pub fn hints(answer: &Value) -> Value {
    answer["_meta"]["dev.mcpproxy/hints"].clone()
}

/// The first thing that hints suggest.
pub fn suggestion(hints: &Value) -> Option<Value> {
    hints["suggestedNextActions"].get(0).cloned()
}

/// Checks that hints suggest to read with a tool first.
#[track_caller]
pub fn check_suggestion(suggestion: &Value, tool: &str) {
    assert_eq!(suggestion["tool"], tool, "{suggestion}");
    let action = suggestion["action"].as_str().unwrap_or_default();
    let is_kebab_case = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    assert!(
        !action.is_empty() && action.bytes().all(is_kebab_case),
        "{suggestion}"
    );
    assert_eq!(suggestion["call_with"], "call_tool_read", "{suggestion}");
    assert_eq!(suggestion["priority"], "high", "{suggestion}");
}
