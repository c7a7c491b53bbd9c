//! Descriptions of keys, from which messages, the JSON Schema and the reference page come.

use serde_json::{Map, Value, json};

/// Description of the values that a key may have.
pub(super) struct Shape {
    /// What is allowed, in words that follow "allowed: ".
    pub(super) allowed: String,
    /// JSON Schema of the value.
    pub(super) schema: Value,
    /// Section inside the value, and what leads to it from there: nothing, or `.<name>` in a map.
    pub(super) inside: Option<(&'static str, SectionShape)>,
}

/// Description of a section.
pub(super) struct SectionShape {
    /// What it is for.
    pub(super) about: &'static str,
    pub(super) keys: Vec<KeyShape>,
}

/// Description of a key of a section.
pub(super) struct KeyShape {
    pub(super) name: &'static str,
    /// What it means.
    pub(super) about: &'static str,
    pub(super) shape: Shape,
    pub(super) default: DefaultShape,
}

/// Description of what holds when a key is not written.
pub(super) enum DefaultShape {
    /// This value.
    Value(Value),
    /// Nothing is assumed.
    Nothing,
    /// The defaults of its own keys.
    OfItsKeys,
    /// It has to be written.
    Required,
}

impl Shape {
    /// A single value.
    pub(super) fn leaf(allowed: &str, schema: Value) -> Self {
        Self {
            allowed: allowed.to_owned(),
            schema,
            inside: None,
        }
    }

    /// A section.
    pub(super) fn section(section: SectionShape) -> Self {
        Self {
            allowed: "an object".to_owned(),
            schema: section.schema(),
            inside: Some(("", section)),
        }
    }
}

impl SectionShape {
    fn schema(&self) -> Value {
        let properties: Map<String, Value> = self
            .keys
            .iter()
            .map(|key| (key.name.to_owned(), key.schema()))
            .collect();
        let mut schema = json!({
            "description": self.about,
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        let is_required = |key: &&KeyShape| matches!(key.default, DefaultShape::Required);
        let required = self.keys.iter().filter(is_required).map(|key| key.name);
        let required: Vec<&str> = required.collect();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}

impl KeyShape {
    fn schema(&self) -> Value {
        let mut schema = self.shape.schema.clone();
        // The words say what the schema's own keywords cannot, such as the bounds of a duration.
        let is_single = !matches!(schema["type"].as_str(), None | Some("object" | "array"));
        schema["description"] = if is_single {
            json!(format!("{} Allowed: {}.", self.about, self.shape.allowed))
        } else {
            json!(self.about)
        };
        if let DefaultShape::Value(default) = &self.default {
            schema["default"] = default.clone();
        }
        schema
    }
}
