//! Tools and results as MCP sends them: plain JSON, whatever library carries it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::agent_hints::AgentHints;
use crate::pipeline::KnownBeside;
use crate::{CategoryEffect, PublishedError, Registered, ToolResult, agent_hints, pipeline};

/// The key in a tool's `_meta` that carries its definition and announces the contract.
pub const DEFINITION_KEY: &str = "dev.mcpproxy/definition";

/// The most suggestions the text names; all of them are in `structuredContent`.
const SUGGESTIONS_IN_TEXT: usize = 5;

/// A tool as `tools/list` has it.
pub fn tool(tool: &Registered) -> Value {
    let definition = tool.definition();
    json!({
        "name": definition.name,
        "description": definition.description,
        "inputSchema": tool.input_schema(),
        "outputSchema": output_schema(tool.data_schema()),
        "annotations": annotations(definition.effect, definition.idempotent),
        "_meta": { DEFINITION_KEY: definition },
    })
}

/// A result as `tools/call` has it: the whole result for programs, and a text that is enough for a
/// model that sees nothing else.
pub fn call_result(result: &ToolResult) -> Value {
    let structured = result.to_json();
    json!({
        "content": content(&structured),
        "structuredContent": structured,
        "isError": result.error().is_some(),
    })
}

/// Content of a result, made of its structured content: data and next steps in one text, for clients that show the
/// model nothing else. Who changes the hints of a service inside its own program makes the content anew.
pub fn content(structured: &Value) -> Value {
    json!([{ "type": "text", "text": text(structured) }])
}

/// Facts that somebody in front of a service knows beside an error.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownOfFailure {
    /// Tools that are suggested as a way out.
    pub helpers: u64,
    /// Calls of the tool that broke, of all that are known.
    pub broken_of_all: (u64, u64),
    /// Violations in its details of which nothing says what to send instead.
    pub strange: u64,
}

/// Agent hints of a failure that somebody in front of the service tells of: a gateway that refuses a call gives the same
/// as the service would, as sure as what is known beside the error makes them.
pub fn failure_hints(
    error: &PublishedError,
    retry_after: Option<Duration>,
    known: &KnownOfFailure,
) -> AgentHints {
    let known = KnownBeside {
        helpers: known.helpers,
        broken_of_all: known.broken_of_all,
        strange: known.strange,
    };
    pipeline::failed_with(error, retry_after, known)
}

/// Annotations: what a tool does to the world, as MCP says it. A repetition is only of interest where
/// something is changed.
fn annotations(effect: CategoryEffect, idempotent: bool) -> Value {
    match effect {
        CategoryEffect::Reads => json!({ "readOnlyHint": true, "openWorldHint": false }),
        CategoryEffect::Writes | CategoryEffect::Destroys => json!({
            "readOnlyHint": false,
            "destructiveHint": effect == CategoryEffect::Destroys,
            "idempotentHint": idempotent,
            "openWorldHint": false,
        }),
    }
}

/// The schema of a whole result: data or error. What hints look like is published once, by
/// [`agent_hints::schema`]; repeating it for every tool would cost each agent some thousand tokens.
fn output_schema(data_schema: &Value) -> Value {
    let mut data = data_schema.clone();
    // A recursive type refers to definitions at the root of the schema.
    let definitions = data.as_object_mut().and_then(|data| data.remove("$defs"));
    let mut schema = json!({
        "type": "object",
        "properties": {
            "data": data,
            "error": {
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "message": { "type": "string" },
                    "category": { "enum": ["validation", "business", "system"] },
                    "retryable": { "type": "boolean" },
                    "details": { "type": "object" },
                },
                "required": ["code", "message", "category", "retryable"],
            },
            "agentHints": { "type": "object", "required": agent_hints::schema()["required"] },
            "metadata": {
                "type": "object",
                "required": ["toolVersion", "timestamp", "executionTime", "serviceVersion"],
            },
        },
        "required": ["agentHints", "metadata"],
        "oneOf": [{ "required": ["data"] }, { "required": ["error"] }],
    });
    if let (Some(schema), Some(definitions)) = (schema.as_object_mut(), definitions) {
        schema.insert("$defs".to_owned(), definitions);
    }
    schema
}

/// Data, or the error, and next steps in one text.
fn text(structured: &Value) -> String {
    let (error, hints) = (&structured["error"], &structured["agentHints"]);
    let mut text = if error.is_object() {
        format!("{}: {}", word(&error["code"]), word(&error["message"]))
    } else {
        structured["data"].to_string()
    };
    let suggestions = hints["suggestedNextActions"].as_array();
    if let Some(suggestions) = suggestions.filter(|all| !all.is_empty()) {
        text.push_str("\n\nNext steps:");
        for suggestion in suggestions.iter().take(SUGGESTIONS_IN_TEXT) {
            text.push_str(&format!("\n- {}", in_brief(suggestion)));
        }
    }
    for warning in hints["warnings"].as_array().into_iter().flatten() {
        text.push_str(&format!("\n\nWarning: {}", word(&warning["message"])));
        if let Some(fix) = warning["suggestedFix"].as_str() {
            text.push_str(&format!("; {fix}"));
        }
    }
    text.push_str(&format!(
        "\n\nConfidence {}, source quality {}, valid: {}.",
        hints["confidence"],
        word(&hints["sourceQuality"]),
        word(&hints["validityPeriod"]),
    ));
    text
}

/// A suggestion in one line.
fn in_brief(suggestion: &Value) -> String {
    let [action, priority, description, outcome] =
        ["action", "priority", "description", "expectedOutcome"].map(|key| word(&suggestion[key]));
    let mut line = format!("{action} ({priority})");
    if let Some(why) = [description, outcome].iter().find(|text| !text.is_empty()) {
        line.push_str(&format!(": {why}"));
    }
    let data = &suggestion["data"];
    if data.as_object().is_some_and(|data| !data.is_empty()) {
        line.push_str(&format!(" with {data}"));
    }
    line
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
