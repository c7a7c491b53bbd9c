//! A call as it was asked for: checked for shape, not yet for meaning.

use mcpproxy_catalog::Violation;
use mcpproxy_policy::{DeclaredIntent, Operation};
use mcpproxy_support::nearest::nearest_keyword;
use mcpproxy_wire::json::{Fields, ObjectError, parse_strict};
use mcpproxy_wire::{Json, JsonObject};
use serde_json::value::RawValue;

use crate::failure::{Code, Failure};

/// The parameters that every `call_tool_*` variant takes.
const PARAMETERS: &[&str] = &[
    "name",
    "args_json",
    "args",
    "intent",
    "intent_operation_type",
    "intent_data_sensitivity",
    "intent_reason",
];

/// Server names have at most 64 characters and tool names 256.
const NAME_LIMIT: usize = 400;

/// What a caller wants done.
#[derive(Debug)]
pub struct CallRequest {
    /// Variant of the menu it came through; none if the tool was called by its own name, so that
    /// the operation is the tool's own.
    pub variant: Option<Operation>,
    /// `server:tool`, not yet split.
    pub name: String,
    /// What the tool is given.
    pub arguments: JsonObject,
    /// What is declared about the call.
    pub declared: DeclaredIntent,
}

/// The two halves of `server:tool`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolName {
    /// The server.
    pub server: String,
    /// Its tool.
    pub tool: String,
}

// === impl CallRequest ===

impl CallRequest {
    /// Reads the arguments of a `call_tool_*` variant. Those of the tool share their bytes.
    pub fn parse(variant: Operation, given: &Json) -> Result<Self, Failure> {
        let refuse = |violations: &[Violation]| {
            Failure::invalid_arguments(variant.variant(), violations)
                .with("variant", variant.variant())
        };
        let Some(fields) = given.fields() else {
            return Err(refuse(&[violation("", "must be an object")]));
        };
        let mut violations = unknown_parameters(&fields, PARAMETERS);
        let name = read_name(&fields, &mut violations);
        let arguments = read_arguments(given, &fields, &mut violations);
        let declared = read_declared(&fields, &mut violations);
        match (name, arguments) {
            (Some(name), Some(arguments)) if violations.is_empty() => Ok(Self {
                variant: Some(variant),
                name,
                arguments,
                declared,
            }),
            _ => Err(refuse(&violations)),
        }
    }
}

/// Parameters that nobody reads: most likely a misspelling, so they are refused.
pub(crate) fn unknown_parameters(fields: &Fields<'_>, known: &[&str]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (name, _) in fields.iter() {
        if !known.contains(&name) {
            let hint = nearest_keyword(name, known)
                .map(|near| format!(", did you mean '{near}'?"))
                .unwrap_or_default();
            violations.push(violation(
                &pointer(name),
                &format!("unknown parameter{hint}"),
            ));
        } else if seen.contains(&name) {
            violations.push(violation(&pointer(name), "is given twice"));
        } else {
            seen.push(name);
        }
    }
    violations
}

fn read_name(fields: &Fields<'_>, violations: &mut Vec<Violation>) -> Option<String> {
    let found = match fields
        .given("name")
        .map(|raw| serde_json::from_str::<String>(raw.get()))
    {
        Some(Ok(name)) if is_bounded(&name) => return Some(name),
        Some(Ok(_)) => "is longer than any name",
        Some(Err(_)) => "must be a string in the form server:tool",
        None => "is required, in the form server:tool",
    };
    violations.push(violation("/name", found));
    None
}

/// Whether a name is of a length that a name can have; it is repeated and recorded.
pub(crate) fn is_bounded(name: &str) -> bool {
    name.chars().nth(NAME_LIMIT).is_none()
}

fn read_arguments(
    given: &Json,
    fields: &Fields<'_>,
    violations: &mut Vec<Violation>,
) -> Option<JsonObject> {
    let (path, read) = match (fields.given("args"), fields.given("args_json")) {
        (Some(_), Some(_)) => (
            "/args",
            Err("args and args_json are both given, send one of them".to_owned()),
        ),
        (Some(object), None) => (
            "/args",
            JsonObject::of(&given.part(object)).map_err(|error| match error {
                ObjectError::NotAnObject => {
                    format!("{error}; JSON text goes into args_json")
                }
                ObjectError::Json(_) => error.to_string(),
            }),
        ),
        (None, Some(text)) => ("/args_json", read_encoded_arguments(text)),
        (None, None) => return Some(JsonObject::empty()),
    };
    read.map_err(|message| violations.push(violation(path, &message)))
        .ok()
}

/// Reads a JSON string that holds the text of an object. Agents send an empty string when a tool
/// takes nothing, so that counts as no arguments.
fn read_encoded_arguments(raw: &RawValue) -> Result<JsonObject, String> {
    let text: String = serde_json::from_str(raw.get())
        .map_err(|_| "must be a string of JSON; an object goes into args".to_owned())?;
    if text.trim().is_empty() {
        return Ok(JsonObject::empty());
    }
    JsonObject::parse(&text).map_err(|error| match error {
        ObjectError::NotAnObject => "must hold a JSON object".to_owned(),
        ObjectError::Json(_) => error.to_string(),
    })
}

fn read_declared(fields: &Fields<'_>, violations: &mut Vec<Violation>) -> DeclaredIntent {
    let mut read = |name: &str| {
        let raw = fields.given(name)?;
        // A value that says two things at once is refused here, before it can mean either.
        parse_strict(raw.get())
            .map_err(|error| violations.push(violation(&pointer(name), &error.to_string())))
            .ok()
    };
    DeclaredIntent {
        intent: read("intent"),
        operation_type: read("intent_operation_type"),
        data_sensitivity: read("intent_data_sensitivity"),
        reason: read("intent_reason"),
    }
}

pub(crate) fn violation(path: &str, message: &str) -> Violation {
    Violation {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}

/// A name as one step of a JSON pointer, cut where repeating it helps nobody.
pub(crate) fn pointer(name: &str) -> String {
    format!("/{}", cut(name, 100).replace('~', "~0").replace('/', "~1"))
}

/// As much of a text as is worth repeating. The mark at the cut also tells the log that a secret
/// may have been cut through.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

// === impl ToolName ===

impl ToolName {
    /// Splits `server:tool` at the first colon.
    pub fn parse(name: &str) -> Result<Self, Failure> {
        match name.split_once(':') {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => Ok(Self {
                server: server.to_owned(),
                tool: tool.to_owned(),
            }),
            _ => {
                let shown = cut(name, 200);
                Err(Failure::new(
                    Code::InvalidToolName,
                    format!(
                        "Invalid tool name '{shown}': must be server:tool, as retrieve_tools returns it"
                    ),
                ))
            }
        }
    }
}

impl std::fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.server, self.tool)
    }
}
