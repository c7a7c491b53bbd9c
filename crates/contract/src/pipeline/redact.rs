//! Parameters, and what is wrong with them, as the log may show them.
//!
//! Hidden is what the schema marks as secret and what stands under a name that says so. What is
//! left is shortened: a log line is for people.

use mcpproxy_redact::{OwnSecrets, Redactor, SecretFields, is_secret_name};
use serde_json::{Map, Value, json};

use crate::ToolError;

/// Text in place of a secret.
const HIDDEN: &str = "***";

/// Text in place of everything that is left out for its size.
const LEFT_OUT: &str = "…";

/// Most characters of a text that are shown.
const LONGEST_TEXT: usize = 200;

/// Most items of an array that are shown.
const MOST_ITEMS: usize = 20;

/// Most fields of an object that are shown.
const MOST_FIELDS: usize = 50;

/// Depth to which values are shown.
const DEEPEST: usize = 16;

/// Most values of one call that are shown, whatever their arrangement.
const MOST_VALUES: usize = 1000;

/// Most violations of one call that are shown.
const MOST_VIOLATIONS: usize = 20;

/// Beginning of the second part of a violation that tells what was found, and then what was expected.
const EXPECTED: &str = ", expected ";

/// Parameters as the log may show them, without the fields that the tool's schema calls secret.
pub(super) fn redact(params: &Value, secret: &SecretFields) -> Value {
    let mut values_left = MOST_VALUES;
    if secret.is_empty() {
        return shown(params, &mut values_left, DEEPEST);
    }
    shown(&secret.hide(params).0, &mut values_left, DEEPEST)
}

fn shown(value: &Value, values_left: &mut usize, depth_left: usize) -> Value {
    if *values_left == 0 || depth_left == 0 {
        return LEFT_OUT.into();
    }
    *values_left -= 1;
    match value {
        Value::String(text) => shortened(text).into(),
        Value::Array(items) => {
            let some = items.iter().take(MOST_ITEMS);
            let mut list: Vec<Value> = some
                .map(|item| shown(item, values_left, depth_left - 1))
                .collect();
            if items.len() > MOST_ITEMS {
                let more = items.len() - MOST_ITEMS;
                list.push(format!("{LEFT_OUT} {more} more items").into());
            }
            list.into()
        }
        Value::Object(fields) => {
            let mut object = Map::new();
            for (name, value) in fields.iter().take(MOST_FIELDS) {
                let value = if says_secret(name) {
                    HIDDEN.into()
                } else {
                    shown(value, values_left, depth_left - 1)
                };
                object.insert(shortened(name), value);
            }
            if fields.len() > MOST_FIELDS {
                let more = fields.len() - MOST_FIELDS;
                object.insert(LEFT_OUT.to_owned(), format!("{more} more fields").into());
            }
            object.into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Violations of an error as the log may show them: where, and what, without the values that were sent. Those are in the
/// line of the call's start, as far as they may be.
pub(super) fn violations(error: &ToolError, secrets: &OwnSecrets) -> Value {
    let found = error.published().details.get("violations");
    let found = found
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut list: Vec<Value> = found
        .iter()
        .take(MOST_VIOLATIONS)
        .map(|violation| {
            let text = |name: &str| violation[name].as_str().unwrap_or_default();
            let path = text("path");
            let message = if path.split('/').any(says_secret) {
                HIDDEN.to_owned()
            } else {
                let told = without_values(text("message"));
                shortened(&Redactor::default().text(&told, secrets))
            };
            json!({ "path": shortened(path), "message": message })
        })
        .collect();
    if found.len() > MOST_VIOLATIONS {
        let more = found.len() - MOST_VIOLATIONS;
        list.push(format!("{LEFT_OUT} {more} more violations").into());
    }
    list.into()
}

/// Message of a violation without the value that was found, which stands in quotes before what was expected.
fn without_values(message: &str) -> String {
    let (found, expected) = message.split_at(message.rfind(EXPECTED).unwrap_or(message.len()));
    let mut told = String::new();
    let mut rest = found;
    while let Some(start) = rest.find(['"', '`']) {
        let quote = &rest[start..=start];
        // The value may have quotes itself, so it ends with the last one.
        let end = rest.rfind(quote).filter(|end| *end > start);
        told.push_str(&rest[..start]);
        told.push_str(HIDDEN);
        rest = end.map_or("", |end| &rest[end + 1..]);
    }
    told + rest + expected
}

/// Whether a name says that its value is secret. Parameters have more such names than texts do:
/// plurals, credentials, and the short words for a password.
fn says_secret(name: &str) -> bool {
    let singular = name.strip_suffix(['s', 'S']).unwrap_or(name);
    let last_word = name.rsplit(|letter: char| !letter.is_alphanumeric()).next();
    let last_word = last_word.unwrap_or_default();
    is_secret_name(name)
        || is_secret_name(singular)
        || singular.to_ascii_lowercase().ends_with("credential")
        || ["pin", "pwd"]
            .iter()
            .any(|word| last_word.eq_ignore_ascii_case(word))
        || ["Pin", "Pwd"].iter().any(|word| last_word.ends_with(word))
}

/// Beginning of a text.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}{LEFT_OUT}", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
