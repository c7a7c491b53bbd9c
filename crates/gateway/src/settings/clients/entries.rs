//! Entries of servers as clients write them, put into the words of this program.
//!
//! Every client has its own names for what a server needs. An entry is rewritten before it is read: keys get our names
//! and values our form, each where it stands in the file, so that a problem is reported there. What restricts is obeyed.
//! What would widen is not, and a warning says what holds here instead.

use std::borrow::Cow;

use jsonc_parser::ast::{BooleanLit, Object, ObjectProp, ObjectPropName, StringLit, Value};
use jsonc_parser::common::{Range, Ranged};
use mcpproxy_support::nearest::nearest_keyword;
use serde_json::{Value as Json, json};

use crate::settings::problem::shown;
use crate::settings::text::is_variable;

/// Seconds above which a number is taken for milliseconds: no client waits longer than an hour.
const MOST_SECONDS: f64 = 3_600.0;

/// Entry in our words.
pub(in crate::settings) struct Rewritten<'a> {
    pub(in crate::settings) object: Object<'a>,
    /// Names of its keys in the file.
    pub(in crate::settings) names: Vec<String>,
    /// File with further variables of the process, and where it is named.
    pub(in crate::settings) env_file: Option<(Range, String)>,
    pub(in crate::settings) remarks: Remarks,
}

/// Things to say of an entry, each with the place it is about.
#[derive(Default)]
pub(in crate::settings) struct Remarks {
    pub(in crate::settings) warnings: Vec<(Range, String)>,
    pub(in crate::settings) problems: Vec<(Range, String)>,
}

