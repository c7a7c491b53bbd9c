//! A tool as its server describes it.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::annotations::ToolAnnotations;
use crate::json::{Fields, Json};
use crate::meta::META;

/// The longest name a tool may have; the protocol recommends 128.
const NAME_LIMIT: usize = 256;

/// One tool: the bytes its server sent, and what we read of them.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// The whole definition, unknown fields included.
    pub raw: Json,
    /// Its name at the server.
    pub name: Arc<str>,
    /// Description of what it does; empty if the server gives none.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Json,
    /// The annotations that decisions rest on.
    pub annotations: ToolAnnotations,
    /// All annotations as sent.
    pub raw_annotations: Option<Json>,
    /// The tool's own `_meta`.
    pub meta: Option<Json>,
}

impl ToolDefinition {
    /// Reads one definition; the error says what is wrong with it.
    pub fn parse(raw: &Json) -> Result<Self, String> {
        let fields = raw.fields().ok_or("it is not an object")?;
        let name: String = string(&fields, "name")?.ok_or("it has no name")?;
        check_name(&name)?;
        let input_schema = raw.part(fields.given("inputSchema").ok_or("it has no inputSchema")?);
        if !input_schema.is_object() {
            return Err("its inputSchema is not an object".to_owned());
        }
        let raw_annotations = fields.given("annotations").map(|value| raw.part(value));
        let annotations = raw_annotations.as_ref().map(ToolAnnotations::parse);
        Ok(Self {
            name: name.into(),
            description: string(&fields, "description")?.unwrap_or_default(),
            input_schema,
            annotations: annotations.transpose()?.unwrap_or_default(),
            raw_annotations,
            meta: fields.given(META).map(|value| raw.part(value)),
            raw: raw.clone(),
        })
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("its name is empty".to_owned());
    }
    if name.chars().count() > NAME_LIMIT {
        return Err(format!("its name is longer than {NAME_LIMIT} characters"));
    }
    let is_separator = |character: char| character.is_control() || character.is_whitespace();
    if name.contains(is_separator) {
        return Err("its name contains a space or a control character".to_owned());
    }
    Ok(())
}

/// Member that is a string where it is given; the error says that it is not.
pub(crate) fn string(fields: &Fields<'_>, name: &str) -> Result<Option<String>, String> {
    let read = |raw: &RawValue| serde_json::from_str(raw.get());
    let read = fields.given(name).map(read).transpose();
    read.map_err(|_| format!("its {name} is not a string"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_key_order_and_large_numbers_are_kept() {
        let sent = r#"{ "zeta":1, "name":"t", "inputSchema":{"b":1,"a":{"maximum":18446744073709551616}}, "annotations":{"futureHint":[1],"readOnlyHint":true}, "_meta":{"k":1.0} }"#;
        let tool = ToolDefinition::parse(&Json::parse(sent).unwrap()).unwrap();
        assert_eq!(tool.raw.text(), sent);
        assert_eq!(
            tool.input_schema.text(),
            r#"{"b":1,"a":{"maximum":18446744073709551616}}"#
        );
        assert_eq!(
            tool.raw_annotations.as_ref().unwrap().text(),
            r#"{"futureHint":[1],"readOnlyHint":true}"#
        );
        assert_eq!(tool.annotations.read_only, Some(true));
        assert_eq!(tool.annotations.destructive, None);
        assert_eq!(tool.meta.as_ref().unwrap().text(), r#"{"k":1.0}"#);
    }
}
