//! Arguments that say the right thing in another form, as models write them: a number or a boolean as text, one value
//! where a list of such is wanted, a list or an object as JSON text. This module is pure.
//!
//! Only what does not match the schema is looked at, and only a type that the schema does not take there is converted,
//! so that no value that it takes becomes another one. Every conversion has one possible result; where there are two, or
//! where what comes out does not match, nothing is converted.

use mcpproxy_schema::{JsonType, Kind, Mismatch, Schema};
use mcpproxy_wire::JsonObject;
use mcpproxy_wire::json::{first_inexact, parse_strict};
use serde_json::{Number, Value};

/// Times that mismatches are looked for: in JSON text, or in a list around one value, there may be more to convert.
const ROUND_LIMIT: usize = 4;

/// The most values that are converted. A model does it the same way everywhere, but it writes arguments by hand.
const CONVERSION_LIMIT: usize = 100;

/// The most steps of the check of what comes out, a tenth of what a check may take otherwise: this is the second one.
const STEP_LIMIT: usize = 200_000;

/// The longest text that can be a number, in bytes. One of 64 bits has fewer digits.
const NUMBER_LIMIT: usize = 400;

/// Arguments in the form that the schema asks for.
#[derive(Debug)]
pub struct CoercedArguments {
    /// Arguments to send.
    pub arguments: JsonObject,
    /// JSON pointers to what was converted, 100 at most.
    pub paths: Vec<String>,
}

/// Conversion of one value.
struct Conversion {
    path: String,
    value: Value,
    /// Whether the value became the one item of a list.
    is_wrapped: bool,
}

/// Arguments in the form that the schema asks for, if that is all that is wrong with them.
pub(super) fn coerced(schema: &Schema, given: &JsonObject) -> Option<CoercedArguments> {
    // All of it is written anew, and that must not change a number elsewhere.
    if given.inexact_number().is_some() {
        return None;
    }
    let mut value = given.value().clone();
    let mut paths: Vec<String> = Vec::new();
    let mut items: Vec<String> = Vec::new();
    for _ in 0..ROUND_LIMIT {
        let mismatches = schema.mismatches(&value, CONVERSION_LIMIT);
        if mismatches.is_empty() {
            break;
        }
        for conversion in conversions(&mismatches, &items)? {
            *value.pointer_mut(&conversion.path)? = conversion.value;
            if conversion.is_wrapped {
                items.push(format!("{}/0", conversion.path));
            }
            // What is converted inside of what was converted is no other place to who wrote it.
            if !paths.iter().any(|path| is_within(&conversion.path, path)) {
                paths.push(conversion.path);
            }
        }
        if paths.len() > CONVERSION_LIMIT {
            return None;
        }
    }
    // Read anew, so that what is checked is what is sent, by every rule that arguments have.
    let arguments = JsonObject::parse(&value.to_string()).ok()?;
    let is_right = schema.matches_within(arguments.value(), STEP_LIMIT);
    is_right.then_some(CoercedArguments { arguments, paths })
}

