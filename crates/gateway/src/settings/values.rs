//! The kinds of value that the keys of the file have.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use mcpproxy_support::nearest::nearest_keyword;
use serde_json::json;

use super::content::{Anything, ContentRule, NotEmpty};
use super::problem::shown;
use super::references;
use super::shape::{SettingsReader, Shape, ValueKind, join};

/// A string that may hold references. It may hold a secret too, so messages do not repeat it.
#[derive(Clone, PartialEq)]
pub(super) struct RawText<C = Anything> {
    /// As written.
    pub(super) raw: String,
    /// Where it begins, for problems that show only once references are replaced.
    pub(super) offset: usize,
    /// The key, such as `mcpServers.github.url`.
    pub(super) path: String,
    content: PhantomData<C>,
}

/// A whole number between two bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Whole<const MIN: u64, const MAX: u64>(pub(super) u64);

/// A duration such as `"30s"` between two bounds in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span<const MIN_MS: u64, const MAX_MS: u64>(pub(super) Duration);

/// One of a few words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice<T>(pub(super) T);

/// The words of a [`Choice`].
pub(super) trait Words: Copy + PartialEq + 'static {
    /// Each word and what it stands for.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for a value.
    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, value)| *value == self);
        found.map_or("", |(word, _)| word)
    }
}

/// An object whose keys the person chooses, in the order written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Map<T, N = NotEmpty> {
    pub(super) entries: Vec<(String, T)>,
    names: PhantomData<N>,
}

// === impl Shape ===

impl Shape for bool {
    fn kind() -> ValueKind {
        ValueKind::Leaf {
            allowed: "true or false".into(),
            schema: json!({ "type": "boolean" }),
        }
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let Value::BooleanLit(literal) = value else {
            reader.wrong_type::<Self>(value, path);
            return None;
        };
        Some(literal.value)
    }

    fn written(&self) -> Option<serde_json::Value> {
        Some(json!(self))
    }
}

impl<const MIN: u64, const MAX: u64> Shape for Whole<MIN, MAX> {
    fn kind() -> ValueKind {
        ValueKind::Leaf {
            allowed: format!("a whole number from {MIN} to {MAX}"),
            schema: json!({ "type": "integer", "minimum": MIN, "maximum": MAX }),
        }
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let Value::NumberLit(literal) = value else {
            reader.wrong_type::<Self>(value, path);
            return None;
        };
        match literal.value.parse() {
            Ok(number) if (MIN..=MAX).contains(&number) => Some(Self(number)),
            _ => {
                let found = shown(literal.value);
                reader.reject(value, path, &found, &Self::kind().allowed());
                None
            }
        }
    }

    fn written(&self) -> Option<serde_json::Value> {
        Some(json!(self.0))
    }
}

impl<const MIN_MS: u64, const MAX_MS: u64> Shape for Span<MIN_MS, MAX_MS> {
    fn kind() -> ValueKind {
        let text = |milliseconds| {
            humantime::format_duration(Duration::from_millis(milliseconds)).to_string()
        };
        let (least, most) = (text(MIN_MS), text(MAX_MS));
        ValueKind::Leaf {
            allowed: format!("a duration from {least} to {most} such as \"30s\""),
            schema: json!({ "type": "string", "examples": ["30s", "10m"] }),
        }
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let Value::StringLit(literal) = value else {
            reader.wrong_type::<Self>(value, path);
            return None;
        };
        let bounds = Duration::from_millis(MIN_MS)..=Duration::from_millis(MAX_MS);
        match humantime::parse_duration(&literal.value) {
            Ok(duration) if bounds.contains(&duration) => Some(Self(duration)),
            _ => {
                let found = format!("\"{}\"", shown(&literal.value));
                reader.reject(value, path, &found, &Self::kind().allowed());
                None
            }
        }
    }

    fn written(&self) -> Option<serde_json::Value> {
        Some(json!(humantime::format_duration(self.0).to_string()))
    }
}

