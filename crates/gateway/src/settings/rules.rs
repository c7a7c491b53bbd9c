//! Rules of the keys: which values each may have, in words and as JSON Schema.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::clients::entries;
use super::text::{SERVER_NAME, SERVER_NAME_PATTERN, TextRule};

/// Section of the file; [`section!`](super::keys::section::section) writes it.
pub(super) struct Section {
    /// Its purpose.
    pub(super) about: &'static str,
    pub(super) keys: &'static [Key],
}

/// Key of a section.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// Its meaning.
    pub(super) about: &'static str,
    pub(super) rule: KeyRule,
    /// Value that holds when it is not written, in the words of the file; `null` where nothing is
    /// assumed. Without one, the key has to be written.
    pub(super) default: Option<&'static str>,
}

/// Rule of a value.
pub(super) enum KeyRule {
    /// True or false.
    Flag,
    /// A string that is taken as it stands.
    AnyString,
    /// A string that is taken as it stands, if the rule allows it.
    Plain(TextRule),
    /// The name of a server.
    ServerName,
    /// A whole number between two bounds.
    Whole(u64, u64),
    /// A duration in milliseconds between two bounds.
    Milliseconds(u64, u64),
    /// A duration between two bounds, written such as `"30s"`.
    Span(Duration, Duration),
    /// One of a few words, as serde names the variants of the field's type.
    Choice(&'static [&'static str]),
    /// A string that may hold references.
    Text(TextRule, TextKind),
    /// An array.
    List(&'static KeyRule),
    /// An array, or one word in its place.
    ListOrWord(&'static KeyRule, &'static str),
    /// An object whose keys the person chooses: the rule of the keys and that of the values.
    Entries(TextRule, &'static KeyRule),
    /// A section.
    Nested(&'static Section),
    /// A map of servers, or an array of servers with a name.
    Servers(&'static Section),
    /// A value that is checked and not kept.
    Unkept(&'static KeyRule),
}

/// Kind of a string that may hold references.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// Shown as written, but for credentials; hidden if a reference gave a part of it.
    Visible,
    /// A URL. Else `Visible`.
    Url,
    /// Never shown.
    Hidden,
    /// A path; a relative one starts at the folder of the file. Else `Visible`.
    Path,
    /// An address to listen on.
    Address,
    /// An address of a store; all but `sqlite` is hidden.
    Store,
}

impl KeyRule {
    /// Values that are allowed, in words that follow "allowed: ".
    pub(super) fn allowed(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::AnyString => "a string".to_owned(),
            Self::ServerName => SERVER_NAME.allowed.to_owned(),
            Self::Whole(least, most) | Self::Milliseconds(least, most) => {
                format!("a whole number from {least} to {most}")
            }
            Self::Span(least, most) => {
                let [from, to] = [*least, *most].map(humantime::format_duration);
                format!("a duration from {from} to {to} such as \"30s\"")
            }
            Self::Choice(words) => quoted(words),
            Self::Text(text, _) | Self::Plain(text) => text.allowed.to_owned(),
            Self::List(item) => array_of(item),
            Self::ListOrWord(item, word) => format!("{}, or \"{word}\"", array_of(item)),
            Self::Entries(..) | Self::Nested(_) => "an object".to_owned(),
            Self::Servers(_) => {
                "an object with a key for each server, or an array of objects with a name"
                    .to_owned()
            }
            Self::Unkept(rule) => rule.allowed(),
        }
    }

    /// JSON Schema of the value.
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Flag => json!({ "type": "boolean" }),
            Self::AnyString | Self::Plain(_) | Self::Text(..) => json!({ "type": "string" }),
            Self::ServerName => json!({ "type": "string", "pattern": SERVER_NAME_PATTERN }),
            Self::Whole(least, most) | Self::Milliseconds(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::Span(..) => json!({ "type": "string", "examples": ["30s", "10m"] }),
            Self::Choice(words) => json!({ "type": "string", "enum": words }),
            Self::List(item) => json!({ "type": "array", "items": item.schema() }),
            Self::ListOrWord(item, word) => json!({
                "oneOf": [{ "type": "array", "items": item.schema() }, { "const": word }],
            }),
            Self::Entries(_, value) => {
                json!({ "type": "object", "additionalProperties": value.schema() })
            }
            Self::Nested(section) => section.schema(),
            Self::Servers(server) => schema_of_servers(server),
            Self::Unkept(rule) => rule.schema(),
        }
    }
}

impl Section {
    fn schema(&self) -> Value {
        let properties = self
            .keys
            .iter()
            .map(|key| (key.name.to_owned(), key.schema()));
        let mut schema = json!({
            "description": self.about,
            "type": "object",
            "properties": properties.collect::<Map<_, _>>(),
            "additionalProperties": false,
        });
        let required = self.keys.iter().filter(|key| key.default.is_none());
        let required: Vec<&str> = required.map(|key| key.name).collect();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}

impl Key {
    fn schema(&self) -> Value {
        let mut schema = self.rule.schema();
        // The words say what the schema's own keywords cannot, such as the bounds of a duration.
        let is_single = !matches!(schema["type"].as_str(), None | Some("object" | "array"));
        schema["description"] = if is_single {
            json!(format!("{} Allowed: {}.", self.about, self.rule.allowed()))
        } else {
            json!(self.about)
        };
        let default = self
            .default
            .filter(|_| !matches!(self.rule, KeyRule::Nested(_)));
        let default = default.and_then(|default| serde_json::from_str(default).ok());
        if let Some(default) = default.filter(|default: &Value| !default.is_null()) {
            schema["default"] = default;
        }
        schema
    }
}

/// The map form has no `name`; the array form needs it. Both admit what clients write, which is read in our words.
fn schema_of_servers(server: &Section) -> Value {
    let (mut in_map, mut in_array) = (server.schema(), server.schema());
    if let Some(properties) = in_map["properties"].as_object_mut() {
        properties.shift_remove("name");
    }
    in_array["required"] = json!(["name"]);
    for server in [&mut in_map, &mut in_array] {
        entries::admit(server);
    }
    json!({
        "oneOf": [
            { "type": "object", "additionalProperties": in_map },
            { "type": "array", "items": in_array },
        ],
    })
}

/// Array of such items, in words.
fn array_of(item: &KeyRule) -> String {
    match item.allowed().strip_prefix("a ") {
        Some(noun) => format!("an array, each item a {noun}"),
        None => "an array".to_owned(),
    }
}

/// Words in quotes, with commas between them.
pub(super) fn quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(", ")
}
