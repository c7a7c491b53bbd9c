//! A call as it was asked for: checked for shape, not yet for meaning.

use mcpproxy_catalog::Violation;
use mcpproxy_policy::{DeclaredIntent, Operation};
use mcpproxy_support::nearest::nearest_keyword;
use mcpproxy_wire::json::{Fields, ObjectError, parse_strict, text_of};
use mcpproxy_wire::{Json, JsonObject};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::failure::{Code, Failure, violation};

/// Parameters that every `call_tool_*` variant takes.
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

/// The most violations by unknown parameters that are listed: an agent repairs the first few and tries again.
const UNKNOWN_LISTED: usize = 20;

/// Characters of the name of no tool that are worth recording.
pub(crate) const SHOWN_NAME: usize = 300;

/// Call as its caller wants it.
#[derive(Debug)]
pub struct CallRequest {
    /// Variant of the menu it came through; none if the tool was called by its own name, so that
    /// the operation is the tool's own.
    pub variant: Option<Operation>,
    /// `server:tool`, not yet split.
    pub name: String,
    /// Arguments of the tool.
    pub arguments: JsonObject,
    /// Intent as it is declared.
    pub declared: DeclaredIntent,
    /// Whether it came to the endpoint that the server has for itself, where it is as if there was no gateway.
    pub is_at_own_endpoint: bool,
    /// Parameters that should be objects and came as JSON text of one, by their names.
    pub from_text: Vec<&'static str>,
}

/// Call whose arguments could not be read, with what of it could.
#[derive(Debug)]
pub struct UnreadableCall {
    /// Variant of the menu it came through.
    pub(crate) variant: Operation,
    /// `server:tool`, as far as it is a name.
    pub(crate) name: Option<String>,
    /// Intent as it is declared.
    pub(crate) declared: DeclaredIntent,
    /// Bytes of what was given as arguments.
    pub(crate) size: usize,
    /// Reason that it is refused for.
    pub(crate) failure: Failure,
}

// === impl CallRequest ===

impl CallRequest {
    /// Reads the arguments of a `call_tool_*` variant. Those of the tool share their bytes. `may_coerce` says for the name of
    /// a tool whether JSON text of an object may stand for the object.
    pub fn parse(
        variant: Operation,
        given: &Json,
        may_coerce: impl Fn(&str) -> bool,
    ) -> Result<Self, Box<UnreadableCall>> {
        let unreadable = |name, declared, size, failure: Failure| {
            Box::new(UnreadableCall {
                variant,
                name,
                declared,
                size,
                failure: failure.with("variant", variant.variant()),
            })
        };
        let whole = given.text().len();
        let mut reader = ParameterReader::new(given, PARAMETERS, variant.variant())
            .map_err(|failure| unreadable(None, DeclaredIntent::default(), whole, failure))?;
        let name = reader.read("name", "must be a string in the form server:tool");
        reader.require("name", "is required, in the form server:tool");
        let name: Option<String> = name;
        if !name.as_deref().is_none_or(is_bounded) {
            reader.refuse("name", "is longer than any name");
        }
        let may_coerce = || may_coerce(name.as_deref().unwrap_or_default());
        let (arguments, args_from_text) = reader.read_arguments(given, may_coerce);
        let mut declared = reader.read_declared();
        let intent = declared.intent.as_ref().and_then(object_in_text);
        let intent = intent.filter(|_| may_coerce());
        let from_text = [("args", args_from_text), ("intent", intent.is_some())];
        let from_text = from_text.into_iter().filter(|(_, is_text)| *is_text);
        let from_text = from_text.map(|(name, _)| name).collect();
        declared.intent = intent.or(declared.intent);
        let size = reader.arguments_size().unwrap_or(whole);
        match reader.finish(arguments.unwrap_or_else(JsonObject::empty)) {
            Ok(arguments) => Ok(Self {
                variant: Some(variant),
                name: name.unwrap_or_default(),
                arguments,
                declared,
                is_at_own_endpoint: false,
                from_text,
            }),
            Err(failure) => Err(unreadable(name, declared, size, failure)),
        }
    }
}

/// Whether a name is of a length that a name can have; it is repeated and recorded.
pub(crate) fn is_bounded(name: &str) -> bool {
    name.chars().nth(NAME_LIMIT).is_none()
}

/// Splits `server:tool` at the first colon.
pub fn split_name(name: &str) -> Result<(&str, &str), Failure> {
    let halves = name.split_once(':');
    let halves = halves.filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
    halves.ok_or_else(|| {
        let shown = cut(name, 200);
        let message = format!(
            "Invalid tool name '{shown}': must be server:tool, as retrieve_tools returns it"
        );
        Failure::new(Code::InvalidToolName, message)
    })
}

/// Part of a text that is worth repeating. The mark at the cut also tells the log that a secret
/// may have been cut through.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reader of the parameters of a tool of the menu. It gathers everything that is wrong with them.
pub(crate) struct ParameterReader<'a> {
    tool: &'static str,
    fields: Fields<'a>,
    violations: Vec<Violation>,
}

