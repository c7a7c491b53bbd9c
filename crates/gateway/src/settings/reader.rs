//! Reading of a configuration file: the tree is walked once, and every problem is gathered.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use jsonc_parser::ast::{Object, ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use mcpproxy_support::nearest::nearest_keyword;
use serde_json::{Map, Value as Json, json};

use super::document::{Document, parse_literal};
use super::environment::Environment;
use super::problem::{Problems, shown};
use super::references::References;
use super::rules::{Key, KeyRule, Section};
use super::secret::Secret;
use super::secret::credentials::StringContext;
use super::text::TextRule;

/// Value of the tree, with the keys that lead to it, such as `mcpServers.github.url`.
#[derive(Clone, Copy)]
pub(super) struct Written<'v> {
    pub(super) value: &'v Value<'v>,
    pub(super) path: &'v str,
}

/// Value that was read.
#[derive(Default)]
pub(super) struct Resolved {
    /// Value as serde makes a setting of it.
    pub(super) value: Json,
    /// Value as the file would say it, secrets hidden; null where the file would be silent.
    pub(super) shown: Json,
}

/// Most warnings that are listed; a hostile file has a million.
const LISTED_WARNINGS: usize = 50;

/// Walks the tree of a document and gathers every problem.
pub(super) struct SettingsReader<'d> {
    document: &'d Document,
    pub(super) references: &'d References<'d>,
    /// Keys of the top level that a flag or a variable wins over: their references in the file need
    /// not lead anywhere.
    pub(super) given: Vec<(&'static str, Option<Resolved>)>,
    /// Problems of the server that is being read: they stop this server, not the start.
    pub(super) server_problems: Option<Problems>,
    /// Keys of the server that is being read which the file calls otherwise, as paths: ours, and that of the file.
    pub(super) written_keys: Vec<(String, String)>,
    /// Problems of all servers that were read.
    pub(super) problems_of_servers: Problems,
    /// Number of references of that server which lead nowhere.
    pub(super) dangling: usize,
    /// Context of the string that is read next.
    pub(super) context: StringContext,
    /// Secrets that were read.
    pub(super) secrets: Vec<Secret>,
    /// Whether some of them are written out in the file.
    pub(super) has_literal_secrets: bool,
    /// Names of the secrets of the data folder that references lead to.
    pub(super) secret_names: BTreeSet<String>,
    pub(super) warnings: Vec<String>,
    /// Those of them that are about the entry of a server, with its name.
    pub(super) entry_warnings: Vec<(String, String)>,
    pub(super) problems: Problems,
}

impl<'d> SettingsReader<'d> {
    pub(super) fn new(document: &'d Document, references: &'d References<'d>) -> Self {
        Self {
            document,
            references,
            given: Vec::new(),
            server_problems: None,
            written_keys: Vec::new(),
            problems_of_servers: Problems::of_file(),
            dangling: 0,
            context: StringContext::Any,
            secrets: Vec::new(),
            has_literal_secrets: false,
            secret_names: BTreeSet::new(),
            warnings: Vec::new(),
            entry_warnings: Vec::new(),
            problems: Problems::of_file(),
        }
    }

