//! The tools an agent sees: five, whatever stands behind them.
//!
//! The text of the four seed tools is part of the product's interface. The list is made
//! once for each mode and sent as it is, so it is the same for everybody who may use all of it.

use std::borrow::Cow;
use std::sync::LazyLock;

use mcpproxy_policy::{AccessTo, Mode, Operation, Rights};
use serde_json::{Value, json};

/// Use of the three variants, told with every search result.
pub const USAGE_INSTRUCTIONS: &str = "Use call_tool_read for read-only operations, call_tool_write for modifications, call_tool_destructive for deletions. Intent must match tool variant.";

/// Instructions that a client gets when it connects.
pub const INSTRUCTIONS: &str = "Find tools with retrieve_tools, then call them by the variant it names in call_with: call_tool_read, call_tool_write or call_tool_destructive.";

/// Tool of earlier versions that the three variants took the place of.
pub(crate) const REMOVED_TOOL: &str = "call_tool";

/// Answer to a call of the removed `call_tool`.
const CALL_TOOL_IS_GONE: &str = "Tool 'call_tool' not found. Use call_tool_read, call_tool_write, or call_tool_destructive with matching intent.operation_type. See retrieve_tools for annotations and recommendations.";

static TWO_KEY: LazyLock<String> = LazyLock::new(|| list(Mode::TwoKey).to_string());
static INFERRED: LazyLock<String> = LazyLock::new(|| list(Mode::Inferred).to_string());

/// Result of `tools/list`, as text: without the variants whose operations a caller with these rights lacks.
pub fn tools_list(mode: Mode, rights: &Rights) -> Cow<'static, str> {
    if is_whole(rights) {
        return Cow::Borrowed(match mode {
            Mode::TwoKey => &TWO_KEY,
            Mode::Inferred => &INFERRED,
        });
    }
    let mut list = list(mode);
    if let Some(tools) = list["tools"].as_array_mut() {
        tools.retain(|tool| {
            let variant = tool["name"].as_str().and_then(Operation::of_variant);
            variant.is_none_or(|operation| rights.allow(AccessTo::Operation(operation)))
        });
    }
    Cow::Owned(list.to_string())
}

/// Whether a caller with these rights gets the whole menu, as everybody else does who may use all variants.
pub fn is_whole(rights: &Rights) -> bool {
    Operation::ALL
        .into_iter()
        .all(|operation| rights.allow(AccessTo::Operation(operation)))
}

/// Input schema of a tool of the menu, so that a caller can repair what it sent.
pub(crate) fn input_schema(name: &str, mode: Mode) -> Value {
    let mut list = list(mode);
    let tools = list["tools"].as_array_mut().map(std::mem::take);
    let tool = tools.and_then(|tools| tools.into_iter().find(|tool| tool["name"] == name));
    tool.map_or(Value::Null, |mut tool| tool["inputSchema"].take())
}

/// Message about a tool that is not on the menu.
pub fn unknown_tool(name: &str, rights: &Rights) -> String {
    if name == REMOVED_TOOL {
        return CALL_TOOL_IS_GONE.to_owned();
    }
    let shown: String = name.chars().take(200).collect();
    let variants = Operation::ALL.into_iter();
    let variants = variants.filter(|one| rights.allow(AccessTo::Operation(*one)));
    let variants: Vec<&str> = variants.map(Operation::variant).collect();
    let (last, how_many) = match variants.len() {
        0 | 1 => ("last one", variants.len()),
        2 => ("last two", 2),
        _ => ("last three", 3),
    };
    let mut offered = [&["retrieve_tools", "describe_tool"], &*variants].concat();
    let end = offered.pop().unwrap_or_default();
    let offered = offered.join(", ");
    let called = match how_many {
        0 => String::new(),
        _ => format!("; tools of other servers are called through the {last}"),
    };
    format!("Tool '{shown}' not found. This server offers {offered} and {end}{called}.")
}

fn list(mode: Mode) -> Value {
    json!({ "tools": [
        retrieve_tools(),
        describe_tool(),
        call_tool(Operation::Read, mode),
        call_tool(Operation::Write, mode),
        call_tool(Operation::Destructive, mode),
    ] })
}

fn retrieve_tools() -> Value {
    json!({
        "name": "retrieve_tools",
        "description": "Search for tools across all upstream servers. Results include annotations (readOnlyHint, destructiveHint) and recommended call_with variant. Use call_tool_read for read-only operations, call_tool_write for modifications, call_tool_destructive for deletions. Intent must match tool variant.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What the tool should do, in a few words or one sentence" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 50, "description": "How many tools to return" },
                "detail": { "type": "string", "enum": ["auto", "full", "compact"], "description": "full: with input schemas; compact: one line each, see describe_tool for more; auto: full up to three" },
                "read_only_only": { "type": "boolean", "description": "Only tools marked read-only" },
                "exclude_destructive": { "type": "boolean", "description": "No tools marked destructive" },
                "server": { "type": "string", "description": "Only tools of this server" },
            },
            "required": ["query"],
            "additionalProperties": false,
        },
        "annotations": { "title": "Find tools", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false },
    })
}

fn describe_tool() -> Value {
    json!({
        "name": "describe_tool",
        "description": "Get the full definition of tools found via retrieve_tools: description, input schema, annotations and the recommended call_with variant.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "names": {
                    "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 20,
                    "description": "Tool names in the form server:tool",
                },
            },
            "required": ["names"],
            "additionalProperties": false,
        },
        "annotations": { "title": "Describe tools", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false },
    })
}

