//! Arguments that a tool wants to have repeated in headers.
//!
//! Written apart from the product, which checks what is sent here and does the same towards servers.

use serde_json::Value;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The headers of a call. Only arguments at the top are looked at: the tools of the suite ask for no others.
pub(crate) fn headers(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flatten()
        .filter_map(|(argument, property)| {
            let name = property["x-mcp-header"].as_str()?;
            let text = match &arguments[argument] {
                Value::String(text) => text.clone(),
                other @ (Value::Bool(_) | Value::Number(_)) => other.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((format!("mcp-param-{}", name.to_lowercase()), encode(&text)))
        })
        .collect()
}

/// What a header cannot carry is wrapped, and so is nothing at all, which would be no header.
fn encode(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && !text.is_empty() && text.trim() == text {
        return text.to_owned();
    }
    format!("=?base64?{}?=", base64(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    let mut encoded = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, at| {
            bits << 8 | usize::from(three.get(at).copied().unwrap_or_default())
        });
        for at in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * at) & 63];
            let is_filled = at <= three.len();
            encoded.push(if is_filled { char::from(digit) } else { '=' });
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_plain_or_wrapped() {
        let schema = json!({ "properties": { "a": { "x-mcp-header": "A" }, "b": {} } });
        let header = |value: Value| {
            let mut found = headers(&schema, &json!({ "a": value, "b": "no header" }));
            found.pop().map(|(_, value)| value)
        };
        for (value, expected) in [
            (json!("us west"), Some("us west")),
            (json!(42), Some("42")),
            (json!(false), Some("false")),
            (json!(null), None),
            (json!(""), Some("=?base64??=")),
            (json!("Zürich"), Some("=?base64?WsO8cmljaA==?=")),
            (json!(" us-west1"), Some("=?base64?IHVzLXdlc3Qx?=")),
            (json!("line1\nline2"), Some("=?base64?bGluZTEKbGluZTI=?=")),
        ] {
            assert_eq!(header(value).as_deref(), expected);
        }
    }
}