impl<T: Words> Shape for Choice<T> {
    fn kind() -> ValueKind {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        ValueKind::Leaf {
            allowed: quoted.join(", "),
            schema: json!({ "type": "string", "enum": words }),
        }
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let Value::StringLit(literal) = value else {
            reader.wrong_type::<Self>(value, path);
            return None;
        };
        let word = literal.value.as_ref();
        if let Some((_, meaning)) = T::WORDS.iter().find(|(known, _)| *known == word) {
            return Some(Self(*meaning));
        }
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        let found = match nearest_keyword(word, &words) {
            Some(meant) => format!("\"{}\" (did you mean \"{meant}\"?)", shown(word)),
            None => format!("\"{}\"", shown(word)),
        };
        reader.reject(value, path, &found, &Self::kind().allowed());
        None
    }

    fn written(&self) -> Option<serde_json::Value> {
        Some(json!(self.0.word()))
    }
}

impl<C: ContentRule> Shape for RawText<C> {
    fn kind() -> ValueKind {
        ValueKind::Leaf {
            allowed: C::ALLOWED.into(),
            schema: json!({ "type": "string" }),
        }
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let Value::StringLit(literal) = value else {
            reader.wrong_type::<Self>(value, path);
            return None;
        };
        let raw = literal.value.as_ref();
        if let Err(problem) = references::check(raw) {
            reader.report(value, format!("{path}: {problem}"));
            return None;
        }
        // What references will make of it cannot be known here.
        if !raw.contains("${") && !C::is_valid(raw) {
            let found = match raw {
                "" => "an empty string".to_owned(),
                _ if C::IS_SHOWN => format!("\"{}\"", shown(raw)),
                _ => "another string".to_owned(),
            };
            reader.reject(value, path, &found, C::ALLOWED);
            return None;
        }
        Some(Self {
            raw: raw.to_owned(),
            offset: value.start(),
            path: path.to_owned(),
            content: PhantomData,
        })
    }

    fn written(&self) -> Option<serde_json::Value> {
        Some(json!(self.raw))
    }
}

impl Shape for String {
    fn kind() -> ValueKind {
        ValueKind::Leaf {
            allowed: "a string".into(),
            schema: json!({ "type": "string" }),
        }
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let Value::StringLit(literal) = value else {
            reader.wrong_type::<Self>(value, path);
            return None;
        };
        Some(literal.value.clone().into_owned())
    }
}

impl<T: Shape> Shape for Option<T> {
    fn kind() -> ValueKind {
        T::kind()
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        T::read(reader, value, path).map(Some)
    }

    fn written(&self) -> Option<serde_json::Value> {
        self.as_ref().and_then(Shape::written)
    }
}

impl<T: Shape> Shape for Vec<T> {
    fn kind() -> ValueKind {
        ValueKind::List(Box::new(T::kind()))
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let Value::Array(array) = value else {
            reader.wrong_type::<Self>(value, path);
            return None;
        };
        let items = array.elements.iter().enumerate();
        let read: Vec<Option<T>> = items
            .map(|(index, item)| T::read(reader, item, &format!("{path}[{index}]")))
            .collect();
        read.into_iter().collect()
    }

    fn written(&self) -> Option<serde_json::Value> {
        self.is_empty().then(|| json!([]))
    }
}

impl<T: Shape, N: ContentRule> Shape for Map<T, N> {
    fn kind() -> ValueKind {
        ValueKind::Map(Box::new(T::kind()))
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let object = reader.object::<Self>(value, path)?;
        let mut entries = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if !N::is_valid(name) {
                let (name, allowed) = (shown(name), N::ALLOWED);
                let message = format!("{path}: found the name '{name}', allowed: {allowed}");
                reader.report(&property.name, message);
            }
            let entry = T::read(reader, &property.value, &join(path, name));
            entries.push(entry.map(|entry| (name.to_owned(), entry)));
        }
        let entries: Option<Vec<_>> = entries.into_iter().collect();
        Some(Self {
            entries: entries?,
            names: PhantomData,
        })
    }

    fn written(&self) -> Option<serde_json::Value> {
        self.entries.is_empty().then(|| json!({}))
    }
}

// === impl Map ===

impl<T, N> Default for Map<T, N> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            names: PhantomData,
        }
    }
}

// === impl RawText ===

impl<C> RawText<C> {
    /// The default of a key, which has no place in the file.
    pub(super) fn preset(text: &str) -> Self {
        Self {
            raw: text.to_owned(),
            offset: 0,
            path: String::new(),
            content: PhantomData,
        }
    }
}

impl<C> fmt::Debug for RawText<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}
