//! A tool as its server describes it.

use std::collections::HashSet;
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
    /// What it does; empty if the server does not say.
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

/// One page of `tools/list`.
#[derive(Debug, Default)]
pub struct ToolPage {
    /// The tools that can be used.
    pub tools: Vec<ToolDefinition>,
    /// Those left out, each with the reason.
    pub rejected: Vec<Rejected>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}

/// A tool that was left out of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its position in the list.
    pub index: usize,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// What is wrong with it.
    pub reason: String,
}

// === impl ToolPage ===

impl ToolPage {
    /// Reads the result of `tools/list`. A malformed tool is left out and the others stay;
    /// an error means that there is no list at all.
    pub fn parse(json: &Json) -> Result<Self, String> {
        let fields = json
            .fields()
            .ok_or("the result of tools/list is not an object")?;
        let list = fields
            .get("tools")
            .ok_or("the result of tools/list has no tools")?;
        let items: Vec<&RawValue> = serde_json::from_str(list.get())
            .map_err(|_| "the tools in the result of tools/list are not a list")?;
        let mut page = Self {
            next_cursor: fields
                .given("nextCursor")
                .and_then(|raw| serde_json::from_str(raw.get()).ok()),
            ..Self::default()
        };
        let mut names = HashSet::new();
        for (index, item) in items.into_iter().enumerate() {
            let parsed = ToolDefinition::parse(&json.part(item)).and_then(|tool| {
                if names.insert(Arc::clone(&tool.name)) {
                    Ok(tool)
                } else {
                    Err("another tool of the list has the same name".to_owned())
                }
            });
            match parsed {
                Ok(tool) => page.tools.push(tool),
                Err(reason) => page.rejected.push(Rejected {
                    index,
                    name: name_of(item),
                    reason,
                }),
            }
        }
        Ok(page)
    }
}

// === impl ToolDefinition ===

impl ToolDefinition {
    /// Reads one definition; the error says what is wrong with it.
    pub fn parse(raw: &Json) -> Result<Self, String> {
        let fields = raw.fields().ok_or("it is not an object")?;
        let name: String = string(&fields, "name")?.ok_or("it has no name")?;
        check_name(&name)?;
        let input_schema = fields
            .given("inputSchema")
            .ok_or("it has no inputSchema")
            .map(|schema| raw.part(schema))?;
        if !input_schema.is_object() {
            return Err("its inputSchema is not an object".to_owned());
        }
        let raw_annotations = fields.given("annotations").map(|value| raw.part(value));
        let annotations = raw_annotations
            .as_ref()
            .map(ToolAnnotations::parse)
            .transpose()?
            .unwrap_or_default();
        Ok(Self {
            name: name.into(),
            description: string(&fields, "description")?.unwrap_or_default(),
            input_schema,
            annotations,
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
    if name
        .chars()
        .any(|character| character.is_control() || character.is_whitespace())
    {
        return Err("its name contains a space or a control character".to_owned());
    }
    Ok(())
}

fn string(fields: &Fields<'_>, name: &str) -> Result<Option<String>, String> {
    fields
        .given(name)
        .map(|raw| {
            serde_json::from_str(raw.get()).map_err(|_| format!("its {name} is not a string"))
        })
        .transpose()
}

fn name_of(raw: &RawValue) -> Option<String> {
    let fields: Fields<'_> = serde_json::from_str(raw.get()).ok()?;
    serde_json::from_str(fields.get("name")?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> ToolPage {
        ToolPage::parse(&Json::parse(text.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn one_malformed_tool_is_left_out_and_the_others_stay() {
        let malformed = [
            ("7", "it is not an object"),
            (r#"{"inputSchema":{}}"#, "it has no name"),
            (r#"{"name":5,"inputSchema":{}}"#, "its name is not a string"),
            (r#"{"name":"","inputSchema":{}}"#, "its name is empty"),
            (
                r#"{"name":"a b","inputSchema":{}}"#,
                "its name contains a space or a control character",
            ),
            (r#"{"name":"x"}"#, "it has no inputSchema"),
            (
                r#"{"name":"x","inputSchema":[]}"#,
                "its inputSchema is not an object",
            ),
            (
                r#"{"name":"x","inputSchema":{},"description":1}"#,
                "its description is not a string",
            ),
            (
                r#"{"name":"x","inputSchema":{},"annotations":"no"}"#,
                "its annotations are not an object",
            ),
            (
                r#"{"name":"x","inputSchema":{},"annotations":{"destructiveHint":"no"}}"#,
                "its annotation destructiveHint is not true or false",
            ),
            (
                r#"{"name":"good","inputSchema":{}}"#,
                "another tool of the list has the same name",
            ),
        ];
        for (item, reason) in malformed {
            let page = page(&format!(
                r#"{{"tools":[{{"name":"good","inputSchema":{{}}}},{item},{{"name":"also","inputSchema":{{}}}}]}}"#
            ));
            let names: Vec<_> = page.tools.iter().map(|tool| &*tool.name).collect();
            assert_eq!(names, ["good", "also"], "{item}");
            assert_eq!(page.rejected.len(), 1, "{item}");
            assert_eq!(
                (page.rejected[0].index, page.rejected[0].reason.as_str()),
                (1, reason)
            );
        }
    }

    #[test]
    fn unknown_fields_key_order_and_large_numbers_are_kept() {
        let sent = r#"{ "zeta":1, "name":"t", "inputSchema":{"b":1,"a":{"maximum":18446744073709551616}}, "annotations":{"futureHint":[1],"readOnlyHint":true}, "_meta":{"k":1.0} }"#;
        let page = page(&format!(r#"{{"nextCursor":"c","tools":[{sent}]}}"#));
        let tool = &page.tools[0];
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
        assert_eq!(page.next_cursor.as_deref(), Some("c"));
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for text in ["[]", "{}", r#"{"tools":{}}"#, "null"] {
            assert!(
                ToolPage::parse(&Json::parse(text.to_owned()).unwrap()).is_err(),
                "{text}"
            );
        }
    }
}
