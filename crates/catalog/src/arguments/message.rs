//! Messages that tell an agent about a violation.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use mcpproxy_support::nearest::{likeness, nearest};
use serde_json::Value;

use super::Violation;
use crate::text::one_line;

/// The longest value, from the arguments or the schema, that a message repeats.
const VALUE_LIMIT: usize = 100;

/// The longest reason for the log.
const REASON_LIMIT: usize = 300;

/// Number of allowed values that are listed.
const LISTED: usize = 20;

/// Number of names of a schema that an unknown one is compared with.
const COMPARED: usize = 200;

/// Likeness from which on a name is offered for another.
const ALIKE: f64 = 0.7;

/// An error of the library as violations. Properties that must not be there become one each, so
/// that each path points at what has to go, and each is told with the name that was likely meant.
pub(super) fn violations(error: &ValidationError<'_>, schema: &Value) -> Vec<Violation> {
    let path = error.instance_path().as_str();
    if let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind()
        // Where null is the other alternative, this one was meant.
        && let Some(errors) = only_near_alternative(context, path)
    {
        let all = errors.iter().flat_map(|error| violations(error, schema));
        return all.collect();
    }
    match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected
                .iter()
                .map(|name| Violation {
                    path: format!("{path}/{}", escaped(name)),
                    message: match meant(name, error, schema) {
                        Some(near) => {
                            format!(
                                "unknown property {}, did you mean {}?",
                                quoted(name),
                                quoted(near)
                            )
                        }
                        None => format!("unknown property {}", quoted(name)),
                    },
                })
                .collect()
        }
        kind => vec![Violation {
            path: path.to_owned(),
            message: match kind {
                Kind::Required { property } => {
                    format!("missing required property {}", shown(property))
                }
                _ => format!(
                    "{}, found {}",
                    expected(kind, path),
                    shown(error.instance())
                ),
            },
        }],
    }
}

/// Errors of the one alternative that takes a value of this type, if all others fail at the type itself.
fn only_near_alternative<'a>(
    context: &'a [Vec<ValidationError<'static>>],
    path: &str,
) -> Option<&'a [ValidationError<'static>]> {
    let is_far = |errors: &Vec<ValidationError<'_>>| {
        errors.iter().any(|error| {
            error.instance_path().as_str() == path && matches!(error.kind(), Kind::Type { .. })
        })
    };
    let mut near = context.iter().filter(|errors| !is_far(errors));
    let only = near.next().filter(|errors| !errors.is_empty())?;
    (context.len() > 1 && near.next().is_none()).then_some(only)
}

/// Name of the schema that an unknown one was most likely meant to be.
fn meant<'a>(name: &str, error: &ValidationError<'_>, schema: &'a Value) -> Option<&'a str> {
    let (object, _) = error.schema_path().as_str().rsplit_once('/')?;
    let known = schema.pointer(object)?.get("properties")?.as_object()?;
    let known = known.keys().take(COMPARED).map(String::as_str);
    nearest(known.map(|known| (likeness(name, known), known)), ALIKE, 1).pop()
}

/// A reason for the log, short enough for one line.
pub(super) fn bounded(reason: &str) -> String {
    one_line(reason, REASON_LIMIT)
}

/// Description of what a value at `path` should be.
fn expected(kind: &Kind, path: &str) -> String {
    match kind {
        Kind::Type { kind } => format!("expected {}", types(kind)),
        Kind::Enum { options } => format!("expected one of {}", listed(options)),
        Kind::Constant { expected_value } => format!("expected {}", shown(expected_value)),
        Kind::Minimum { limit } => format!("expected at least {}", shown(limit)),
        Kind::Maximum { limit } => format!("expected at most {}", shown(limit)),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {}", shown(limit)),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {}", shown(limit)),
        Kind::MultipleOf { multiple_of } => format!("expected a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("expected at least {limit} characters"),
        Kind::MaxLength { limit } => format!("expected at most {limit} characters"),
        Kind::MinItems { limit } => format!("expected at least {limit} items"),
        Kind::MaxItems { limit } => format!("expected at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("expected at most {limit} items"),
        Kind::MinProperties { limit } => format!("expected at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("expected at most {limit} properties"),
        Kind::UnevaluatedItems { .. } => "expected no further items".to_owned(),
        Kind::UniqueItems => "expected items that differ from each other".to_owned(),
        Kind::Contains => "expected a list with an item that matches `contains`".to_owned(),
        Kind::Pattern { pattern } => {
            format!("expected text that matches the pattern {}", quoted(pattern))
        }
        Kind::PropertyNames { error } => {
            let name = expected(error.kind(), path);
            format!("a property name is not allowed: {name}")
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context, path),
        Kind::OneOfMultipleValid { .. } => {
            "expected exactly one alternative to match, several do".to_owned()
        }
        Kind::Not { schema } => format!("expected no value that matches {}", shown(schema)),
        Kind::FalseSchema => "expected no value here".to_owned(),
        other => format!(
            "does not satisfy `{}`",
            one_line(other.keyword(), VALUE_LIMIT)
        ),
    }
}

/// Descriptions of what each alternative of a union asks for, as far as it speaks of the value itself.
fn alternatives(context: &[Vec<ValidationError<'static>>], path: &str) -> String {
    let mut wanted: Vec<String> = Vec::new();
    for error in context.iter().filter_map(|errors| errors.first()) {
        let one = match error.kind() {
            Kind::Required { property } => {
                format!("an object with property {}", shown(property))
            }
            kind => {
                let place = error.instance_path().as_str();
                let text = expected(kind, place);
                let text = text.strip_prefix("expected ").unwrap_or(&text);
                match place.strip_prefix(path) {
                    Some("") => text.to_owned(),
                    _ => format!("{text} at {}", one_line(place, VALUE_LIMIT)),
                }
            }
        };
        if !wanted.contains(&one) {
            wanted.push(one);
        }
    }
    if wanted.is_empty() {
        return "expected one of several alternatives, none matches".to_owned();
    }
    let text = format!("expected {}", wanted.join(", or "));
    one_line(&text, REASON_LIMIT)
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(name) => name.to_string(),
        TypeKind::Multiple(names) => {
            let names: Vec<_> = names.iter().map(|name| name.to_string()).collect();
            names.join(" or ")
        }
    }
}

fn listed(options: &Value) -> String {
    let all = options.as_array().map_or(&[][..], Vec::as_slice);
    let mut names: Vec<String> = all.iter().take(LISTED).map(shown).collect();
    if all.len() > LISTED {
        names.push(format!("{} more", all.len() - LISTED));
    }
    names.join(", ")
}

/// A value as it may appear in a message: short, or only what kind of value it is.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::String(text) if text.chars().count() > VALUE_LIMIT - 2 => {
            format!("text of {} characters", text.chars().count())
        }
        Value::String(text) => quoted(text),
        simple => one_line(&simple.to_string(), VALUE_LIMIT),
    }
}

fn quoted(text: &str) -> String {
    one_line(&Value::from(text).to_string(), VALUE_LIMIT)
}

/// A name as a part of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