impl<'a> ParameterReader<'a> {
    /// Parameters that nobody reads are most likely misspelt, so they are refused.
    pub(crate) fn new(
        given: &'a Json,
        known: &[&str],
        tool: &'static str,
    ) -> Result<Self, Failure> {
        let Some(fields) = given.fields() else {
            let violations = [violation("", "must be an object")];
            return Err(Failure::invalid_arguments(tool, &violations));
        };
        let mut violations = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for (name, _) in fields.iter() {
            if !known.contains(&name) {
                if violations.len() >= UNKNOWN_LISTED {
                    continue;
                }
                let near = nearest_keyword(name, known);
                let hint = near.map(|near| format!(", did you mean '{near}'?"));
                let message = format!("unknown parameter{}", hint.unwrap_or_default());
                violations.push(Violation {
                    is_strange: near.is_none(),
                    ..violation(pointer(name), message)
                });
            } else if seen.contains(&name) {
                violations.push(violation(pointer(name), "is given twice"));
            } else {
                seen.push(name);
            }
        }
        Ok(Self {
            tool,
            fields,
            violations,
        })
    }

    /// Reads a parameter, if it is given.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, name: &str, expected: &str) -> Option<T> {
        let raw = self.fields.given(name)?;
        let read = serde_json::from_str(raw.get()).ok();
        if read.is_none() {
            self.refuse(name, expected);
        }
        read
    }

    /// Refuses parameters without this one.
    pub(crate) fn require(&mut self, name: &str, message: &str) {
        if self.fields.given(name).is_none() {
            self.refuse(name, message);
        }
    }

    /// Refuses a parameter.
    pub(crate) fn refuse(&mut self, name: &str, message: impl Into<String>) {
        self.violations.push(violation(pointer(name), message));
    }

    /// Gives the value that was read, unless something is wrong with the parameters.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, Failure> {
        if self.violations.is_empty() {
            return Ok(value);
        }
        Err(Failure::invalid_arguments(self.tool, &self.violations))
    }

    /// Reads the arguments of the tool, and tells whether they came as JSON text where an object should be.
    fn read_arguments(
        &mut self,
        given: &Json,
        may_coerce: impl Fn() -> bool,
    ) -> (Option<JsonObject>, bool) {
        if let (Some(raw), None) = (self.fields.given("args"), self.fields.given("args_json"))
            && let Some(object) = arguments_in_text(raw.get())
            && may_coerce()
        {
            return (Some(object), true);
        }
        (self.read_given_arguments(given), false)
    }

    fn read_given_arguments(&mut self, given: &Json) -> Option<JsonObject> {
        let (name, read) = match (self.fields.given("args"), self.fields.given("args_json")) {
            (Some(_), Some(_)) => {
                let message = "args and args_json are both given, send one of them";
                ("args", Err(message.to_owned()))
            }
            (Some(object), None) => {
                let object = JsonObject::of(&given.part(object));
                let read = object.map_err(|error| match error {
                    ObjectError::NotAnObject => format!("{error}; JSON text goes into args_json"),
                    ObjectError::Json(_) => error.to_string(),
                });
                ("args", read)
            }
            (None, Some(text)) => ("args_json", read_encoded_arguments(text)),
            (None, None) => return None,
        };
        read.map_err(|message| self.refuse(name, message)).ok()
    }

    /// Bytes of what was given as the arguments of a tool.
    fn arguments_size(&self) -> Option<usize> {
        let given = ["args", "args_json"].map(|name| self.fields.given(name));
        let sizes = given.into_iter().flatten().map(|raw| raw.get().len());
        sizes.reduce(|one, other| one + other)
    }

    fn read_declared(&mut self) -> DeclaredIntent {
        let mut read = |name: &str| {
            // A value that says two things at once is refused here, before it can mean either.
            let read = parse_strict(self.fields.given(name)?.get());
            read.map_err(|error| self.refuse(name, error.to_string()))
                .ok()
        };
        DeclaredIntent {
            intent: read("intent"),
            operation_type: read("intent_operation_type"),
            data_sensitivity: read("intent_data_sensitivity"),
            reason: read("intent_reason"),
        }
    }
}

/// Object that a JSON string has the text of, where it has; by the rules of all arguments.
pub(crate) fn arguments_in_text(json: &str) -> Option<JsonObject> {
    if !json.trim_start().starts_with('"') {
        return None;
    }
    JsonObject::parse(&text_of(json.trim())?).ok()
}

/// Object that a text value has the text of, where it has. One that says two things at once is none.
fn object_in_text(value: &Value) -> Option<Value> {
    parse_strict(value.as_str()?).ok().filter(Value::is_object)
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

/// Name as one step of a JSON pointer, cut where repeating it helps nobody.
fn pointer(name: &str) -> String {
    format!("/{}", cut(name, 100).replace('~', "~0").replace('/', "~1"))
}
