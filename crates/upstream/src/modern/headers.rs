//! What a request over HTTP repeats in its headers, so that others can route it unread.

use std::collections::HashSet;
use std::sync::Arc;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_wire::headers::encode_value;
use serde_json::{Map, Value};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// What a schema says where an argument is to be repeated.
const ANNOTATION: &str = "x-mcp-header";
/// How deep a schema is looked at. JSON of a server is never nested deeper than its reader takes.
const DEEPEST: usize = 128;

/// One argument that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    header: HeaderName,
    /// The names that lead to the argument.
    path: Arc<[String]>,
}

/// The headers of a request: its method, what it names, and arguments.
pub(crate) fn of_request(
    method: &'static str,
    name: Option<&str>,
    params: &[ParamHeader],
    arguments: &str,
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(METHOD, HeaderValue::from_static(method));
    if let Some(value) = name.and_then(header_value) {
        headers.insert(NAME, value);
    }
    if params.is_empty() {
        return headers;
    }
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    for param in params {
        let value = param
            .path
            .iter()
            .try_fold(&arguments, |value, key| value.get(key));
        if let Some(value) = value.and_then(as_text)
            && let Some(value) = header_value(&value)
        {
            headers.insert(param.header.clone(), value);
        }
    }
    headers
}

/// The arguments that a tool wants to have in headers; the error is why the tool cannot be used.
pub(crate) fn read_annotations(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut reader = Annotations::default();
    if let Some(schema) = schema.as_object() {
        reader.schema(schema, Some(&mut Vec::new()), 0)?;
    }
    Ok(reader.found)
}

/// A text as a header carries it.
fn header_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(encode_value(text).as_ref()).ok()
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Looks for annotations in a schema. They count only on properties that are reached through
/// nothing but properties, because only there it is sure which argument is meant.
#[derive(Default)]
struct Annotations {
    found: Vec<ParamHeader>,
    names: HashSet<String>,
}

impl Annotations {
    /// `path` leads to what the schema describes; nothing where that is not sure.
    fn schema(
        &mut self,
        schema: &Map<String, Value>,
        mut path: Option<&mut Vec<String>>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > DEEPEST {
            return Err("its inputSchema is nested too deep".to_owned());
        }
        for (key, value) in schema {
            match key.as_str() {
                ANNOTATION => self.annotation(schema, value, path.as_deref().map(Vec::as_slice))?,
                "properties" => {
                    for (name, property) in value.as_object().into_iter().flatten() {
                        if let Some(path) = path.as_deref_mut() {
                            path.push(name.clone());
                        }
                        self.inside(property, path.as_deref_mut(), depth)?;
                        if let Some(path) = path.as_deref_mut() {
                            path.pop();
                        }
                    }
                }
                // Names there are those of schemas, not keywords.
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                    for one in value.as_object().into_iter().flat_map(Map::values) {
                        self.inside(one, None, depth)?;
                    }
                }
                // Values, not schemas.
                "default" | "const" | "enum" | "examples" => {}
                _ => self.inside(value, None, depth)?,
            }
        }
        Ok(())
    }

    fn inside(
        &mut self,
        value: &Value,
        path: Option<&mut Vec<String>>,
        depth: usize,
    ) -> Result<(), String> {
        match value {
            Value::Object(schema) => self.schema(schema, path, depth + 1),
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.inside(item, None, depth + 1)),
            _ => Ok(()),
        }
    }

    fn annotation(
        &mut self,
        schema: &Map<String, Value>,
        name: &Value,
        path: Option<&[String]>,
    ) -> Result<(), String> {
        let path = path.filter(|path| !path.is_empty()).ok_or_else(|| {
            format!("its {ANNOTATION} is not on a property reached through properties alone")
        })?;
        let at = path.join(".");
        let name = name
            .as_str()
            .filter(|name| !name.is_empty())
            .ok_or_else(|| format!("the {ANNOTATION} of '{at}' is not a name"))?;
        let header = HeaderName::try_from(format!("mcp-param-{name}"))
            .map_err(|_| format!("the {ANNOTATION} of '{at}' is no name of a header"))?;
        if !self.names.insert(header.as_str().to_owned()) {
            return Err(format!("the {ANNOTATION} of '{at}' is given twice"));
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string" | "integer" | "boolean") => {
                self.found.push(ParamHeader {
                    header,
                    path: path.into(),
                });
                Ok(())
            }
            _ => Err(format!(
                "the {ANNOTATION} of '{at}' is on something other than a string, an integer or a boolean"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_repeated_where_the_schema_says_so() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "nested": { "type": "object", "properties": {
                "flag": { "type": "boolean", "x-mcp-header": "Flag" } } },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
            "null": { "type": "string", "x-mcp-header": "Null" },
            "other": { "type": "string", "default": { "x-mcp-header": "no annotation" } },
        }});
        let params = read_annotations(&schema).expect("they are valid");
        let arguments =
            r#"{"region":"Zürich","count":42,"nested":{"flag":true},"null":null,"other":"x"}"#;
        let headers = of_request("tools/call", Some("deploy"), &params, arguments);
        let value = |name: &str| {
            headers
                .get(name)
                .map(|value| value.to_str().expect("ASCII"))
        };
        assert_eq!(value("Mcp-Method"), Some("tools/call"));
        assert_eq!(value("Mcp-Name"), Some("deploy"));
        assert_eq!(value("Mcp-Param-Region"), Some("=?base64?WsO8cmljaA==?="));
        assert_eq!(value("Mcp-Param-Count"), Some("42"));
        assert_eq!(value("Mcp-Param-Flag"), Some("true"));
        assert_eq!(headers.len(), 5);
    }

    #[test]
    fn annotations_that_cannot_be_followed_are_refused() {
        let property = |property: Value| json!({ "properties": { "a": property } });
        let refused = [
            json!({ "x-mcp-header": "Root" }),
            property(json!({ "type": "string", "x-mcp-header": "" })),
            property(json!({ "type": "string", "x-mcp-header": 5 })),
            property(json!({ "type": "string", "x-mcp-header": "a b" })),
            property(json!({ "type": "string", "x-mcp-header": "a\r\nb: c" })),
            property(json!({ "type": "number", "x-mcp-header": "A" })),
            property(json!({ "x-mcp-header": "A" })),
            property(
                json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "A" } }),
            ),
            property(json!({ "oneOf": [{ "type": "string", "x-mcp-header": "A" }] })),
            json!({ "$defs": { "default": { "type": "string", "x-mcp-header": "A" } } }),
            json!({ "properties": {
                "a": { "type": "string", "x-mcp-header": "Same" },
                "b": { "type": "string", "x-mcp-header": "same" } } }),
        ];
        for schema in refused {
            assert!(read_annotations(&schema).is_err(), "{schema}");
        }
        for schema in [
            json!({}),
            json!({ "properties": { "x-mcp-header": {} } }),
            json!(true),
        ] {
            assert_eq!(read_annotations(&schema), Ok(Vec::new()), "{schema}");
        }
    }
}
