//! Check of a call's arguments against the tool's input schema.
//!
//! This is the only place that knows the schema library. Schemas come from servers nobody here
//! wrote, so a schema is refused before it is compiled if it is too large or unfolds to too
//! much (`bounds`), references to other documents are never fetched, and patterns run on an
//! engine whose time grows with the length of the text alone.
//!
//! A schema that cannot be compiled (it is not valid, refers to another document, or has a
//! pattern with look-around or back references) does not make its tool unusable: it is said once
//! in the log, then only that the arguments are an object is checked, and the upstream judges the rest.
//! `format` is not enforced, as the specification of JSON Schema leaves it to the receiver.

mod bounds;
mod message;
mod numbers;

use jsonschema::{PatternOptions, Validator};
use mcpproxy_wire::Json;
use serde::Serialize;
use serde_json::{Map, Value};

/// The most violations that are reported. An agent repairs the first few and tries again.
const VIOLATION_LIMIT: usize = 50;

/// The most bytes a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;

/// Drafts that servers write without saying so. A schema that is not valid in 2020-12, which
/// the protocol makes the default, is tried in these: `items` may be a list in draft 7, and
/// `exclusiveMinimum` a boolean in draft 4.
const OLDER_DRAFTS: &[&str] = &[
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-04/schema#",
];

/// Input schema of a tool, compiled.
#[derive(Debug)]
pub struct ArgumentSchema {
    /// The schema and its compiled form; `None` where only the shape is checked.
    compiled: Option<Box<(Value, Validator)>>,
    compares_numbers: bool,
}

/// Violation of a schema: one way in which arguments do not match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// A JSON pointer to the value: `/items/0/name`; empty for the arguments as a whole.
    pub path: String,
    /// Message that says what is expected there. It never repeats a long value.
    pub message: String,
}

impl Violation {
    fn of_all(message: &str) -> Self {
        Self {
            path: String::new(),
            message: message.to_owned(),
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
        let compiled = compiled.ok().map(Box::new);
        Self {
            compares_numbers: compiled
                .as_deref()
                .is_some_and(|(schema, _)| numbers::are_compared(schema)),
            compiled,
        }
    }

    /// Whether it matters which number an argument is: one that is decoded as another must not be checked.
    pub fn compares_numbers(&self) -> bool {
        self.compares_numbers
    }

    /// Checks arguments; `None` is a call without any, which is the same as `{}`. An error has
    /// at least one violation, and all of them up to a limit.
    pub fn check(&self, arguments: Option<&Value>) -> Result<(), Vec<Violation>> {
        let none = Value::Object(Map::new());
        let arguments = arguments.unwrap_or(&none);
        if !arguments.is_object() {
            return Err(vec![Violation::of_all("arguments must be an object")]);
        }
        let Some((schema, validator)) = self.compiled.as_deref() else {
            return Ok(());
        };
        if validator.is_valid(arguments) {
            return Ok(());
        }
        Err(violations(schema, validator, arguments))
    }
}

fn violations(schema: &Value, validator: &Validator, arguments: &Value) -> Vec<Violation> {
    // To answer yes or no the library remembers what it has seen; to collect the reasons it does
    // not, and a schema that refers to itself twice makes it walk a tree that doubles each level.
    let mut violations = Vec::new();
    if bounds::can_be_explained(schema, arguments) {
        let errors = validator.iter_errors(arguments).take(VIOLATION_LIMIT);
        let all = errors.flat_map(|error| message::violations(&error, schema));
        violations.extend(all.take(VIOLATION_LIMIT));
    }
    if violations.is_empty() {
        violations.push(Violation::of_all("arguments do not match the input schema"));
    }
    violations
}

fn compile(schema: &Json) -> Result<(Value, Validator), String> {
    let mut schema = bounds::decode(schema)?;
    let first = build(&schema);
    if first.is_ok() || schema.get("$schema").is_some() {
        return first.map(|validator| (schema, validator));
    }
    for draft in OLDER_DRAFTS {
        schema["$schema"] = Value::from(*draft);
        if let Ok(validator) = build(&schema) {
            return Ok((schema, validator));
        }
    }
    first.map(|validator| (schema, validator))
}

fn build(schema: &Value) -> Result<Validator, String> {
    bounds::check(schema)?;
    let patterns = PatternOptions::regex()
        .size_limit(PATTERN_SIZE)
        .dfa_size_limit(PATTERN_SIZE);
    jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .should_validate_formats(false)
        .build(schema)
        .map_err(|error| message::bounded(&error.to_string()))
}

#[cfg(test)]
mod tests;
