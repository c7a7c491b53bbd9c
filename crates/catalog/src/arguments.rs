//! Check of a call's arguments against the tool's input schema.
//!
//! Schemas come from servers nobody here wrote. One that is too large, is not valid, refers to another document, or has
//! a pattern with look-around or back references does not make its tool unusable: it is said once in the log, then only
//! that the arguments are an object is checked, and the upstream judges the rest. So does it with arguments whose check
//! would cost too much. `format` is not enforced, as the specification of JSON Schema leaves it to the receiver.

mod coercion;
mod message;
mod numbers;

use mcpproxy_schema::{Schema, Verdict};
use mcpproxy_wire::{Json, JsonObject};
use serde::Serialize;
use serde_json::{Map, Value};

pub use self::coercion::CoercedArguments;

/// The most violations that are reported. An agent repairs the first few and tries again.
const VIOLATION_LIMIT: usize = 50;

/// The largest schema that is read, in bytes.
const SIZE_LIMIT: usize = 256 * 1024;

/// Input schema of a tool, compiled.
#[derive(Debug)]
pub struct ArgumentSchema {
    /// Compiled form; `None` where only the shape is checked.
    schema: Option<Box<Schema>>,
    compares_numbers: bool,
}

/// Violation of a schema: one way in which arguments do not match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// A JSON pointer to the value: `/items/0/name`; empty for the arguments as a whole.
    pub path: String,
    /// Message that says what is expected there. It never repeats a long value.
    pub message: String,
    /// Whether it is about a name that is like no other, so that nothing says what to send instead.
    #[serde(skip)]
    pub is_strange: bool,
}

impl Violation {
    fn of_all(message: &str) -> Self {
        Self {
            path: String::new(),
            message: message.to_owned(),
            is_strange: false,
        }
    }
}

impl ArgumentSchema {
    /// Compiles a schema; `tool` is named in the log if that fails.
    pub(crate) fn compile(tool: &str, schema: &Json) -> Self {
        let compiled = compile(schema).inspect_err(|reason| {
            tracing::warn!(
                tool,
                reason,
                "the tool's input schema cannot be used, so its arguments are not checked here"
            );
        });
        match compiled {
            Ok((schema, compares_numbers)) => Self {
                schema: Some(Box::new(schema)),
                compares_numbers,
            },
            Err(_) => Self {
                schema: None,
                compares_numbers: false,
            },
        }
    }

    /// Whether it matters which number an argument is: one that is decoded as another must not be checked.
    pub fn compares_numbers(&self) -> bool {
        self.compares_numbers
    }

    /// Arguments in the form that the schema asks for, where they say the right thing in another one. For those that
    /// [`ArgumentSchema::check`] refuses.
    pub fn coerce(&self, arguments: &JsonObject) -> Option<CoercedArguments> {
        coercion::coerced(self.schema.as_deref()?, arguments)
    }

    /// Checks arguments; `None` is a call without any, which is the same as `{}`. An error has
    /// at least one violation, and all of them up to a limit.
    pub fn check(&self, arguments: Option<&Value>) -> Result<(), Vec<Violation>> {
        let none = Value::Object(Map::new());
        let arguments = arguments.unwrap_or(&none);
        if !arguments.is_object() {
            return Err(vec![Violation::of_all("arguments must be an object")]);
        }
        match &self.schema {
            Some(schema) if schema.check(arguments) == Verdict::Invalid => {
                Err(violations(schema, arguments))
            }
            _ => Ok(()),
        }
    }
}

fn violations(schema: &Schema, arguments: &Value) -> Vec<Violation> {
    let all = schema.mismatches(arguments, VIOLATION_LIMIT);
    let all = all.iter().flat_map(message::violations);
    let mut violations: Vec<Violation> = all.take(VIOLATION_LIMIT).collect();
    if violations.is_empty() {
        violations.push(Violation::of_all("arguments do not match the input schema"));
    }
    violations
}

/// A schema of bounded size and depth, and whether it compares numbers.
fn compile(schema: &Json) -> Result<(Schema, bool), String> {
    if schema.text().len() > SIZE_LIMIT {
        return Err(format!("it is larger than {SIZE_LIMIT} bytes"));
    }
    // The reader refuses more than 128 levels, so nothing after it meets a deeper value.
    let schema: Value =
        serde_json::from_str(schema.text()).map_err(|_| "it is nested too deeply".to_owned())?;
    let compiled = Schema::compile(&schema).map_err(|reason| message::bounded(&reason))?;
    Ok((compiled, numbers::are_compared(&schema)))
}

#[cfg(test)]
mod tests;