    /// Reads a value. Nothing means that at least one problem has been noted.
    pub(super) fn read(&mut self, rule: &KeyRule, at: Written<'_>) -> Option<Resolved> {
        match (rule, at.value) {
            (KeyRule::Unkept(rule), _) => self.read(rule, at).map(|_| Resolved::default()),
            (KeyRule::Flag, Value::BooleanLit(flag)) => Some(json!(flag.value).into()),
            (KeyRule::AnyString | KeyRule::ServerName, Value::StringLit(text)) => {
                Some(json!(text.value).into())
            }
            (KeyRule::Plain(text), Value::StringLit(raw)) => {
                if (text.is_valid)(&raw.value) {
                    return Some(json!(raw.value).into());
                }
                self.refuse(rule, at, &format!("\"{}\"", shown(&raw.value)))
            }
            (
                KeyRule::Whole(least, most) | KeyRule::Milliseconds(least, most),
                Value::NumberLit(number),
            ) => {
                let parsed = number.value.parse().ok();
                let Some(parsed) = parsed.filter(|parsed| (least..=most).contains(&parsed)) else {
                    return self.refuse(rule, at, &shown(number.value));
                };
                let mut read = Resolved::from(json!(parsed));
                if matches!(rule, KeyRule::Milliseconds(..)) {
                    read.value = json!(Duration::from_millis(parsed));
                }
                Some(read)
            }
            (KeyRule::Span(least, most), Value::StringLit(text)) => {
                let parsed = humantime::parse_duration(&text.value).ok();
                let Some(span) = parsed.filter(|span| (least..=most).contains(&span)) else {
                    return self.refuse(rule, at, &format!("\"{}\"", shown(&text.value)));
                };
                Some(Resolved {
                    value: json!(span),
                    shown: json!(humantime::format_duration(span).to_string()),
                })
            }
            (KeyRule::Choice(words), Value::StringLit(word)) => {
                if words.contains(&&*word.value) {
                    return Some(json!(word.value).into());
                }
                let hint = nearest_keyword(&word.value, words)
                    .map_or_else(String::new, |meant| format!(" (did you mean \"{meant}\"?)"));
                self.refuse(rule, at, &format!("\"{}\"{hint}", shown(&word.value)))
            }
            (KeyRule::Text(..), Value::StringLit(raw)) => self.text(rule, &raw.value, at),
            (KeyRule::ListOrWord(_, word), Value::StringLit(text)) if text.value == *word => {
                Some(json!(word).into())
            }
            (KeyRule::List(rule) | KeyRule::ListOrWord(rule, _), Value::Array(array)) => {
                let items = array.elements.iter().enumerate();
                let mut previous = "";
                let items = items.map(|(index, item)| {
                    let path = format!("{}[{index}]", at.path);
                    let text = item.as_string_lit().map_or("", |text| &*text.value);
                    self.context = StringContext::after(previous, text);
                    previous = text;
                    self.read(rule, Written::new(item, &path))
                });
                let items: Vec<Option<Resolved>> = items.collect();
                self.context = StringContext::Any;
                let items: Vec<Resolved> = items.into_iter().collect::<Option<_>>()?;
                let items = items.into_iter().map(|item| (item.value, item.shown));
                let (value, shown): (Vec<Json>, Vec<Json>) = items.unzip();
                Some(Resolved {
                    value: value.into(),
                    shown: shown.into(),
                })
            }
            (KeyRule::Entries(names, rule), Value::Object(object)) => {
                self.entries(names, rule, object, at.path)
            }
            (KeyRule::Nested(section), Value::Object(object)) => {
                self.refuse_duplicates(object, at.path);
                self.refuse_unknown(section, object, at.path);
                let keys = section.keys.iter();
                let read = keys.map(|key| {
                    let read = self.key(key, object, at.path);
                    (key.name, read.or_else(|| self.fallback(key)))
                });
                // Every key is looked at before one may give up.
                joined(read.collect())
            }
            (KeyRule::Servers(section), Value::Object(_) | Value::Array(_)) => {
                self.servers(section, at)
            }
            // The value is not repeated, as it may be a secret.
            (_, value) => {
                let found = match value {
                    Value::StringLit(_) => "a string",
                    Value::NumberLit(_) => "a number",
                    Value::BooleanLit(_) => "true or false",
                    Value::Object(_) => "an object",
                    Value::Array(_) => "an array",
                    Value::NullKeyword(_) => "null",
                };
                self.refuse(rule, at, found)
            }
        }
    }

