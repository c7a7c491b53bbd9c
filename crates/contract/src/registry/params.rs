//! Arguments as they were sent → parameters of the tool's own type, or everything that is wrong.

mod names;

use mcpproxy_support::nearest::{likeness, nearest};
use serde_json::Value;

use crate::tool::error::{ParameterViolation, ViolationKind};
use crate::{Params, ToolError};

/// Likeness from which on a name is offered for another.
const ALIKE: f64 = 0.7;

/// Reads and checks. The schema is the one that is published, so no name passes here that it does
/// not give, and the rules of the type see to the rest.
pub(crate) fn parse<P: Params>(arguments: Value, schema: &Value) -> Result<P, ToolError> {
    let violations = names::wrong(&arguments, schema);
    let parsed = if violations.is_empty() {
        typed(arguments, schema)
    } else {
        Err(violations)
    };
    parsed.map_err(|violations| ToolError::invalid(violations).with("input_schema", schema.clone()))
}

fn typed<P: Params>(arguments: Value, schema: &Value) -> Result<P, Vec<ParameterViolation>> {
    let params: P = serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let path = steps(&path).map(pointer).collect();
        let message = error.inner().to_string();
        vec![violation(path, message, ViolationKind::Type)]
    })?;
    let Err(report) = params.validate() else {
        return Ok(params);
    };
    let broken = report.iter().map(|(path, error)| {
        let path = sent_pointer(&path.to_string(), schema);
        violation(path, error.message(), ViolationKind::Rule)
    });
    Err(broken.collect())
}

/// Name that was most likely meant.
pub(crate) fn nearest_name<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let known = known.map(|candidate| (likeness(name, candidate), candidate));
    nearest(known, ALIKE, 1).pop()
}

fn violation(path: String, message: impl Into<String>, kind: ViolationKind) -> ParameterViolation {
    ParameterViolation {
        path,
        message: message.into(),
        kind,
    }
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The path of a rule, which knows the names of the code, as a pointer into what was sent: names
/// may be written in another case there, and a flattened part has no name at all.
fn sent_pointer(path: &str, schema: &Value) -> String {
    let sent_name = |within: &Value, step: &str| {
        let mut names = [step.to_owned(), camel_case(step)].into_iter();
        names.find(|name| within["properties"].get(name).is_some())
    };
    let mut within = schema;
    let mut pointed = String::new();
    for (index, step) in steps(path).enumerate() {
        let name = sent_name(within, step);
        if index == 0 && name.is_none() {
            continue;
        }
        let name = name.unwrap_or_else(|| step.to_owned());
        pointed.push_str(&pointer(&name));
        within = within["properties"].get(&name).unwrap_or(&within["items"]);
    }
    pointed
}

/// The names and numbers of `cards[2].name`.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', '[', ']']).filter(|step| !step.is_empty())
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        camel.push_str(letters.as_str());
    }
    camel
}

#[cfg(test)]
mod tests;
