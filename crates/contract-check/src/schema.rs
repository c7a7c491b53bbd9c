//! A schema of others, compiled, and what is wrong with values in words that repeat none of them.

use mcpproxy_schema::{Kind, Mismatch, Schema, Verdict};
use mcpproxy_support::one_line::one_line;
use serde_json::Value;

/// The most problems that are told of one value.
const PROBLEM_LIMIT: usize = 10;

/// The longest problem, in characters.
const PROBLEM_LENGTH: usize = 300;

/// Compiles a schema, or says why it cannot be used.
pub(super) fn compiled(schema: &Value) -> Result<Schema, String> {
    if !schema.is_object() {
        return Err("it is not an object".to_owned());
    }
    Schema::compile(schema).map_err(|reason| one_line(&reason, PROBLEM_LENGTH))
}

/// Problems of a value; none if it matches, or if finding out would cost too much.
pub(super) fn problems(schema: &Schema, value: &Value) -> Vec<String> {
    if schema.check(value) != Verdict::Invalid {
        return Vec::new();
    }
    let mismatches = schema.mismatches(value, PROBLEM_LIMIT);
    if mismatches.is_empty() {
        return vec!["it does not match".to_owned()];
    }
    mismatches.iter().map(problem).collect()
}

/// One mismatch in a few words. Values are left out: they may be long or private.
pub(super) fn problem(mismatch: &Mismatch<'_>) -> String {
    let place = match mismatch.path.as_str() {
        "" => String::new(),
        path => format!("{path}: "),
    };
    let what = match mismatch.kind {
        Kind::Required { name, .. } => format!("'{name}' is missing"),
        _ => mismatch.expected(),
    };
    one_line(&format!("{place}{what}"), PROBLEM_LENGTH)
}
