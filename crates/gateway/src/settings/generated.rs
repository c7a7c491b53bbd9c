//! The JSON Schema and the reference page, made from the list of keys.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::environment;
use super::shape::{Default, Key, Shape, ValueKind};
use super::written::{NAME_PATTERN, WrittenFile};

/// The first part of the reference page.
const INTRODUCTION: &str = include_str!("introduction.md");

/// The JSON Schema of the configuration file.
pub fn schema() -> Value {
    let mut schema = Map::new();
    schema.insert(
        "$schema".into(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    schema.insert("title".into(), json!("mcpproxy configuration"));
    schema.extend(schema_of(&WrittenFile::kind()));
    Value::Object(schema)
}

/// The reference of the configuration file, in Markdown.
pub fn reference_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## Environment variables\n\n| variable | meaning |\n|---|---|\n");
    for (name, about) in environment::DOCUMENTED {
        write_row(&mut page, &[&format!("`{name}`"), about]);
    }
    page.push_str("\n## Keys\n\n");
    page.push_str("A default of “none” means that nothing is assumed when the key is left out.\n");
    write_section(&mut page, "", &WrittenFile::kind());
    page
}

fn schema_of(kind: &ValueKind) -> Map<String, Value> {
    let schema = match kind {
        ValueKind::Leaf { schema, .. } => schema.clone(),
        ValueKind::List(item) => json!({ "type": "array", "items": schema_of(item) }),
        ValueKind::Map(item) => {
            json!({ "type": "object", "additionalProperties": schema_of(item) })
        }
        ValueKind::Section { about, keys } => section_schema(about, keys),
        ValueKind::Servers(entry) => servers_schema(entry),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn section_schema(about: &str, keys: &[Key]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), Value::Object(key_schema(key))))
        .collect();
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| matches!(key.default, Default::Required))
        .map(|key| key.name)
        .collect();
    let mut schema = json!({
        "description": about.trim(),
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn key_schema(key: &Key) -> Map<String, Value> {
    let mut schema = schema_of(&key.kind);
    // The words say what the schema's own keywords cannot, such as the bounds of a duration.
    let description = match &key.kind {
        ValueKind::Leaf { allowed, .. } => format!("{} Allowed: {allowed}.", key.about.trim()),
        _ => key.about.trim().to_owned(),
    };
    schema.insert("description".into(), json!(description));
    if let Default::Value(default) = &key.default {
        schema.insert("default".into(), default.clone());
    }
    schema
}

/// The map form has no `name`; the array form needs it.
fn servers_schema(entry: &ValueKind) -> Value {
    let mut in_map = schema_of(entry);
    let mut in_array = in_map.clone();
    if let Some(Value::Object(properties)) = in_map.get_mut("properties") {
        properties.shift_remove("name");
    }
    in_array.insert("required".into(), json!(["name"]));
    let transports = json!([{ "required": ["command"] }, { "required": ["url"] }]);
    in_map.insert("oneOf".into(), transports.clone());
    in_array.insert("oneOf".into(), transports);
    json!({
        "oneOf": [
            {
                "type": "object",
                "propertyNames": { "pattern": NAME_PATTERN },
                "additionalProperties": in_map,
            },
            { "type": "array", "items": in_array },
        ],
    })
}

/// Writes the table of a section, then those of the sections inside it.
fn write_section(page: &mut String, path: &str, kind: &ValueKind) {
    let ValueKind::Section { about, keys } = kind else {
        return;
    };
    let title = if path.is_empty() {
        "The top level".to_owned()
    } else {
        format!("`{path}`")
    };
    let about = about.trim();
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "\n### {title}\n\n{about}\n\n| key | allowed | default | meaning |\n|---|---|---|---|\n"
    );
    for key in keys {
        write_row(
            page,
            &[
                &format!("`{}`", key.name),
                &key.kind.allowed(),
                &default_of(key),
                key.about.trim(),
            ],
        );
    }
    for key in keys {
        let path = if path.is_empty() {
            key.name.to_owned()
        } else {
            format!("{path}.{}", key.name)
        };
        match &key.kind {
            ValueKind::Map(item) | ValueKind::Servers(item) => {
                write_section(page, &format!("{path}.<name>"), item);
            }
            kind => write_section(page, &path, kind),
        }
    }
}

fn default_of(key: &Key) -> String {
    match &key.default {
        Default::Value(default) => format!("`{default}`"),
        Default::Nothing => "none".to_owned(),
        Default::OfItsKeys => "see below".to_owned(),
        Default::Required => "must be given".to_owned(),
    }
}

fn write_row(page: &mut String, cells: &[&str]) {
    let escaped: Vec<String> = cells
        .iter()
        .map(|cell| cell.replace('|', "\\|").replace('<', "&lt;"))
        .collect();
    let _ = writeln!(page, "| {} |", escaped.join(" | "));
}
