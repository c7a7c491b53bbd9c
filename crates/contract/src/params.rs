//! Arguments as they were sent → parameters of the tool's own type, or everything that is wrong.

use mcpproxy_support::nearest::{likeness, nearest};
use serde_json::Value;

use crate::error::{ParameterViolation, ToolError};
use crate::tool::Params;

/// Likeness from which on a name is offered for another.
const ALIKE: f64 = 0.7;

/// Reads and checks. The schema is the one that is published, so nothing passes here that it
/// forbids at the top level, and the rules of the type see to the rest.
pub(crate) fn parse<P: Params>(arguments: Value, schema: &Value) -> Result<P, ToolError> {
    let violations = match names(&arguments, schema) {
        violations if violations.is_empty() => match typed::<P>(arguments, schema) {
            Ok(params) => return Ok(params),
            Err(violations) => violations,
        },
        violations => violations,
    };
    Err(ToolError::invalid(&violations).with("input_schema", schema.clone()))
}

/// Names that are missing, and names that nobody reads: most likely a misspelling.
fn names(arguments: &Value, schema: &Value) -> Vec<ParameterViolation> {
    let Some(given) = arguments.as_object() else {
        return vec![violation(String::new(), "must be an object")];
    };
    let known: Vec<&str> = schema["properties"]
        .as_object()
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let required = schema["required"].as_array().into_iter().flatten();
    let missing = required
        .filter_map(Value::as_str)
        .filter(|name| !given.contains_key(*name))
        .map(|name| violation(pointer(name), "is required"));
    let unknown = given
        .keys()
        .filter(|name| !known.contains(&name.as_str()))
        .map(|name| {
            let hint = nearest_name(name, known.iter().copied())
                .map(|near| format!(", did you mean '{near}'?"))
                .unwrap_or_default();
            violation(pointer(name), format!("unknown parameter{hint}"))
        });
    missing.chain(unknown).collect()
}

fn typed<P: Params>(arguments: Value, schema: &Value) -> Result<P, Vec<ParameterViolation>> {
    let params: P = serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = path_pointer(&error.path().to_string());
        vec![violation(path, error.inner().to_string())]
    })?;
    match params.validate() {
        Ok(()) => Ok(params),
        Err(report) => Err(report
            .iter()
            .map(|(path, error)| {
                violation(sent_pointer(&path.to_string(), schema), error.message())
            })
            .collect()),
    }
}

/// Name that was most likely meant.
pub(crate) fn nearest_name<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let known = known.map(|candidate| (likeness(name, candidate), candidate));
    nearest(known, ALIKE, 1).pop()
}

fn violation(path: String, message: impl Into<String>) -> ParameterViolation {
    ParameterViolation {
        path,
        message: message.into(),
    }
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// `cards[2].name` as a JSON pointer, `/cards/2/name`.
fn path_pointer(path: &str) -> String {
    steps(path).map(|step| pointer(&step)).collect()
}

/// The path of a rule, which knows the names of the code, as a pointer into what was sent: names
/// may be written in another case there, and a flattened part has no name at all.
fn sent_pointer(path: &str, schema: &Value) -> String {
    let properties = &schema["properties"];
    let mut steps = steps(path).peekable();
    if let Some(first) = steps.peek()
        && properties.get(first).is_none()
        && properties.get(camel_case(first)).is_none()
    {
        steps.next();
    }
    let mut within = schema;
    let mut pointed = String::new();
    for step in steps {
        let properties = &within["properties"];
        let camel = camel_case(&step);
        let name = if properties.get(&step).is_none() && properties.get(&camel).is_some() {
            camel
        } else {
            step
        };
        pointed.push_str(&pointer(&name));
        within = within["properties"].get(&name).unwrap_or(&within["items"]);
    }
    pointed
}

fn steps(path: &str) -> impl Iterator<Item = String> {
    let steps = path.replace('[', ".").replace(']', "");
    let steps: Vec<String> = steps
        .split('.')
        .filter(|step| !step.is_empty())
        .map(str::to_owned)
        .collect();
    steps.into_iter()
}

fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        if letter == '_' {
            upper = true;
        } else if upper {
            camel.extend(letter.to_uppercase());
            upper = false;
        } else {
            camel.push(letter);
        }
    }
    camel
}

#[cfg(test)]
mod tests;
