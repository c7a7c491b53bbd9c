//! Rules for the kinds of value that the keys of the file have; strings with references are in
//! `text`.

use std::marker::PhantomData;
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

/// True or false.
pub(super) struct Flag;

/// A string that is taken as it stands: what is allowed, and its JSON Schema's pattern.
pub(super) struct Plain(pub(super) &'static str, pub(super) Option<&'static str>);

/// A whole number between two bounds.
pub(super) struct Whole(pub(super) u64, pub(super) u64);

/// A duration between two bounds, written such as `"30s"`.
pub(super) struct Span(pub(super) Duration, pub(super) Duration);

/// A duration in milliseconds.
pub(super) struct Milliseconds(pub(super) Whole);

/// One of a few words, each with what it stands for.
pub(super) struct Choice<T: 'static>(pub(super) &'static [(&'static str, T)]);

/// A value that may be missing.
pub(super) struct Optional<R>(pub(super) R);

/// Place of a value that is checked and not kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unkept;

/// A value that is checked and not kept.
pub(super) struct Checked<T, R>(pub(super) R, pub(super) PhantomData<T>);

/// An array.
pub(super) struct List<R>(pub(super) R);

/// An object whose keys the person chooses: the rule of the keys and that of the values.
pub(super) struct Entries<R>(pub(super) TextRule, pub(super) R);

/// A section.
pub(super) struct Nested;

impl<T> Choice<T> {
    fn words(&self) -> Vec<&'static str> {
        self.0.iter().map(|(word, _)| *word).collect()
    }
}

// === impl KeyRule ===

impl KeyRule<bool> for Flag {
    fn shape(&self) -> Shape {
        Shape::leaf("true or false", json!({ "type": "boolean" }))
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<bool> {
        let read = at.value.as_boolean_lit().map(|literal| Ok(literal.value));
        reader.leaf(self, at, read)
    }

    fn shown(&self, value: &bool) -> Option<Json> {
        Some(json!(value))
    }
}

impl KeyRule<String> for Plain {
    fn shape(&self) -> Shape {
        let mut schema = json!({ "type": "string" });
        if let Some(pattern) = self.1 {
            schema["pattern"] = json!(pattern);
        }
        Shape::leaf(self.0, schema)
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<String> {
        let literal = at.value.as_string_lit();
        let read = literal.map(|literal| Ok(literal.value.clone().into_owned()));
        reader.leaf(self, at, read)
    }

    fn shown(&self, value: &String) -> Option<Json> {
        Some(json!(value))
    }
}

impl<T: TryFrom<u64> + Serialize> KeyRule<T> for Whole {
    fn shape(&self) -> Shape {
        let Self(least, most) = self;
        Shape::leaf(
            format!("a whole number from {least} to {most}"),
            json!({ "type": "integer", "minimum": least, "maximum": most }),
        )
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<T> {
        let read = at.value.as_number_lit().map(|literal| {
            let number = literal.value.parse().ok();
            let number = number.filter(|number| (self.0..=self.1).contains(number));
            number
                .and_then(|number| T::try_from(number).ok())
                .ok_or_else(|| shown(literal.value))
        });
        reader.leaf(self, at, read)
    }

    fn shown(&self, value: &T) -> Option<Json> {
        Some(json!(value))
    }
}

impl KeyRule<Duration> for Span {
    fn shape(&self) -> Shape {
        let [least, most] = [self.0, self.1].map(humantime::format_duration);
        Shape::leaf(
            format!("a duration from {least} to {most} such as \"30s\""),
            json!({ "type": "string", "examples": ["30s", "10m"] }),
        )
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<Duration> {
        let read = at.value.as_string_lit().map(|literal| {
            let duration = humantime::parse_duration(&literal.value).ok();
            duration
                .filter(|duration| (self.0..=self.1).contains(duration))
                .ok_or_else(|| format!("\"{}\"", shown(&literal.value)))
        });
        reader.leaf(self, at, read)
    }

    fn shown(&self, value: &Duration) -> Option<Json> {
        Some(json!(humantime::format_duration(*value).to_string()))
    }
}

impl KeyRule<Duration> for Milliseconds {
    fn shape(&self) -> Shape {
        KeyRule::<u64>::shape(&self.0)
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<Duration> {
        self.0.read(reader, at).map(Duration::from_millis)
    }

    fn shown(&self, value: &Duration) -> Option<Json> {
        Some(json!(u64::try_from(value.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl<T: Copy + PartialEq> KeyRule<T> for Choice<T> {
    fn shape(&self) -> Shape {
        let words = self.words();
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        Shape::leaf(
            quoted.join(", "),
            json!({ "type": "string", "enum": words }),
        )
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<T> {
        let read = at.value.as_string_lit().map(|literal| {
            let word = &*literal.value;
            let meant = self.0.iter().find(|(known, _)| *known == word);
            meant.map(|(_, meaning)| *meaning).ok_or_else(|| {
                let hint = nearest_keyword(word, &self.words())
                    .map(|meant| format!(" (did you mean \"{meant}\"?)"))
                    .unwrap_or_default();
                format!("\"{}\"{hint}", shown(word))
            })
        });
        reader.leaf(self, at, read)
    }

    fn shown(&self, value: &T) -> Option<Json> {
        let known = self.0.iter().find(|(_, meaning)| meaning == value);
        known.map(|(word, _)| json!(word))
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

impl<T, R: KeyRule<T>> KeyRule<Unkept> for Checked<T, R> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<Unkept> {
        self.0.read(reader, at).map(|_| Unkept)
    }

    fn shown(&self, _: &Unkept) -> Option<Json> {
        None
    }
}

impl<T, R: KeyRule<T>> KeyRule<Vec<T>> for List<R> {
    fn shape(&self) -> Shape {
        let item = self.0.shape();
        Shape::leaf(
            match item.allowed.strip_prefix("a ") {
                Some(noun) => format!("an array, each item a {noun}"),
                None => "an array".to_owned(),
            },
            json!({ "type": "array", "items": item.schema }),
        )
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