    fn entries(
        &mut self,
        names: &TextRule,
        rule: &KeyRule,
        object: &Object<'_>,
        path: &str,
    ) -> Option<Resolved> {
        self.refuse_duplicates(object, path);
        let mut entries = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if !(names.is_valid)(name) {
                self.report(&property.name, || {
                    let (name, allowed) = (shown(name), names.allowed);
                    format!("{path}: found the name '{name}', allowed: {allowed}")
                });
            }
            self.context = StringContext::of_name(name);
            let entry = self.read(rule, Written::new(&property.value, &join(path, name)));
            self.context = StringContext::Any;
            entries.push((name, entry));
        }
        let Resolved { value, shown } = joined(entries)?;
        let pairs = value.as_object().into_iter().flatten();
        let value = pairs.map(|(name, value)| json!([name, value])).collect();
        Some(Resolved { value, shown })
    }

    /// Reads a key of a section, or takes what holds when it is not written.
    fn key(&mut self, key: &Key, object: &Object<'_>, path: &str) -> Option<Resolved> {
        let key_path = join(path, key.name);
        let read = if let Some(property) = object.get(key.name) {
            let written = self.written_key(&key_path);
            self.read(&key.rule, Written::new(&property.value, &written))
        } else if let Some(default) = key.default {
            self.read_default(&key.rule, default, &key_path)
        } else {
            self.report(object, || {
                let (key, place, allowed) = (key.name, place(path), key.rule.allowed());
                format!("missing key '{key}' {place}, allowed: {allowed}")
            });
            None
        };
        let mut given = self.given.iter_mut();
        match given.find(|(name, _)| path.is_empty() && *name == key.name) {
            Some((_, given)) => given.take(),
            None => read,
        }
    }

    /// Path of a key, as the file calls it.
    pub(super) fn written_key(&self, path: &str) -> String {
        let mut written = self.written_keys.iter();
        let written = written.find(|(ours, _)| ours == path);
        written.map_or(path, |(_, written)| written).to_owned()
    }

    /// Value that holds for a key of a server that cannot be read. The server is not used; the rest of it is shown.
    fn fallback(&mut self, key: &Key) -> Option<Resolved> {
        self.server_problems.as_ref()?;
        self.read_default(&key.rule, key.default?, key.name)
    }

    pub(super) fn read_default(
        &mut self,
        rule: &KeyRule,
        default: &str,
        path: &str,
    ) -> Option<Resolved> {
        match parse_literal(default) {
            Some(Value::NullKeyword(_)) | None => Some(Resolved::default()),
            Some(value) => self.read(rule, Written::new(&value, path)),
        }
    }

    /// Notes something that is allowed and dangerous, or read otherwise than who wrote it may think.
    pub(super) fn warn(&mut self, message: impl FnOnce() -> String) {
        match self.warnings.len().cmp(&LISTED_WARNINGS) {
            Ordering::Less => self.warnings.push(message()),
            Ordering::Equal => self.warnings.push("… and more warnings".to_owned()),
            Ordering::Greater => {}
        }
    }

    /// Notes such a thing about a part of the tree.
    pub(super) fn warn_at(&mut self, part: &impl Ranged, message: impl FnOnce() -> String) {
        let (document, offset) = (self.document, part.start());
        self.warn(|| document.problem(offset, &message()).1);
    }

    /// Notes a problem with a part of the tree.
    pub(super) fn report(&mut self, part: &impl Ranged, message: impl FnOnce() -> String) {
        let (document, offset) = (self.document, part.start());
        let problem = || document.problem(offset, &message());
        match &mut self.server_problems {
            Some(problems) => problems.add_with(problem),
            None => self.problems.add_with(problem),
        }
    }

    /// Notes what was found in place of what is allowed.
    pub(super) fn refuse(
        &mut self,
        rule: &KeyRule,
        at: Written<'_>,
        found: &str,
    ) -> Option<Resolved> {
        let name = match at.path {
            "" => "the file",
            path => path,
        };
        self.report(at.value, || {
            let allowed = rule.allowed();
            format!("{name}: found {found}, allowed: {allowed}")
        });
        None
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
            let (what, line) = (what(), document.position(first).0);
            format!("duplicate {what}, first given on line {line}")
        });
    }

    /// Notes every key of an object that was given before.
    pub(super) fn refuse_duplicates(&mut self, object: &Object<'_>, path: &str) {
        let mut seen = HashMap::new();
        for name in object.properties.iter().map(|property| &property.name) {
            if let Some(first) = seen.insert(name.as_str(), name.start()) {
                let what = || format!("key '{}' {}", shown(name.as_str()), place(path));
                self.report_duplicate(name, what, first);
            }
        }
    }

    /// Notes every key of an object that its section does not have.
    fn refuse_unknown(&mut self, section: &Section, object: &Object<'_>, path: &str) {
        let allowed: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
        let is_unknown = |name: &&ObjectPropName<'_>| !allowed.contains(&name.as_str());
        let names = object.properties.iter().map(|property| &property.name);
        for name in names.filter(is_unknown) {
            self.report(name, || {
                let key = name.as_str();
                let hint = nearest_keyword(key, &allowed)
                    .map_or_else(|| ".".to_owned(), |key| format!(", did you mean '{key}'?"));
                let (key, place, allowed) = (shown(key), place(path), allowed.join(", "));
                format!("unknown key '{key}' {place}{hint} Allowed: {allowed}")
            });
        }
    }
}

impl<'v> Written<'v> {
    pub(super) fn new(value: &'v Value<'v>, path: &'v str) -> Self {
        Self { value, path }
    }
}

impl From<Json> for Resolved {
    /// A value that is shown as it is.
    fn from(value: Json) -> Self {
        let shown = value.clone();
        Self { value, shown }
    }
}

/// Joins the members of an object, of which none may be missing.
fn joined(members: Vec<(&str, Option<Resolved>)>) -> Option<Resolved> {
    let (mut value, mut shown) = (Map::new(), Map::new());
    for (name, member) in members {
        let member = member?;
        value.insert(name.to_owned(), member.value);
        if !member.shown.is_null() {
            shown.insert(name.to_owned(), member.shown);
        }
    }
    let (value, shown) = (Json::Object(value), Json::Object(shown));
    Some(Resolved { value, shown })
}

/// Values of the keys of a section of which nothing is written.
pub(super) fn defaults(section: &'static Section) -> Json {
    let environment = Environment::default();
    let references = References {
        config: Path::new(""),
        environment: &environment,
        folder: Path::new(""),
        data_dir: Path::new(""),
    };
    let document = Document::default();
    let mut reader = SettingsReader::new(&document, &references);
    let read = reader.read_default(&KeyRule::Nested(section), "{}", "");
    read.unwrap_or_default().value
}

/// The path of a key inside an object.
pub(super) fn join(path: &str, key: &str) -> String {
    match path {
        "" => shown(key),
        _ => format!("{path}.{}", shown(key)),
    }
}

fn place(path: &str) -> String {
    match path {
        "" => "at the top level".to_owned(),
        _ => format!("in {path}"),
    }
}
