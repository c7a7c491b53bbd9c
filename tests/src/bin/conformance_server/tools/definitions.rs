//! What the tools say of themselves.

use std::sync::atomic::Ordering;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::own;
use crate::state::Shared;

/// What a call of a tool does to the world.
#[derive(Clone, Copy)]
enum Effect {
    /// Answers from what the server has.
    Reads,
    /// Asks the client, its user or its model, and changes nothing.
    Asks,
    /// Adds to what the server has; doing it twice adds more.
    Adds,
    /// Adds to what the server has, once.
    AddsOnce,
}

/// The tools without arguments.
const PLAIN: &[(&str, Effect, &str)] = &[
    ("test_simple_text", Effect::Reads, "Answers with a text."),
    (
        "test_image_content",
        Effect::Reads,
        "Answers with an image.",
    ),
    ("test_audio_content", Effect::Reads, "Answers with a sound."),
    (
        "test_embedded_resource",
        Effect::Reads,
        "Answers with a resource.",
    ),
    (
        "test_multiple_content_types",
        Effect::Reads,
        "Answers with a text, an image and a resource.",
    ),
    (
        "test_error_handling",
        Effect::Reads,
        "Answers with an error.",
    ),
    (
        "test_tool_with_logging",
        Effect::Reads,
        "Logs what it does.",
    ),
    (
        "test_logging_tool",
        Effect::Reads,
        "Logs what it does, if the request asks for it.",
    ),
    (
        "test_tool_with_progress",
        Effect::Reads,
        "Tells how far it is.",
    ),
    (
        "test_reconnection",
        Effect::Reads,
        "Ends its stream before it answers.",
    ),
    (
        "test_trigger_tool_change",
        Effect::Adds,
        "Gives `test_changing_tool` another description.",
    ),
    (
        "test_trigger_prompt_change",
        Effect::Adds,
        "Gives `test_changing_prompt` another description.",
    ),
    (
        "test_missing_capability",
        Effect::Reads,
        "Refuses clients without a model.",
    ),
    (
        "test_elicitation_sep1034_defaults",
        Effect::Asks,
        "Asks the user with a form that is filled in.",
    ),
    (
        "test_elicitation_sep1330_enums",
        Effect::Asks,
        "Asks the user to choose from lists.",
    ),
    (
        "test_streaming_elicitation",
        Effect::Asks,
        "Tells its progress, then asks the user.",
    ),
    (
        "test_input_required_result_elicitation",
        Effect::Asks,
        "Asks the user for a name.",
    ),
    (
        "test_input_required_result_sampling",
        Effect::Asks,
        "Asks the model for a capital.",
    ),
    (
        "test_input_required_result_list_roots",
        Effect::Asks,
        "Asks for the roots.",
    ),
    (
        "test_input_required_result_request_state",
        Effect::Asks,
        "Asks, and keeps state meanwhile.",
    ),
    (
        "test_input_required_result_multiple_inputs",
        Effect::Asks,
        "Asks for three things at once.",
    ),
    (
        "test_input_required_result_multi_round",
        Effect::Asks,
        "Asks twice.",
    ),
    (
        "test_input_required_result_tampered_state",
        Effect::Asks,
        "Asks, and refuses changed state.",
    ),
    (
        "test_input_required_result_capabilities",
        Effect::Asks,
        "Asks for what the client can give.",
    ),
    (
        "wait",
        Effect::Adds,
        "Waits until the call is cancelled, and counts that.",
    ),
    (
        "waits",
        Effect::Reads,
        "Answers how many calls of `wait` have begun.",
    ),
    (
        "cancellations",
        Effect::Reads,
        "Answers how many calls of `wait` were cancelled.",
    ),
    (
        "unanswered",
        Effect::Reads,
        "Answers how many questions to clients got no answer.",
    ),
    ("add_tool", Effect::AddsOnce, "Adds the tool `added`."),
    (
        "touch_resource",
        Effect::Adds,
        "Gives test://watched-resource another revision.",
    ),
    (
        "ask_name",
        Effect::Asks,
        "Asks the user for a name and greets.",
    ),
];

/// The tools as they are now, always in the same order.
pub(crate) fn all(shared: &Shared) -> Vec<Tool> {
    let plain = PLAIN.iter();
    let mut tools: Vec<Tool> = plain
        .map(|(name, effect, description)| {
            tool(name, *effect, *description, &json!({ "type": "object" }))
        })
        .collect();
    tools.push(tool(
        "test_sampling",
        Effect::Asks,
        "Asks the model of the client.",
        &one_text("prompt", "The prompt to send to the LLM"),
    ));
    tools.push(tool(
        "test_elicitation",
        Effect::Asks,
        "Asks the user of the client.",
        &one_text("message", "The message to show the user"),
    ));
    let revision = shared.tool_revision.load(Ordering::SeqCst);
    tools.push(tool(
        "test_changing_tool",
        Effect::Reads,
        format!("A tool whose description changes. Revision {revision}."),
        &json!({ "type": "object" }),
    ));
    tools.push(tool(
        "json_schema_2020_12_tool",
        Effect::Reads,
        "Tool with JSON Schema 2020-12 features",
        &json_schema_2020_12(),
    ));
    tools.push(tool(
        "test_x_mcp_header",
        Effect::Reads,
        "A tool whose argument is also a header.",
        &mirrored(),
    ));
    if own::has_added(shared) {
        let description = "A tool that was not there from the beginning.";
        tools.push(tool(
            "added",
            Effect::Reads,
            description,
            &json!({ "type": "object" }),
        ));
    }
    tools
}

fn tool(
    name: &'static str,
    effect: Effect,
    description: impl Into<std::borrow::Cow<'static, str>>,
    schema: &Value,
) -> Tool {
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    let hints = ToolAnnotations::new();
    let hints = match effect {
        Effect::Reads => hints.read_only(true).open_world(false),
        Effect::Asks => hints.read_only(true).open_world(true),
        Effect::Adds | Effect::AddsOnce => hints
            .read_only(false)
            .destructive(false)
            .idempotent(matches!(effect, Effect::AddsOnce))
            .open_world(false),
    };
    Tool::new(name, description, schema).with_annotations(hints)
}

fn one_text(name: &str, description: &str) -> Value {
    json!({
        "type": "object",
        "properties": { name: { "type": "string", "description": description } },
        "required": [name],
    })
}

fn mirrored() -> Value {
    json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "query": { "type": "string" },
        },
        "required": ["region"],
    })
}

/// The schema that the suite looks for, keyword by keyword.
fn json_schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
