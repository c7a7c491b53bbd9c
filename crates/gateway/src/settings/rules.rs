//! Rules for the kinds of value that the keys of the file have; strings with references are in
//! `text`.

use std::time::Duration;

use jsonc_parser::ast::Value;
use mcpproxy_support::nearest::nearest_keyword;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::problem::shown;
use super::reader::{KeyRule, Section, SettingsReader, Written, join};
use super::secret::Secret;
use super::shape::Shape;
use super::text::TextRule;

/// Rule of a single value.
pub(super) struct Leaf<T> {
    allowed: String,
    schema: Json,
    read: Box<LeafReader<T>>,
    shown: Box<LeafShown<T>>,
}

/// Reads a value: nothing for a wrong type, else the value or what was found in its place.
type LeafReader<T> = dyn Fn(&Value<'_>) -> Option<Result<T, String>>;

/// Shows a value as the file would say it.
type LeafShown<T> = dyn Fn(&T) -> Option<Json>;

/// Place of a value that is checked and not kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unkept;

/// A value that may be missing.
pub(super) struct Optional<R>(pub(super) R);

/// An array.
pub(super) struct List<R>(pub(super) R);

/// An object whose keys the person chooses: the rule of the keys and that of the values.
pub(super) struct Entries<R>(pub(super) TextRule, pub(super) R);

/// A section.
pub(super) struct Nested;

/// True or false.
pub(super) fn flag() -> Leaf<bool> {
    Leaf::new("true or false", json!({ "type": "boolean" }), |value| {
        Some(Ok(value.as_boolean_lit()?.value))
    })
}

/// A string that is taken as it stands.
pub(super) fn plain(allowed: &str, schema: Json) -> Leaf<String> {
    Leaf::new(allowed, schema, |value| {
        Some(Ok(value.as_string_lit()?.value.clone().into_owned()))
    })
}

/// A whole number between two bounds.
pub(super) fn whole<T: TryFrom<u64> + Serialize + 'static>(least: u64, most: u64) -> Leaf<T> {
    Leaf::new(
        &format!("a whole number from {least} to {most}"),
        json!({ "type": "integer", "minimum": least, "maximum": most }),
        move |value| {
            let text = value.as_number_lit()?.value;
            let number = text.parse().ok();
            let number = number.filter(|number| (least..=most).contains(number));
            let number = number.and_then(|number| T::try_from(number).ok());
            Some(number.ok_or_else(|| shown(text)))
        },
    )
}

/// A duration between two bounds, written such as `"30s"`.
pub(super) fn span(least: Duration, most: Duration) -> Leaf<Duration> {
    let [from, to] = [least, most].map(humantime::format_duration);
    Leaf {
        allowed: format!("a duration from {from} to {to} such as \"30s\""),
        schema: json!({ "type": "string", "examples": ["30s", "10m"] }),
        read: Box::new(move |value| {
            let text = &value.as_string_lit()?.value;
            let duration = humantime::parse_duration(text).ok();
            let duration = duration.filter(|duration| (least..=most).contains(duration));
            Some(duration.ok_or_else(|| format!("\"{}\"", shown(text))))
        }),
        shown: Box::new(|value| Some(json!(humantime::format_duration(*value).to_string()))),
    }
}

/// A duration in milliseconds between two bounds.
pub(super) fn milliseconds(least: u64, most: u64) -> Leaf<Duration> {
    let number = whole::<u64>(least, most);
    Leaf {
        allowed: number.allowed,
        schema: number.schema,
        read: Box::new(move |value| Some((number.read)(value)?.map(Duration::from_millis))),
        shown: Box::new(|value| Some(json!(u64::try_from(value.as_millis()).ok()?))),
    }
}

/// One of a few words, each with what it stands for.
pub(super) fn choice<T: Copy + PartialEq>(words: &'static [(&'static str, T)]) -> Leaf<T> {
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let quoted: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
    Leaf {
        allowed: quoted.join(", "),
        schema: json!({ "type": "string", "enum": known }),
        read: Box::new(move |value| {
            let word = &*value.as_string_lit()?.value;
            let meant = words.iter().find(|(known, _)| *known == word);
            Some(meant.map(|(_, meaning)| *meaning).ok_or_else(|| {
                let hint = nearest_keyword(word, &known)
                    .map(|meant| format!(" (did you mean \"{meant}\"?)"))
                    .unwrap_or_default();
                format!("\"{}\"{hint}", shown(word))
            }))
        }),
        shown: Box::new(|value| {
            let known = words.iter().find(|(_, meaning)| meaning == value);
            known.map(|(word, _)| json!(word))
        }),
    }
}

