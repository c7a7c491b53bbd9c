//! What a value of the file may be: one [`Shape`] per kind of value.
//!
//! A shape reads a value and describes itself. Messages, the JSON Schema and the reference page
//! all come from that description, so none of them can say something else than what is enforced.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use mcpproxy_support::nearest::nearest_keyword;

use super::document::{Document, empty_object};
use super::problem::{Problems, shown};

/// A kind of value: how it is read and how it is described.
pub(super) trait Shape: Sized {
    /// The description.
    fn kind() -> ValueKind;

    /// Reads a value. `None` means that the reader has been told of at least one problem.
    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self>;

    /// The value as a person would write it, for the defaults in documents.
    fn written(&self) -> Option<serde_json::Value> {
        None
    }
}

/// The description of a kind of value.
#[derive(Debug)]
pub(super) enum ValueKind {
    /// A single value.
    Leaf {
        /// What is allowed, in words that follow "allowed: ".
        allowed: String,
        /// JSON Schema of the value.
        schema: serde_json::Value,
    },
    /// An array.
    List(Box<ValueKind>),
    /// An object whose keys the person chooses.
    Map(Box<ValueKind>),
    /// An object whose keys we choose.
    Section {
        /// What it is for.
        about: &'static str,
        /// Its keys.
        keys: Vec<Key>,
    },
    /// `mcpServers`: a map, or an array whose items have a name.
    Servers(Box<ValueKind>),
}

/// One key of a section.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: ValueKind,
    pub(super) default: Default,
}

/// What a key means when it is not written, for documents.
#[derive(Debug)]
pub(super) enum Default {
    /// This value.
    Value(serde_json::Value),
    /// Nothing is assumed.
    Nothing,
    /// The defaults of its own keys.
    OfItsKeys,
    /// It has to be written.
    Required,
}

/// What a key means when it is not written.
pub(super) enum Preset<T> {
    /// This value.
    Value(T),
    /// The defaults of the section.
    Defaults,
    /// It has to be written.
    Required,
}

/// Walks the tree of a document and gathers every problem.
pub(super) struct SettingsReader<'d> {
    document: &'d Document,
    pub(super) problems: Problems,
}

// === impl ValueKind ===

impl ValueKind {
    /// What is allowed, in words.
    pub(super) fn allowed(&self) -> String {
        match self {
            Self::Leaf { allowed, .. } => allowed.clone(),
            Self::List(item) => match item.allowed().strip_prefix("a ") {
                Some(noun) => format!("an array, each item a {noun}"),
                None => "an array".to_owned(),
            },
            Self::Map(_) | Self::Section { .. } => "an object".to_owned(),
            Self::Servers(_) => {
                "an object with a key for each server, or an array of objects with a name".into()
            }
        }
    }
}

// === impl SettingsReader ===

impl<'d> SettingsReader<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self {
            document,
            problems: Problems::default(),
        }
    }

    /// Notes a problem with a part of the tree.
    pub(super) fn report(&mut self, part: &impl Ranged, message: String) {
        self.report_at(part.start(), message);
    }

    /// Notes a problem at a byte offset.
    pub(super) fn report_at(&mut self, offset: usize, message: String) {
        self.problems
            .push_with(|| self.document.problem(offset, message));
    }

    /// The line of a byte offset.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.document.line(offset)
    }

    /// Notes a value of the wrong type. The value itself is not repeated: it may be a secret.
    pub(super) fn wrong_type<T: Shape>(&mut self, value: &Value<'_>, path: &str) {
        let found = match value {
            Value::StringLit(_) => "a string",
            Value::NumberLit(_) => "a number",
            Value::BooleanLit(_) => "true or false",
            Value::Object(_) => "an object",
            Value::Array(_) => "an array",
            Value::NullKeyword(_) => "null",
        };
        self.reject(value, path, found, &T::kind().allowed());
    }

    /// Notes a value that is not allowed.
    pub(super) fn reject(&mut self, value: &Value<'_>, path: &str, found: &str, allowed: &str) {
        let name = if path.is_empty() { "the file" } else { path };
        self.report(value, format!("{name}: found {found}, allowed: {allowed}"));
    }

    /// The value as an object, its keys checked for duplicates.
    pub(super) fn object<'v, 'a, T: Shape>(
        &mut self,
        value: &'v Value<'a>,
        path: &str,
    ) -> Option<&'v Object<'a>> {
        let Value::Object(object) = value else {
            self.wrong_type::<T>(value, path);
            return None;
        };
        let mut seen = std::collections::HashMap::new();
        for property in &object.properties {
            let key = property.name.as_str();
            if let Some(first) = seen.insert(key, property.name.range()) {
                let line = self.line(first.start);
                let (key, place) = (shown(key), place(path));
                self.report(
                    &property.name,
                    format!("duplicate key '{key}' {place}, first given on line {line}"),
                );
            }
        }
        Some(object)
    }

    /// Notes every key of an object that is not one of these.
    pub(super) fn refuse_unknown(&mut self, object: &Object<'_>, path: &str, allowed: &[&str]) {
        for property in &object.properties {
            let key = property.name.as_str();
            if allowed.contains(&key) {
                continue;
            }
            let document = self.document;
            self.problems.push_with(|| {
                let hint = nearest_keyword(key, allowed)
                    .map_or_else(|| ".".to_owned(), |key| format!(", did you mean '{key}'?"));
                let (key, place, allowed) = (shown(key), place(path), allowed.join(", "));
                document.problem(
                    property.name.start(),
                    format!("unknown key '{key}' {place}{hint} Allowed: {allowed}"),
                )
            });
        }
    }

    /// The value of a key, or what it means when it is not written.
    pub(super) fn field<T: Shape>(
        &mut self,
        object: &Object<'_>,
        path: &str,
        key: &str,
        preset: Preset<T>,
    ) -> Option<T> {
        let inner = join(path, key);
        match (object.get(key), preset) {
            (Some(property), _) => T::read(self, &property.value, &inner),
            (None, Preset::Value(value)) => Some(value),
            (None, Preset::Defaults) => T::read(self, &empty_object(), &inner),
            (None, Preset::Required) => {
                let (place, allowed) = (place(path), T::kind().allowed());
                self.report(
                    object,
                    format!("missing key '{key}' {place}, allowed: {allowed}"),
                );
                None
            }
        }
    }
}

/// The path of a key inside an object.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        shown(key)
    } else {
        format!("{path}.{}", shown(key))
    }
}

fn place(path: &str) -> String {
    if path.is_empty() {
        "at the top level".to_owned()
    } else {
        format!("in {path}")
    }
}

// === impl Preset ===

impl<T: Shape> Preset<T> {
    /// Description of the default for documents.
    pub(super) fn described(&self) -> Default {
        match self {
            Self::Value(value) => value.written().map_or(Default::Nothing, Default::Value),
            Self::Defaults => Default::OfItsKeys,
            Self::Required => Default::Required,
        }
    }
}
