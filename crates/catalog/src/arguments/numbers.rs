//! Whether a schema compares numbers, so that it matters which number an argument is. This module is pure.

use serde_json::Value;

/// Keywords that compare numbers whatever stands beside them. `uniqueItems` compares all sorts of values.
const COMPARING: [&str; 6] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "uniqueItems",
];

/// Whether some part of a schema compares numbers. A property that is named like a keyword counts as one.
pub(super) fn are_compared(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, value)| match name.as_str() {
            // A number with a fraction too small to be kept would pass as an integer.
            "type" if value.is_string() || value.is_array() => is_integer(value),
            "enum" | "const" => has_number(value) || are_compared(value),
            name => COMPARING.contains(&name) || are_compared(value),
        }),
        Value::Array(items) => items.iter().any(are_compared),
        _ => false,
    }
}

fn is_integer(kind: &Value) -> bool {
    kind == "integer"
        || kind
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(is_integer))
}

fn has_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Array(items) => items.iter().any(has_number),
        Value::Object(members) => members.values().any(has_number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_compared_where_a_keyword_does() {
        for schema in [
            json!({ "maximum": 1 }),
            json!({ "properties": { "n": { "type": "integer" } } }),
            json!({ "anyOf": [{ "items": { "type": ["null", "integer"] } }] }),
            json!({ "$defs": { "n": { "enum": ["a", 1] } } }),
            json!({ "const": { "a": [1.5] } }),
            json!({ "items": { "multipleOf": 2 } }),
            json!({ "properties": { "type": { "minimum": 1 }, "enum": { "maximum": 1 } } }),
            json!({ "uniqueItems": true }),
        ] {
            assert!(are_compared(&schema), "{schema}");
        }
        for schema in [
            json!({}),
            json!(true),
            json!({ "type": "object", "properties": { "n": { "type": "number" }, "s": { "minLength": 3 } } }),
            json!({ "properties": { "type": { "enum": ["integer"] } }, "required": ["n"] }),
        ] {
            assert!(!are_compared(&schema), "{schema}");
        }
    }
}