/// Meaning of a key that is not ours.
#[derive(Clone, Copy)]
enum ClientKey {
    /// Another name of one of ours.
    Is(&'static str),
    /// The contrary of one of ours that is true or false.
    IsNot(&'static str),
    /// One of ours, as a number of seconds or milliseconds.
    Lasts(&'static str, Unit),
    /// A file with variables.
    EnvFile,
    /// Nothing here, and nobody misses it.
    Nothing,
    /// Nothing here, and this is what holds instead.
    Unused(&'static str),
}

#[derive(Clone, Copy)]
enum Unit {
    /// Seconds up to an hour, above it milliseconds.
    Guessed,
    Seconds,
    Milliseconds,
}

const APPROVALS: &str =
    "approvals are the client's: it can approve call_tool_read by itself and ask for the rest";
const LOGIN: &str = "this version does not log in by OAuth: give a token in 'headers'";

const BEARER: &str =
    "write \"headers\": { \"Authorization\": \"Bearer ${NAME}\" } with the name of the variable";
const HEADERS: &str = "write the headers into 'headers', with references such as ${NAME}";
const APPROVAL_OF_TOOLS: &str =
    "nothing waits for approval in this version, what a server offers is used at once";

/// Keys of clients, and what they mean.
const FOREIGN: &[(&str, ClientKey)] = &[
    ("cwd", ClientKey::Is("working_dir")),
    ("workingDirectory", ClientKey::Is("working_dir")),
    ("working_directory", ClientKey::Is("working_dir")),
    ("environment", ClientKey::Is("env")),
    ("env_vars", ClientKey::Is("inherit_env")),
    ("serverUrl", ClientKey::Is("url")),
    ("httpUrl", ClientKey::Is("url")),
    ("http_headers", ClientKey::Is("headers")),
    ("transport", ClientKey::Is("type")),
    ("transportType", ClientKey::Is("type")),
    ("includeTools", ClientKey::Is("enabled_tools")),
    ("enabledTools", ClientKey::Is("enabled_tools")),
    ("allowedTools", ClientKey::Is("enabled_tools")),
    ("excludeTools", ClientKey::Is("disabled_tools")),
    ("excludedTools", ClientKey::Is("disabled_tools")),
    ("disabledTools", ClientKey::Is("disabled_tools")),
    ("disallowedTools", ClientKey::Is("disabled_tools")),
    ("isActive", ClientKey::Is("enabled")),
    ("disabled", ClientKey::IsNot("enabled")),
    ("timeout", ClientKey::Lasts("timeout", Unit::Guessed)),
    (
        "start_timeout",
        ClientKey::Lasts("start_timeout", Unit::Guessed),
    ),
    (
        "tool_timeout_sec",
        ClientKey::Lasts("timeout", Unit::Seconds),
    ),
    (
        "startup_timeout_sec",
        ClientKey::Lasts("start_timeout", Unit::Seconds),
    ),
    (
        "startup_timeout_ms",
        ClientKey::Lasts("start_timeout", Unit::Milliseconds),
    ),
    ("envFile", ClientKey::EnvFile),
    ("description", ClientKey::Nothing),
    ("autoApprove", ClientKey::Unused(APPROVALS)),
    ("alwaysAllow", ClientKey::Unused(APPROVALS)),
    ("oauth", ClientKey::Unused(LOGIN)),
    ("auth", ClientKey::Unused(LOGIN)),
    ("bearer_token_env_var", ClientKey::Unused(BEARER)),
    ("env_http_headers", ClientKey::Unused(HEADERS)),
    ("headersHelper", ClientKey::Unused(HEADERS)),
];

/// Keys that restrict. One that is nearly one of them fails its server: left out, it would allow what somebody forbade.
const RESTRICTING: [&str; 10] = [
    "disabled",
    "isActive",
    "includeTools",
    "enabledTools",
    "allowedTools",
    "excludeTools",
    "excludedTools",
    "disabledTools",
    "disallowedTools",
    "tools",
];

/// Words for the ways to reach a server, and ours.
const TYPES: &[(&str, &str)] = &[
    ("local", "stdio"),
    ("streamableHttp", "http"),
    ("streamable_http", "http"),
    ("remote", "http"),
];

/// Puts an entry into our words. `ours` are the keys that an entry may have here.
pub(in crate::settings) fn rewrite<'a>(entry: &Object<'a>, ours: &[&'static str]) -> Rewritten<'a> {
    let mut rewritten = Rewritten {
        object: Object {
            range: entry.range,
            properties: Vec::with_capacity(entry.properties.len()),
        },
        names: Vec::new(),
        env_file: None,
        remarks: Remarks::default(),
    };
    for property in &entry.properties {
        rewritten.take(property.clone(), ours);
    }
    rewritten.split_command();
    rewritten
}

/// Lets the schema of an entry admit what [`rewrite`] understands.
pub(in crate::settings) fn admit(entry: &mut Json) {
    entry["additionalProperties"] = json!(true);
    let addresses = FOREIGN
        .iter()
        .filter(|(_, meaning)| matches!(meaning, ClientKey::Is("url")));
    let addresses = addresses.map(|(name, _)| *name);
    let ways = ["command", "url"].into_iter().chain(addresses);
    entry["oneOf"] = ways.map(|key| json!({ "required": [key] })).collect();
    let properties = &mut entry["properties"];
    let theirs = TYPES.iter().map(|(word, _)| json!(word));
    if let Some(words) = properties["type"]["enum"].as_array_mut() {
        words.extend(theirs);
    }
    for (key, forms) in [
        ("command", json!(["string", "array"])),
        ("timeout", json!(["string", "number"])),
        ("start_timeout", json!(["string", "number"])),
        ("trust", json!(["string", "boolean"])),
        ("tools", json!(["object", "array"])),
    ] {
        properties[key]["type"] = forms;
    }
    if let Some(word) = properties["trust"]["enum"].as_array_mut() {
        word.extend([json!(true), json!(false)]);
    }
    let texts = json!(["string", "number", "boolean"]);
    for key in ["env", "headers"] {
        properties[key]["additionalProperties"]["type"] = texts.clone();
    }
    properties["args"]["items"]["type"] = texts;
}

/// A string that stands where another value stood.
pub(in crate::settings) fn string(range: Range, text: impl Into<String>) -> Value<'static> {
    let value = Cow::Owned(text.into());
    Value::StringLit(StringLit { range, value })
}

/// A key with a value, where another key stood.
pub(in crate::settings) fn property<'a>(
    range: Range,
    name: &str,
    value: Value<'a>,
) -> ObjectProp<'a> {
    let value_of_name = Cow::Owned(name.to_owned());
    let name = ObjectPropName::String(StringLit {
        range,
        value: value_of_name,
    });
    ObjectProp { range, name, value }
}

// === impl Rewritten ===

impl<'a> Rewritten<'a> {
    /// Takes a key over, in our words.
    fn take(&mut self, mut written: ObjectProp<'a>, ours: &[&'static str]) {
        if matches!(written.value, Value::NullKeyword(_)) {
            // Some clients write all keys they know; this one says nothing.
            return;
        }
        let name = written.name.as_str().to_owned();
        let at = written.name.range();
        // A map of tools is ours, a list is that of clients; so is trust as a word or as true or false.
        let meaning = match (name.as_str(), &written.value) {
            ("tools", Value::Array(_)) => Some(ClientKey::Is("enabled_tools")),
            ("trust", Value::BooleanLit(BooleanLit { value: true, .. })) => {
                Some(ClientKey::Unused(APPROVALS))
            }
            ("trust", Value::BooleanLit(_)) => Some(ClientKey::Nothing),
            ("trust", _) => {
                self.warn(
                    at,
                    format!("'trust' has no effect yet: {APPROVAL_OF_TOOLS}"),
                );
                None
            }
            ("timeout" | "start_timeout", Value::StringLit(_)) => None,
            _ => meaning_of(&name, ours),
        };
        match meaning {
            None if ours.contains(&name.as_str()) || nearest_keyword(&name, ours).is_some() => {}
            None if let Some(meant) = nearest_keyword(&name, &RESTRICTING) => {
                let problem = format!("unknown key '{}', did you mean '{meant}'?", shown(&name));
                return self.remarks.problems.push((at, problem));
            }
            None => {
                return self.warn(at, format!("'{}' is not used here", shown(&name)));
            }
            Some(ClientKey::Nothing) => return,
            Some(ClientKey::Unused(instead)) => {
                return self.warn(at, format!("'{name}' is not used here: {instead}"));
            }
            Some(ClientKey::EnvFile) => {
                match &written.value {
                    Value::StringLit(path) => {
                        self.env_file = Some((path.range, path.value.clone().into_owned()));
                    }
                    other => {
                        let problem = "'envFile': allowed: the path of a file".to_owned();
                        self.remarks.problems.push((other.range(), problem));
                    }
                }
                return;
            }
            Some(ClientKey::Is(key)) => written = property(at, key, written.value),
            Some(ClientKey::IsNot(key)) => {
                if let Value::BooleanLit(flag) = &mut written.value {
                    flag.value = !flag.value;
                }
                written = property(at, key, written.value);
            }
            Some(ClientKey::Lasts(key, unit)) => {
                let value = self.duration(&name, unit, written.value);
                written = property(at, key, value);
            }
        }
        let key = written.name.as_str().to_owned();
        match key.as_str() {
            "type" => rename_type(&mut written.value),
            "env" | "headers" | "args" => rewrite_texts(&mut written.value),
            "enabled_tools" if allows_all(&written.value) => return,
            _ => {}
        }
        self.add(&key, &name, written);
    }

    /// Adds a key, unless it is there under another name. One that is there under the same name is left to the reader,
    /// which refuses it.
    fn add(&mut self, key: &str, name: &str, written: ObjectProp<'a>) {
        let mut before = self.object.properties.iter_mut().zip(&self.names);
        let same = before.find(|(before, of_file)| before.name.as_str() == key && *of_file != name);
        let Some((before, of_file)) = same else {
            self.object.properties.push(written);
            return self.names.push(name.to_owned());
        };
        match (&mut before.value, &written.value) {
            // Of two words the one that switches off holds.
            (Value::BooleanLit(flag), Value::BooleanLit(other)) => flag.value &= other.value,
            (one, other) if is_same(one, other) => {}
            _ => {
                let problem =
                    format!("'{name}' and '{of_file}' mean the same, allowed: one of them");
                self.remarks.problems.push((written.name.range(), problem));
            }
        }
    }

    /// A number of seconds or milliseconds, as we write it.
    fn duration(&mut self, name: &str, unit: Unit, value: Value<'a>) -> Value<'a> {
        let Value::NumberLit(number) = &value else {
            return value;
        };
        let Some(count) = number
            .value
            .parse::<f64>()
            .ok()
            .filter(|count| *count >= 0.0 && count.is_finite())
        else {
            return value;
        };
        let (milliseconds, word) = match unit {
            Unit::Milliseconds => (count, "milliseconds"),
            Unit::Guessed if count > MOST_SECONDS => (count, "milliseconds"),
            Unit::Guessed | Unit::Seconds => (count * 1_000.0, "seconds"),
        };
        let range = number.range;
        if matches!(unit, Unit::Guessed) {
            let number = shown(number.value);
            let text = "a text such as \"30s\" says which";
            let warning = format!("'{name}': {number} is read as {number} {word}; {text}");
            self.warn(range, warning);
        }
        string(range, format!("{milliseconds:.0}ms"))
    }

    /// Makes a program and its arguments of a command that is an array. One that is both in one string is a problem.
    fn split_command(&mut self) {
        let mut properties = self.object.properties.iter_mut();
        let Some(command) = properties.find(|one| one.name.as_str() == "command") else {
            return;
        };
        let at = command.name.range();
        if let Value::Array(words) = &mut command.value {
            if words.elements.is_empty() {
                return;
            }
            let program = words.elements.remove(0);
            let Value::Array(mut words) = std::mem::replace(&mut command.value, program) else {
                return;
            };
            let mut properties = self.object.properties.iter_mut();
            match properties.find(|one| one.name.as_str() == "args") {
                Some(ObjectProp {
                    value: Value::Array(args),
                    ..
                }) => {
                    words.elements.append(&mut args.elements);
                    args.elements = words.elements;
                }
                Some(_) => {}
                None => {
                    let args = property(at, "args", Value::Array(words));
                    self.object.properties.push(args);
                    self.names.push("command".to_owned());
                }
            }
            return;
        }
        let text = command
            .value
            .as_string_lit()
            .map(|text| text.value.trim().to_owned());
        let text = text.unwrap_or_default();
        if let Some((program, arguments)) = text.split_once(char::is_whitespace)
            && !program.contains(['/', '\\', '$'])
        {
            let arguments: Vec<String> = arguments
                .split_whitespace()
                .take(8)
                .map(|one| format!("\"{}\"", shown(one)))
                .collect();
            let problem = format!(
                "'command' is the program alone, write \"command\": \"{}\", \"args\": [{}]",
                shown(program),
                arguments.join(", ")
            );
            self.remarks.problems.push((at, problem));
        }
    }

    fn warn(&mut self, at: Range, warning: String) {
        self.remarks.warnings.push((at, warning));
    }
}

/// Meaning of a key that is not ours as it stands. Clients differ in capitals and in `_`.
fn meaning_of(name: &str, ours: &[&'static str]) -> Option<ClientKey> {
    if ours.contains(&name) && !FOREIGN.iter().any(|(key, _)| *key == name) {
        return None;
    }
    let folded = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let name = folded(name);
    let mut foreign = FOREIGN.iter();
    if let Some((_, meaning)) = foreign.find(|(key, _)| folded(key) == name) {
        return Some(*meaning);
    }
    let ours = ours.iter().find(|key| folded(key) == name)?;
    Some(ClientKey::Is(ours))
}

fn as_text<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.as_string_lit().map(|text| &*text.value)
}

fn rename_type(value: &mut Value<'_>) {
    if let Value::StringLit(word) = value
        && let Some((_, ours)) = TYPES.iter().find(|(theirs, _)| *theirs == word.value)
    {
        word.value = Cow::Borrowed(ours);
    }
}

/// Whether a list of tools names all of them.
fn allows_all(value: &Value<'_>) -> bool {
    let elements = value.as_array().map(|array| array.elements.as_slice());
    matches!(elements, Some([one]) if as_text(one) == Some("*"))
}

/// Whether two values are the same text, or lists of the same texts.
fn is_same(one: &Value<'_>, other: &Value<'_>) -> bool {
    match (one, other) {
        (Value::StringLit(one), Value::StringLit(other)) => one.value == other.value,
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.elements.iter().zip(&other.elements);
            one.elements.len() == other.elements.len()
                && pairs
                    .all(|(one, other)| as_text(one).is_some() && as_text(one) == as_text(other))
        }
        _ => false,
    }
}

/// Makes texts of numbers, true and false; in an object also references of texts that are `$NAME`.
fn rewrite_texts(value: &mut Value<'_>) {
    match value {
        Value::Object(object) => {
            for property in &mut object.properties {
                let name = as_text(&property.value).and_then(|text| text.strip_prefix('$'));
                if let Some(name) = name.filter(|name| is_variable(name)) {
                    property.value = string(property.value.range(), format!("${{{name}}}"));
                }
                make_text(&mut property.value);
            }
        }
        Value::Array(array) => array.elements.iter_mut().for_each(make_text),
        _ => {}
    }
}

fn make_text(value: &mut Value<'_>) {
    let text = match value {
        Value::NumberLit(number) => number.value.to_owned(),
        Value::BooleanLit(flag) => flag.value.to_string(),
        _ => return,
    };
    *value = string(value.range(), text);
}

/// Whether an object says how a server is reached, in anybody's words: then it is the entry of one.
pub(in crate::settings) fn names_transport(object: &Object<'_>) -> bool {
    let is_transport = |name: &str| {
        let is_foreign = |(key, meaning): &(&str, ClientKey)| {
            *key == name && matches!(meaning, ClientKey::Is("url" | "command"))
        };
        matches!(name, "command" | "url") || FOREIGN.iter().any(is_foreign)
    };
    let mut properties = object.properties.iter();
    // A server may be called so; then its entry stands there.
    properties.any(|one| is_transport(one.name.as_str()) && !matches!(one.value, Value::Object(_)))
}