fn call_tool(operation: Operation, mode: Mode) -> Value {
    let mut properties = json!({
        "name": { "type": "string", "description": "Tool name in the form server:tool" },
        "args_json": { "type": "string", "description": "Arguments for the tool as JSON text" },
        "args": { "type": "object", "description": "Arguments for the tool as an object, instead of args_json" },
    });
    let mut required = vec!["name"];
    let sensitivity = json!({ "type": "string", "enum": ["public", "internal", "private", "unknown"], "description": "How sensitive the data is" });
    let reason =
        json!({ "type": "string", "maxLength": 1000, "description": "Why the call is made" });
    match mode {
        Mode::TwoKey => {
            required.push("intent");
            properties["intent"] = json!({
                "type": "object",
                "description": "What the call does; must match this variant",
                "properties": {
                    "operation_type": { "type": "string", "enum": [operation.as_str()] },
                    "data_sensitivity": sensitivity,
                    "reason": reason,
                },
                "required": ["operation_type"],
                "additionalProperties": false,
            });
        }
        Mode::Inferred => {
            properties["intent_data_sensitivity"] = sensitivity;
            properties["intent_reason"] = reason;
        }
    }
    json!({
        "name": operation.variant(),
        "description": description(operation, mode),
        "inputSchema": { "type": "object", "properties": properties, "required": required },
        "annotations": annotations(operation),
    })
}

fn description(operation: Operation, mode: Mode) -> String {
    let (kind, purpose) = match operation {
        Operation::Read => ("read-only", "query data without modifying state"),
        Operation::Write => ("state-modifying", "create or update resources"),
        Operation::Destructive => ("destructive", "delete or permanently modify resources"),
    };
    let check = match operation {
        Operation::Destructive => "Most permissive - allowed regardless of server annotations.",
        _ => "Will be rejected if server marks tool as destructive.",
    };
    let declares = match mode {
        Mode::TwoKey => format!("Requires intent.operation_type='{operation}'."),
        Mode::Inferred => format!("The operation type '{operation}' is taken from this variant."),
    };
    format!(
        "Execute a {kind} tool discovered via retrieve_tools. Use for operations that {purpose}. {declares} {check}"
    )
}

/// Annotations, which clients that ask before each call decide by. Calls reach other servers, so the
/// world is open, and nothing is promised about repeating one.
fn annotations(operation: Operation) -> Value {
    let (title, read_only, destructive) = match operation {
        Operation::Read => ("Call a tool that reads", true, false),
        Operation::Write => ("Call a tool that writes", false, false),
        Operation::Destructive => ("Call a tool that destroys", false, true),
    };
    json!({ "title": title, "readOnlyHint": read_only, "destructiveHint": destructive, "openWorldHint": true })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound the product promises for the whole menu, as compact JSON.
    const MENU_LIMIT: usize = 6 * 1024;

    #[test]
    fn the_menu_is_five_tools_in_under_six_kilobytes() {
        for mode in [Mode::TwoKey, Mode::Inferred] {
            let text = tools_list(mode, &Rights::Administrator);
            assert!(text.len() < MENU_LIMIT, "{mode:?}: {} bytes", text.len());
            let menu: Value = serde_json::from_str(&text).unwrap();
            let names: Vec<_> = menu["tools"]
                .as_array()
                .unwrap()
                .iter()
                .map(|tool| tool["name"].as_str().unwrap())
                .collect();
            assert_eq!(
                names,
                [
                    "retrieve_tools",
                    "describe_tool",
                    "call_tool_read",
                    "call_tool_write",
                    "call_tool_destructive"
                ]
            );
        }
    }

    #[test]
    fn the_advertised_schema_follows_the_mode() {
        let menu: Value =
            serde_json::from_str(&tools_list(Mode::TwoKey, &Rights::Administrator)).unwrap();
        let schema = &menu["tools"][3]["inputSchema"];
        assert_eq!(schema["required"], json!(["name", "intent"]));
        assert_eq!(
            schema["properties"]["intent"]["properties"]["operation_type"]["enum"],
            json!(["write"])
        );
        let menu: Value =
            serde_json::from_str(&tools_list(Mode::Inferred, &Rights::Administrator)).unwrap();
        let schema = &menu["tools"][3]["inputSchema"];
        assert_eq!(schema["required"], json!(["name"]));
        assert!(schema["properties"].get("intent").is_none());
        assert!(schema["properties"].get("intent_reason").is_some());
    }

    #[test]
    fn descriptions_say_what_the_specification_says() {
        let menu: Value =
            serde_json::from_str(&tools_list(Mode::TwoKey, &Rights::Administrator)).unwrap();
        let descriptions: Vec<_> = [0, 2, 3, 4]
            .iter()
            .map(|index| menu["tools"][index]["description"].as_str().unwrap())
            .collect();
        assert_eq!(
            descriptions,
            [
                "Search for tools across all upstream servers. Results include annotations (readOnlyHint, destructiveHint) and recommended call_with variant. Use call_tool_read for read-only operations, call_tool_write for modifications, call_tool_destructive for deletions. Intent must match tool variant.",
                "Execute a read-only tool discovered via retrieve_tools. Use for operations that query data without modifying state. Requires intent.operation_type='read'. Will be rejected if server marks tool as destructive.",
                "Execute a state-modifying tool discovered via retrieve_tools. Use for operations that create or update resources. Requires intent.operation_type='write'. Will be rejected if server marks tool as destructive.",
                "Execute a destructive tool discovered via retrieve_tools. Use for operations that delete or permanently modify resources. Requires intent.operation_type='destructive'. Most permissive - allowed regardless of server annotations.",
            ]
        );
    }
}
