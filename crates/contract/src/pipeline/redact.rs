//! Parameters, and what is wrong with them, as the log may show them.
//!
//! Hidden is what the schema marks as secret and what stands under a name that says so. What is
//! left is shortened: a log line is for people.

use mcpproxy_redact::{MASKED, OwnSecrets, Redactor, SecretFields, is_secret_parameter};
use serde_json::{Map, Value, json};

use crate::ToolError;
use crate::tool::error::ViolationKind;

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

/// Text in place of a message that repeats the value it is about.
const WRONG_TYPE: &str = "is not of the type that the tool takes";

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
                let value = if is_secret_parameter(name) {
                    MASKED.into()
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
    let shown = error.violations().iter().map(|violation| {
        let path = &violation.path;
        let message = match violation.kind {
            _ if path.split('/').any(is_secret_parameter) => MASKED.to_owned(),
            ViolationKind::Type => WRONG_TYPE.to_owned(),
            _ => shortened(&Redactor::default().text(&violation.message, secrets)),
        };
        json!({ "path": shortened(path), "message": message })
    });
    shown.collect()
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
