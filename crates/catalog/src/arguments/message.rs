//! Messages that tell an agent about a violation.

use mcpproxy_schema::{Kind, Mismatch, shown};
use mcpproxy_support::nearest::{likeness, nearest};
use mcpproxy_support::one_line::one_line;
use serde_json::Value;

use super::{VIOLATION_LIMIT, Violation};

/// The longest reason for the log.
const REASON_LIMIT: usize = 300;

/// Number of names of a schema that an unknown one is compared with.
const COMPARED: usize = 200;

/// Likeness from which on a name is offered for another.
const ALIKE: f64 = 0.7;

/// A mismatch with the schema in words for an agent. Properties that must not be there become one each, so that each
/// path points at what has to go, and each is told with the name that was likely meant.
pub(super) fn violations(mismatch: &Mismatch<'_>) -> Vec<Violation> {
    let path = &mismatch.path;
    let message = match &mismatch.kind {
        Kind::NoAlternative(alternatives) => {
            // Where null is the other alternative, this one was meant.
            if let Some(near) = only_near_alternative(alternatives, path) {
                return near.iter().flat_map(violations).collect();
            }
            found(mismatch)
        }
        Kind::UnknownProperties { unknown, known } => {
            let each = unknown
                .iter()
                .take(VIOLATION_LIMIT)
                .map(|name| unknown_property(path, name, known));
            return each.collect();
        }
        Kind::Required { name, known } => missing_property(mismatch, name, known),
        _ => found(mismatch),
    };
    vec![Violation {
        path: path.clone(),
        message,
        is_strange: false,
    }]
}

/// Message about a property that is missing. Few schemas forbid names that they do not list, so a misspelt one is found
/// by what is missing.
fn missing_property(mismatch: &Mismatch<'_>, name: &str, known: &[String]) -> String {
    let message = mismatch.expected();
    let given = mismatch.value.as_object().into_iter().flatten();
    let unlisted = given.map(|(name, _)| name).take(COMPARED);
    let unlisted = unlisted.filter(|name| !known.contains(name));
    match nearest_of(name, unlisted) {
        Some(near) => format!("{message}, did you mean it by {}?", quoted(near)),
        None => message,
    }
}

fn found(mismatch: &Mismatch<'_>) -> String {
    format!("{}, found {}", mismatch.expected(), shown(mismatch.value))
}

fn unknown_property(path: &str, name: &str, known: &[String]) -> Violation {
    let near = nearest_of(name, known);
    let message = match near {
        Some(near) => format!(
            "unknown property {}, did you mean {}?",
            quoted(name),
            quoted(near)
        ),
        None => format!("unknown property {}", quoted(name)),
    };
    Violation {
        path: format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
        message,
        is_strange: near.is_none(),
    }
}

fn quoted(name: &str) -> String {
    shown(&Value::from(name))
}

/// Name that is nearest to another and near enough to be meant.
fn nearest_of<'a>(name: &str, names: impl IntoIterator<Item = &'a String>) -> Option<&'a String> {
    let names = names.into_iter().take(COMPARED);
    nearest(names.map(|one| (likeness(name, one), one)), ALIKE, 1).pop()
}

/// Violations of the one alternative that takes a value of this type, if all others fail at the type itself.
fn only_near_alternative<'a, 'v>(
    alternatives: &'a [Vec<Mismatch<'v>>],
    path: &str,
) -> Option<&'a [Mismatch<'v>]> {
    let is_far = |violations: &Vec<Mismatch<'_>>| {
        let mut all = violations.iter();
        all.any(|one| one.path == path && matches!(one.kind, Kind::Type(_)))
    };
    let mut near = alternatives.iter().filter(|violations| !is_far(violations));
    let only = near.next().filter(|violations| !violations.is_empty())?;
    (alternatives.len() > 1 && near.next().is_none()).then_some(only)
}

/// A reason for the log, short enough for one line.
pub(super) fn bounded(reason: &str) -> String {
    one_line(reason, REASON_LIMIT)
}