/// Conversions that mend all mismatches; nothing if one of them cannot be mended. `items` are places of values around
/// which a list was put.
fn conversions(mismatches: &[Mismatch<'_>], items: &[String]) -> Option<Vec<Conversion>> {
    let mut conversions: Vec<Conversion> = Vec::new();
    // What is wrong with a type comes first: then nothing else matters that is wrong at the same place.
    let (of_type, others): (Vec<_>, Vec<_>) = mismatches
        .iter()
        .map(|mismatch| (mismatch, wanted_types(mismatch, &mismatch.path)))
        .partition(|(_, wanted)| wanted.is_some());
    for (mismatch, wanted) in of_type.into_iter().chain(others) {
        if conversions.iter().any(|one| one.path == mismatch.path) {
            continue;
        }
        match (wanted, &mismatch.kind) {
            (Some(types), _) => {
                let can_wrap = !items.contains(&mismatch.path);
                let (value, is_wrapped) = converted(mismatch.value, &types, can_wrap)?;
                conversions.push(Conversion {
                    path: mismatch.path.clone(),
                    value,
                    is_wrapped,
                });
            }
            (None, Kind::NoAlternative(alternatives)) => {
                conversions.extend(only_mended(alternatives, &mismatch.path, items)?);
            }
            _ => return None,
        }
    }
    Some(conversions)
}

/// Conversions for the one alternative that takes the type of the value and can be mended, if there is one only.
fn only_mended(
    alternatives: &[Vec<Mismatch<'_>>],
    path: &str,
    items: &[String],
) -> Option<Vec<Conversion>> {
    let near = alternatives.iter().filter(|mismatches| {
        !mismatches.is_empty() && types_of_alternative(mismatches, path).is_none()
    });
    let mut mended = near.filter_map(|mismatches| conversions(mismatches, items));
    let only = mended.next()?;
    mended.next().is_none().then_some(only)
}

/// Types that the schema takes at a place, where the value is of none of them; nothing if something else is wrong.
fn wanted_types(mismatch: &Mismatch<'_>, path: &str) -> Option<Vec<JsonType>> {
    if mismatch.path != path {
        return None;
    }
    let types: Vec<JsonType> = match &mismatch.kind {
        Kind::Type(types) => types.to_vec(),
        Kind::Enum(options) => options.iter().map(JsonType::of).collect(),
        Kind::Constant(one) => vec![JsonType::of(one)],
        Kind::NoAlternative(alternatives) => {
            let each = alternatives.iter();
            let each = each.map(|mismatches| types_of_alternative(mismatches, path));
            each.collect::<Option<Vec<_>>>()?.concat()
        }
        _ => return None,
    };
    let is_other = !types.iter().any(|wanted| wanted.has(mismatch.value));
    is_other.then_some(types)
}

/// Types that an alternative takes, where the value is of none of them.
fn types_of_alternative(mismatches: &[Mismatch<'_>], path: &str) -> Option<Vec<JsonType>> {
    mismatches
        .iter()
        .find_map(|mismatch| wanted_types(mismatch, path))
}

/// A value as one of the types, and whether it became the one item of a list.
fn converted(value: &Value, types: &[JsonType], can_wrap: bool) -> Option<(Value, bool)> {
    let wants = |kind| types.contains(&kind);
    let mut can_wrap = can_wrap && wants(JsonType::Array);
    match value {
        Value::Null | Value::Array(_) => return None,
        Value::String(text) => {
            let simple = match text.as_str() {
                "true" if wants(JsonType::Boolean) => Some(Value::Bool(true)),
                "false" if wants(JsonType::Boolean) => Some(Value::Bool(false)),
                _ => number(text, wants(JsonType::Integer), wants(JsonType::Number)),
            };
            if let Some(simple) = simple {
                return Some((simple, false));
            }
            if text.trim_start().starts_with(['[', '{']) {
                // A list of one text that looks like a list could be meant as well as the list, so it is the list or nothing.
                return decoded(text, types).map(|value| (value, false));
            }
            // An empty text says as much of no item as of one.
            can_wrap &= !text.trim().is_empty();
        }
        _ => {}
    }
    can_wrap.then(|| (Value::Array(vec![value.clone()]), true))
}

/// A list or an object from its JSON text, if one of that type is wanted.
fn decoded(text: &str, types: &[JsonType]) -> Option<Value> {
    let value = parse_strict(text).ok()?;
    let is_wanted = types.contains(&JsonType::of(&value));
    (is_wanted && first_inexact(text).is_none()).then_some(value)
}

/// A number from its text, if it is written as JSON writes it and nothing of it is lost. An integer has no fraction and no
/// exponent: `3.0` and `1e3` may be meant for something else.
fn number(text: &str, wants_integer: bool, wants_number: bool) -> Option<Value> {
    let is_like_one = text.len() <= NUMBER_LIMIT
        && text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit());
    if !is_like_one || !(wants_integer || wants_number) {
        return None;
    }
    let number: Number = serde_json::from_str(text).ok()?;
    let is_integer = number.is_i64() || number.is_u64();
    let is_exact = first_inexact(text).is_none();
    (is_exact && (wants_number || is_integer)).then_some(Value::Number(number))
}

/// Whether a place is another one or inside of it.
fn is_within(path: &str, around: &str) -> bool {
    path.strip_prefix(around)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
