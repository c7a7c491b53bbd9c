//! Reading of a configuration file: the tree is walked once, and every problem is gathered.

use std::collections::HashMap;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use mcpproxy_support::nearest::nearest_keyword;
use serde_json::{Map, Value as Json};

use super::document::Document;
use super::problem::{Problems, shown};
use super::references::References;
use super::secret::Secret;
use super::shape::{DefaultShape, KeyShape, SectionShape, Shape};

/// Rule of a key: which values it may have, how they are read, described and shown.
pub(super) trait KeyRule<T> {
    /// Describes the values.
    fn shape(&self) -> Shape;

    /// Reads a value. Nothing means that the reader has been told of at least one problem.
    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<T>;

    /// Value as the file would say it, secrets hidden; nothing where the file would be silent.
    fn shown(&self, value: &T) -> Option<Json>;

    /// Adds the secrets in a value.
    fn secrets<'v>(&self, value: &'v T, found: &mut Vec<&'v Secret>) {
        let _ = (value, found);
    }
}

/// Section of the file; [`section!`](super::section::section) writes it.
pub(super) trait Section: Sized {
    /// Describes its keys.
    fn shape() -> SectionShape;

    /// Reads its keys.
    fn read(reader: &mut SettingsReader<'_>, object: &Object<'_>, path: &str) -> Option<Self>;

    /// Keys as the file would say them, secrets hidden.
    fn shown(&self) -> Map<String, Json>;

    /// Adds the secrets in it.
    fn secrets<'v>(&'v self, found: &mut Vec<&'v Secret>);
}

/// Value of the tree, with the keys that lead to it, such as `mcpServers.github.url`.
#[derive(Clone, Copy)]
pub(super) struct Written<'v> {
    pub(super) value: &'v Value<'v>,
    pub(super) path: &'v str,
}

/// Walks the tree of a document and gathers every problem.
pub(super) struct SettingsReader<'d> {
    document: &'d Document,
    pub(super) references: &'d References<'d>,
    /// Keys that a flag or a variable wins over: their references need not lead anywhere.
    pub(super) overridden: Vec<&'static str>,
    /// Problems of the server that is being read: they stop this server, not the start.
    server_problems: Option<Vec<String>>,
    pub(super) problems: Problems,
}

impl<'d> SettingsReader<'d> {
    pub(super) fn new(document: &'d Document, references: &'d References<'d>) -> Self {
        Self {
            document,
            references,
            overridden: Vec::new(),
            server_problems: None,
            problems: Problems::default(),
        }
    }

    /// Notes a problem with a part of the tree.
    pub(super) fn report(&mut self, part: &impl Ranged, message: impl FnOnce() -> String) {
        let (document, offset) = (self.document, part.start());
        self.problems
            .add_with(|| document.problem(offset, &message()));
    }

    /// Notes something that was given before, first at a byte offset.
    pub(super) fn report_duplicate(
        &mut self,
        part: &impl Ranged,
        what: impl FnOnce() -> String,
        first: usize,
    ) {
        let document = self.document;
        self.report(part, || {
            let (what, line) = (what(), document.line(first));
            format!("duplicate {what}, first given on line {line}")
        });
    }

    /// Notes that what a string stands for cannot be used; whether reading goes on all the same,
    /// because it concerns one server only.
    pub(super) fn report_unusable(&mut self, part: &impl Ranged, message: String) -> bool {
        if let Some(problems) = &mut self.server_problems {
            problems.push(message);
            return true;
        }
        self.report(part, || message);
        false
    }

    /// Reads a server, and gathers what makes this server unusable and no other.
    pub(super) fn in_server<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> (T, Vec<String>) {
        self.server_problems = Some(Vec::new());
        let read = read(self);
        (read, self.server_problems.take().unwrap_or_default())
    }

    /// Takes what a rule has read; else notes what was found in place of what is allowed. Without
    /// either, the type is wrong: then the value is not repeated, as it may be a secret.
    pub(super) fn leaf<T>(
        &mut self,
        rule: &impl KeyRule<T>,
        at: Written<'_>,
        read: Option<Result<T, String>>,
    ) -> Option<T> {
        let found = match read {
            Some(Ok(read)) => return Some(read),
            Some(Err(found)) => found,
            None => match at.value {
                Value::StringLit(_) => "a string",
                Value::NumberLit(_) => "a number",
                Value::BooleanLit(_) => "true or false",
                Value::Object(_) => "an object",
                Value::Array(_) => "an array",
                Value::NullKeyword(_) => "null",
            }
            .to_owned(),
        };
        let name = if at.path.is_empty() {
            "the file"
        } else {
            at.path
        };
        self.report(at.value, || {
            let allowed = rule.shape().allowed;
            format!("{name}: found {found}, allowed: {allowed}")
        });
        None
    }

    /// The value as an object, its keys checked for duplicates.
    pub(super) fn object<'v, T>(
        &mut self,
        rule: &impl KeyRule<T>,
        at: Written<'v>,
    ) -> Option<&'v Object<'v>> {
        let Value::Object(object) = at.value else {
            self.leaf(rule, at, None);
            return None;
        };
        let mut seen = HashMap::new();
        for property in &object.properties {
            if let Some(first) = seen.insert(property.name.as_str(), property.name.start()) {
                let what = || format!("key '{}' {}", shown(property.name.as_str()), place(at.path));
                self.report_duplicate(&property.name, what, first);
            }
        }
        Some(object)
    }

    /// Notes every key of an object that is not one of these.
    pub(super) fn refuse_unknown(&mut self, object: &Object<'_>, path: &str, allowed: &[&str]) {
        for property in &object.properties {
            let key = property.name.as_str();
            if !allowed.contains(&key) {
                self.report(&property.name, || {
                    let hint = nearest_keyword(key, allowed)
                        .map_or_else(|| ".".to_owned(), |key| format!(", did you mean '{key}'?"));
                    let (key, place, allowed) = (shown(key), place(path), allowed.join(", "));
                    format!("unknown key '{key}' {place}{hint} Allowed: {allowed}")
                });
            }
        }
    }

    /// The value of a key, or what holds when it is not written.
    pub(super) fn field<T>(
        &mut self,
        object: &Object<'_>,
        (path, key): (&str, &str),
        rule: &impl KeyRule<T>,
        preset: Option<T>,
    ) -> Option<T> {
        if let Some(property) = object.get(key) {
            return rule.read(self, Written::new(&property.value, &join(path, key)));
        }
        if preset.is_none() {
            self.report(object, || {
                let (place, allowed) = (place(path), rule.shape().allowed);
                format!("missing key '{key}' {place}, allowed: {allowed}")
            });
        }
        preset
    }
}

impl<'v> Written<'v> {
    pub(super) fn new(value: &'v Value<'v>, path: &'v str) -> Self {
        Self { value, path }
    }

    /// The path of an item of an array.
    pub(super) fn item(&self, index: usize) -> String {
        format!("{}[{index}]", self.path)
    }
}

/// Description of a key with its name and meaning.
pub(super) fn key_shape<T>(
    (name, about): (&'static str, &'static str),
    rule: &impl KeyRule<T>,
    preset: Option<T>,
) -> KeyShape {
    let shape = rule.shape();
    let default = match preset.map(|preset| rule.shown(&preset)) {
        None => DefaultShape::Required,
        Some(None) => DefaultShape::Nothing,
        Some(_) if matches!(shape.inside, Some(("", _))) => DefaultShape::OfItsKeys,
        Some(Some(value)) => DefaultShape::Value(value),
    };
    KeyShape {
        name,
        about,
        shape,
        default,
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