impl<T: 'static> Leaf<T> {
    /// A value that is shown as it is.
    fn new(
        allowed: &str,
        schema: Json,
        read: impl Fn(&Value<'_>) -> Option<Result<T, String>> + 'static,
    ) -> Self
    where
        T: Serialize,
    {
        Self {
            allowed: allowed.to_owned(),
            schema,
            read: Box::new(read),
            shown: Box::new(|value| Some(json!(value))),
        }
    }

    /// The same for a value that is only checked.
    pub(super) fn unkept(self) -> Leaf<Unkept> {
        Leaf {
            allowed: self.allowed,
            schema: self.schema,
            read: Box::new(move |value| Some((self.read)(value)?.map(|_| Unkept))),
            shown: Box::new(|_| None),
        }
    }
}

// === impl KeyRule ===

impl<T> KeyRule<T> for Leaf<T> {
    fn shape(&self) -> Shape {
        Shape::leaf(&self.allowed, self.schema.clone())
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<T> {
        reader.leaf(self, at, (self.read)(at.value))
    }

    fn shown(&self, value: &T) -> Option<Json> {
        (self.shown)(value)
    }
}

impl<T, R: KeyRule<T>> KeyRule<Option<T>> for Optional<R> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<Option<T>> {
        self.0.read(reader, at).map(Some)
    }

    fn shown(&self, value: &Option<T>) -> Option<Json> {
        value.as_ref().and_then(|value| self.0.shown(value))
    }

    fn secrets<'v>(&self, value: &'v Option<T>, found: &mut Vec<&'v Secret>) {
        if let Some(value) = value {
            self.0.secrets(value, found);
        }
    }
}

impl<T, R: KeyRule<T>> KeyRule<Vec<T>> for List<R> {
    fn shape(&self) -> Shape {
        let item = self.0.shape();
        let allowed = match item.allowed.strip_prefix("a ") {
            Some(noun) => format!("an array, each item a {noun}"),
            None => "an array".to_owned(),
        };
        Shape::leaf(&allowed, json!({ "type": "array", "items": item.schema }))
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<Vec<T>> {
        let Value::Array(array) = at.value else {
            return reader.leaf(self, at, None);
        };
        let items = array.elements.iter().enumerate();
        let read: Vec<Option<T>> = items
            .map(|(index, item)| self.0.read(reader, Written::new(item, &at.item(index))))
            .collect();
        read.into_iter().collect()
    }

    fn shown(&self, value: &Vec<T>) -> Option<Json> {
        value.iter().map(|item| self.0.shown(item)).collect()
    }

    fn secrets<'v>(&self, value: &'v Vec<T>, found: &mut Vec<&'v Secret>) {
        for item in value {
            self.0.secrets(item, found);
        }
    }
}

impl<T, R: KeyRule<T>> KeyRule<Vec<(String, T)>> for Entries<R> {
    fn shape(&self) -> Shape {
        let value = self.1.shape();
        Shape {
            allowed: "an object".to_owned(),
            schema: json!({ "type": "object", "additionalProperties": value.schema }),
            inside: value.inside.map(|(_, section)| (".<name>", section)),
        }
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<Vec<(String, T)>> {
        let object = reader.object(self, at)?;
        let mut entries = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if !(self.0.is_valid)(name) {
                reader.report(&property.name, || {
                    let (name, allowed) = (shown(name), self.0.allowed);
                    format!("{}: found the name '{name}', allowed: {allowed}", at.path)
                });
            }
            let entry = self
                .1
                .read(reader, Written::new(&property.value, &join(at.path, name)));
            entries.push(entry.map(|entry| (name.to_owned(), entry)));
        }
        entries.into_iter().collect()
    }

    fn shown(&self, value: &Vec<(String, T)>) -> Option<Json> {
        let entries = value.iter();
        entries
            .map(|(name, value)| Some((name.clone(), self.1.shown(value)?)))
            .collect()
    }

    fn secrets<'v>(&self, value: &'v Vec<(String, T)>, found: &mut Vec<&'v Secret>) {
        // Headers that only describe the message: hiding `application/json` wherever it turns up
        // would make messages unreadable.
        const DESCRIBING: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];
        for (name, value) in value {
            if !DESCRIBING.contains(&name.to_lowercase().as_str()) {
                self.1.secrets(value, found);
            }
        }
    }
}

impl<T: Section> KeyRule<T> for Nested {
    fn shape(&self) -> Shape {
        Shape::section(T::shape())
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<T> {
        let object = reader.object::<T>(self, at)?;
        T::read(reader, object, at.path)
    }

    fn shown(&self, value: &T) -> Option<Json> {
        Some(Json::Object(value.shown()))
    }

    fn secrets<'v>(&self, value: &'v T, found: &mut Vec<&'v Secret>) {
        value.secrets(found);
    }
}
