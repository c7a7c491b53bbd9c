//! A tool as its server describes it.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::annotations::ToolAnnotations;
use crate::json::with_member;
use crate::json::{Fields, Json, check_keys};
use crate::meta::META;

/// The longest name a tool may have; the protocol recommends 128.
const NAME_LIMIT: usize = 256;

/// One tool: the bytes its server sent, and what we read of them.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// The whole definition, unknown fields included, as it was sent. Annotations that say something twice are
    /// replaced by what counts.
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
    /// Reads one definition; the error says what is wrong with it. One that names a key twice says two things, of
    /// which clients and servers may each read another.
    pub fn parse(raw: &Json) -> Result<Self, String> {
        let raw = &with_annotations_once(raw)?;
        let fields = raw.fields().ok_or("it is not an object")?;
        let name: String = string(&fields, "name")?.ok_or("it has no name")?;
        check_name(&name)?;
        let input_schema = raw.part(fields.given("inputSchema").ok_or("it has no inputSchema")?);
        if !input_schema.is_object() {
            return Err("its inputSchema is not an object".to_owned());
        }
        let checked = check_keys(input_schema.text());
        checked.map_err(|error| format!("its inputSchema says two things: {error}"))?;
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

/// Definition whose annotations say everything once; the error names another member that is given twice.
fn with_annotations_once(raw: &Json) -> Result<Json, String> {
    const ANNOTATIONS: &str = "annotations";
    let fields = raw.fields().ok_or("it is not an object")?;
    let annotations: Vec<&RawValue> = fields.all(ANNOTATIONS).collect();
    let once = ToolAnnotations::said_once(&annotations)?;
    if let Some(name) = fields.without(ANNOTATIONS).repeated() {
        return Err(format!("its {name} is given twice"));
    }
    Ok(match once {
        Some(once) => with_member(raw, ANNOTATIONS, &once),
        None => raw.clone(),
    })
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

    fn parse(text: &str) -> Result<ToolDefinition, String> {
        ToolDefinition::parse(&Json::parse(text.to_owned()).unwrap())
    }

    #[test]
    fn an_annotation_given_twice_made_a_destructive_tool_a_read() {
        let destructive = Some(true);
        for (annotations, read_only, destroys) in [
            (
                r#""annotations":{"destructiveHint":true,"destructiveHint":false}"#,
                None,
                destructive,
            ),
            (
                r#""annotations":{"destructiveHint":false,"destructive\u0048int":true}"#,
                None,
                destructive,
            ),
            (
                r#""annotations":{"readOnlyHint":false,"readOnlyHint":true}"#,
                Some(false),
                None,
            ),
            (
                r#""annotations":{"readOnlyHint":true,"readOnlyHint":null}"#,
                None,
                None,
            ),
            (
                r#""annotations":{"readOnlyHint":true,"readOnlyHint":true}"#,
                Some(true),
                None,
            ),
            (
                r#""annotations":{"destructiveHint":true},"annotations":{"readOnlyHint":true}"#,
                None,
                destructive,
            ),
            (
                r#""annotations":{"readOnlyHint":true},"annotations":{}"#,
                None,
                None,
            ),
            (
                r#""annotations":null,"annotations":{"destructiveHint":false}"#,
                None,
                None,
            ),
            (
                r#""annotations":{"readOnlyHint":true},"annotations":{"readOnlyHint":true}"#,
                Some(true),
                None,
            ),
        ] {
            let tool = parse(&format!(
                r#"{{"name":"t",{annotations},"inputSchema":{{}}}}"#
            ))
            .unwrap();
            let read = (tool.annotations.read_only, tool.annotations.destructive);
            assert_eq!(read, (read_only, destroys), "{annotations}");
            // Clients that take the first, and those that take the last, are shown what counts.
            let shown = tool.raw.fields().unwrap();
            for shown in shown.all("annotations") {
                let shown = ToolAnnotations::parse(&tool.raw.part(shown)).unwrap();
                assert_eq!(shown, tool.annotations, "{annotations}");
            }
            assert_eq!(parse(tool.raw.text()).unwrap().raw, tool.raw);
        }
        let titled = parse(
            r#"{"name":"t","annotations":{"title":"a","destructiveHint":true,"n":1e400},"inputSchema":{},"annotations":{"title":"b"}}"#,
        );
        assert_eq!(
            titled.unwrap().raw.text(),
            r#"{"name":"t","annotations":{"destructiveHint":true,"n":1e400,"title":"b"},"inputSchema":{},"annotations":{"destructiveHint":true,"n":1e400,"title":"b"}}"#
        );
        let wrong =
            r#"{"name":"t","annotations":{"readOnlyHint":true,"readOnlyHint":1},"inputSchema":{}}"#;
        assert!(parse(wrong).unwrap_err().contains("not true or false"));
    }

    #[test]
    fn a_definition_that_says_two_things_is_refused() {
        for (definition, reason) in [
            (
                r#"{"name":"a","name":"b","inputSchema":{}}"#,
                "its name is given twice",
            ),
            (
                r#"{"name":"a","inputSchema":{},"inputSchema":{}}"#,
                "its inputSchema is given twice",
            ),
            (
                r#"{"name":"a","inputSchema":{"properties":{"n":{"maximum":1,"m\u0061ximum":2}}}}"#,
                "its inputSchema says two things: key 'maximum' is given twice at line 1 column 49",
            ),
            (
                r#"{"name":"a","_meta":{},"inputSchema":{},"_meta":{}}"#,
                "its _meta is given twice",
            ),
        ] {
            assert_eq!(parse(definition).unwrap_err(), reason);
        }
    }
}
