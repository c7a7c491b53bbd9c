//! Arguments of tools that are repeated in headers, so that others can route a call unread.

use std::collections::HashSet;
use std::sync::Arc;

use memchr::memmem;
use serde_json::{Map, Value};

use crate::header;
use crate::json::Json;

/// Keyword of a schema where an argument is to be repeated.
const ANNOTATION: &str = "x-mcp-header";
/// Depth to which a schema is looked at. JSON of a server is never nested deeper than its reader takes.
const DEEPEST: usize = 128;

/// One argument that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    header: Arc<str>,
    /// The names that lead to the argument.
    path: Arc<[String]>,
}

/// The arguments that a tool with this input schema wants to have in headers; the error is why the
/// tool cannot be used.
pub fn of_schema(schema: &Json) -> Result<Vec<ParamHeader>, String> {
    let text = schema.text();
    // Most schemas have no such annotation, and are not decoded.
    if memmem::find(text.as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(Vec::new());
    }
    let schema: Value = serde_json::from_str(text)
        .map_err(|_| format!("its inputSchema cannot be read to find its {ANNOTATION}"))?;
    let mut reader = HeaderAnnotations::default();
    if let Some(schema) = schema.as_object() {
        reader.schema(schema, Some(&[]), 0)?;
    }
    Ok(reader.found)
}

impl ParamHeader {
    /// The name of the header, in lower case.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Text that the header has for these arguments, before it is encoded; nothing if it is to be left out.
    pub fn text_in(&self, arguments: &Value) -> Option<String> {
        let mut path = self.path.iter();
        let value = path.try_fold(arguments, |value, key| value.get(key))?;
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// Looks for annotations in a schema. They count only on properties that are reached through
/// nothing but properties, because only there it is sure which argument is meant.
#[derive(Default)]
struct HeaderAnnotations {
    found: Vec<ParamHeader>,
    names: HashSet<String>,
}

impl HeaderAnnotations {
    /// `path` leads to what the schema describes; nothing where that is not sure.
    fn schema(
        &mut self,
        schema: &Map<String, Value>,
        path: Option<&[&str]>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > DEEPEST {
            return Err("its inputSchema is nested too deep".to_owned());
        }
        for (key, value) in schema {
            match key.as_str() {
                ANNOTATION => self.annotation(schema, value, path)?,
                "properties" => {
                    for (name, property) in value.as_object().into_iter().flatten() {
                        let path = path.map(|path| [path, &[name.as_str()]].concat());
                        self.inside(property, path.as_deref(), depth)?;
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

    fn inside(&mut self, value: &Value, path: Option<&[&str]>, depth: usize) -> Result<(), String> {
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
        path: Option<&[&str]>,
    ) -> Result<(), String> {
        let path = path.filter(|path| !path.is_empty()).ok_or_else(|| {
            format!("its {ANNOTATION} is not on a property reached through properties alone")
        })?;
        let at = path.join(".");
        let name = name
            .as_str()
            .filter(|name| !name.is_empty())
            .ok_or_else(|| format!("the {ANNOTATION} of '{at}' is not a name"))?;
        let is_of_a_name =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if !name.bytes().all(is_of_a_name) {
            return Err(format!("the {ANNOTATION} of '{at}' is no name of a header"));
        }
        let header = format!("{}{}", header::PARAM_PREFIX, name.to_ascii_lowercase());
        if !self.names.insert(header.clone()) {
            return Err(format!("the {ANNOTATION} of '{at}' is given twice"));
        }
        let Some("string" | "integer" | "boolean") = schema.get("type").and_then(Value::as_str)
        else {
            return Err(format!(
                "the {ANNOTATION} of '{at}' is on something other than a string, an integer or a boolean"
            ));
        };
        self.found.push(ParamHeader {
            header: header.into(),
            path: path.iter().map(ToString::to_string).collect(),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            assert!(of_schema(&Json::of(&schema)).is_err(), "{schema}");
        }
        for schema in [
            json!({}),
            json!({ "properties": { "x-mcp-header": {} } }),
            json!(true),
        ] {
            assert_eq!(of_schema(&Json::of(&schema)), Ok(Vec::new()), "{schema}");
        }
    }
}
