//! The schema of hints as they are sent.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, json_schema};
use serde_json::Value;

use super::AgentHints;

/// The JSON schema of hints (draft 2020-12). What this crate sends keeps it; so must results of
/// others, and therefore it asks for no more than the contract does.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(tidy))
        .into_generator()
        .into_root_schema_for::<AgentHints>()
        .to_value()
}

/// Makes the schema of each struct say what is really sent: what is missing is left out and never
/// null, and numbers have no format that only Rust knows.
fn tidy(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for property in properties.values_mut() {
        let Value::Object(property) = property else {
            continue;
        };
        if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type") != Some(&Value::from("null")));
            if let [Value::Object(only)] = choices.as_mut_slice() {
                let only = std::mem::take(only);
                property.remove("anyOf");
                property.extend(only);
            }
        }
        if let Some(Value::Array(words)) = property.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [only] = types.as_mut_slice() {
                let only = only.take();
                property.insert("type".to_owned(), only);
            }
        }
        let is_number =
            matches!(property.get("type"), Some(kind) if kind == "number" || kind == "integer");
        if is_number {
            property.remove("format");
        }
    }
}

/// Makes the schema of an enum the list of its words; what each means is for authors.
pub(super) fn as_words(schema: &mut Schema) {
    let choices = schema.get("oneOf").and_then(Value::as_array);
    let words: Vec<&Value> = choices
        .into_iter()
        .flatten()
        .map(|one| &one["const"])
        .collect();
    *schema = json_schema!({ "type": "string", "enum": words });
}
