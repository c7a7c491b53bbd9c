//! Messages that tell an agent about a violation.

use mcpproxy_schema::{Kind, Mismatch, shown};
use mcpproxy_support::nearest::{likeness, nearest};
use mcpproxy_support::one_line::one_line;
use serde_json::Value;

use super::Violation;

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
                .map(|name| unknown_property(path, name, known));
            return each.collect();
        }
        Kind::Required(_) => mismatch.expected(),
        _ => found(mismatch),
    };
    vec![Violation {
        path: path.clone(),
        message,
        is_strange: false,
    }]
}

fn found(mismatch: &Mismatch<'_>) -> String {
    format!("{}, found {}", mismatch.expected(), shown(mismatch.value))
}

fn unknown_property(path: &str, name: &str, known: &[String]) -> Violation {
    let quoted = |name: &str| shown(&Value::from(name));
    let known = known.iter().take(COMPARED);
    let known = known.map(|known| (likeness(name, known), known));
    let near = nearest(known, ALIKE, 1).pop();
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
