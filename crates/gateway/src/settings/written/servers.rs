//! `mcpServers` in its two forms: a map of servers, and an array of servers with a name.

use std::collections::HashMap;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use serde_json::json;

use super::WrittenServer;
use crate::settings::problem::shown;
use crate::settings::shape::{SettingsReader, Shape, ValueKind, join};

/// Name of the built-in server of admin tools, which no server of the file can have.
pub const ADMIN_SERVER: &str = "mcpproxy";

/// Names longer than this make tool names that clients refuse.
const NAME_LIMIT: usize = 64;

const NAME_ALLOWED: &str =
    "1 to 64 of the characters A-Z, a-z, 0-9, '_', '.' and '-', without '__', not 'mcpproxy'";

/// Pattern of allowed names, for the JSON Schema.
pub(in crate::settings) const NAME_PATTERN: &str = "^(?!.*__)(?!mcpproxy$)[A-Za-z0-9_.-]{1,64}$";

/// The servers in the order written, with checked names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::settings) struct WrittenServers(pub(in crate::settings) Vec<NamedServer>);

/// The name of a server in the array form. [`WrittenServers`] takes it from there.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::settings) struct ServerName;

/// One server of the file.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::settings) struct NamedServer {
    pub(in crate::settings) name: String,
    pub(in crate::settings) server: WrittenServer,
}

impl Shape for WrittenServers {
    fn kind() -> ValueKind {
        ValueKind::Servers(Box::new(WrittenServer::kind()))
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let found = match value {
            Value::Array(array) => read_array(reader, &array.elements, path),
            _ => read_map(reader, value, path)?,
        };
        let entries = found
            .into_iter()
            .map(|ReadServer { name, server }| server.map(|server| NamedServer { name, server }));
        entries.collect::<Option<_>>().map(Self)
    }

    fn written(&self) -> Option<serde_json::Value> {
        self.0.is_empty().then(|| json!({}))
    }
}

impl Shape for ServerName {
    fn kind() -> ValueKind {
        ValueKind::Leaf {
            allowed: NAME_ALLOWED.into(),
            schema: json!({ "type": "string", "pattern": NAME_PATTERN }),
        }
    }

    fn read(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let Value::StringLit(_) = value else {
            reader.wrong_type::<Self>(value, path);
            return None;
        };
        Some(Self)
    }
}

/// What could be read of an entry.
struct ReadServer {
    name: String,
    server: Option<WrittenServer>,
}

fn read_map(
    reader: &mut SettingsReader<'_>,
    value: &Value<'_>,
    path: &str,
) -> Option<Vec<ReadServer>> {
    let object = reader.object::<WrittenServers>(value, path)?;
    let mut found = Vec::new();
    for property in &object.properties {
        let name = property.name.as_str();
        let (path, offset) = (join(path, name), property.name.start());
        check_name(reader, offset, name);
        if has_key(&property.value, "name") {
            let message = format!(
                "{path}: 'name' belongs to the array form of mcpServers, here the key is the name"
            );
            report_key(reader, &property.value, "name", message);
        }
        found.push(ReadServer {
            name: name.to_owned(),
            server: read_server(reader, &property.value, &path),
        });
    }
    Some(found)
}

fn read_array(reader: &mut SettingsReader<'_>, items: &[Value<'_>], path: &str) -> Vec<ReadServer> {
    let mut found: Vec<ReadServer> = Vec::new();
    let mut seen = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let server = read_server(reader, item, &path);
        let Some(literal) = item.as_object().and_then(|item| item.get_string("name")) else {
            // A name that is no string has been reported, and so has an item that is no object.
            if item.as_object().is_some() && !has_key(item, "name") {
                let message = format!("missing key 'name' in {path}, allowed: {NAME_ALLOWED}");
                reader.report(item, message);
            }
            continue;
        };
        let (offset, name) = (literal.start(), literal.value.clone().into_owned());
        check_name(reader, offset, &name);
        if let Some(first) = seen.insert(name.clone(), offset) {
            let (name, line) = (shown(&name), reader.line(first));
            let message = format!("duplicate server name '{name}', first given on line {line}");
            reader.report_at(offset, message);
        }
        found.push(ReadServer { name, server });
    }
    found
}

fn read_server(
    reader: &mut SettingsReader<'_>,
    value: &Value<'_>,
    path: &str,
) -> Option<WrittenServer> {
    // Looks at the tree, not at what was read of it, so that it speaks up beside other problems.
    if value.as_object().is_some() {
        check_transport(reader, value, path);
    }
    WrittenServer::read(reader, value, path)
}

fn check_name(reader: &mut SettingsReader<'_>, offset: usize, name: &str) {
    let is_allowed = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '-');
    let is_valid = !name.is_empty()
        && name.len() <= NAME_LIMIT
        && name.chars().all(is_allowed)
        && !name.contains("__");
    if name == ADMIN_SERVER {
        let message = format!(
            "server name '{name}' is taken by the tools of the gateway itself, allowed: any other name"
        );
        reader.report_at(offset, message);
    } else if !is_valid {
        let name = shown(name);
        reader.report_at(
            offset,
            format!("server name '{name}' is not allowed, allowed: {NAME_ALLOWED}"),
        );
    }
}

/// A server has a command or a url, and only the keys that go with it.
fn check_transport(reader: &mut SettingsReader<'_>, value: &Value<'_>, path: &str) {
    let one = "allowed: exactly one of them";
    let (transport, foreign): (_, &[&str]) =
        match (has_key(value, "command"), has_key(value, "url")) {
            (true, true) => {
                let message = format!("{path}: found both 'command' and 'url', {one}");
                return report_key(reader, value, "url", message);
            }
            (false, false) => {
                let message = format!("{path}: found neither 'command' nor 'url', {one}");
                return reader.report(value, message);
            }
            (true, false) => ("command", &["headers"]),
            (false, true) => ("url", &["args", "env", "working_dir"]),
        };
    for key in foreign.iter().filter(|key| says_something(value, key)) {
        let message = format!("{path}: '{key}' has no meaning for a server with '{transport}'");
        report_key(reader, value, key, message);
    }
    let kind = value
        .as_object()
        .and_then(|object| object.get_string("type"));
    let allowed = match (kind.map(|kind| kind.value.as_ref()), transport) {
        (Some("stdio"), "url") => "\"http\", \"streamable-http\", \"sse\"",
        (Some("http" | "streamable-http" | "sse"), "command") => "\"stdio\"",
        _ => return,
    };
    let message = format!("{path}: 'type' contradicts '{transport}', allowed: {allowed}");
    report_key(reader, value, "type", message);
}

/// Notes a problem at a key of an object.
fn report_key(reader: &mut SettingsReader<'_>, value: &Value<'_>, key: &str, message: String) {
    match value.as_object().and_then(|object| object.get(key)) {
        Some(property) => reader.report(property, message),
        None => reader.report(value, message),
    }
}

fn has_key(value: &Value<'_>, key: &str) -> bool {
    value
        .as_object()
        .is_some_and(|object| object.get(key).is_some())
}

/// Whether a key is there with more than an empty list or object, which some clients always write.
fn says_something(value: &Value<'_>, key: &str) -> bool {
    match value.as_object().and_then(|object| object.get(key)) {
        Some(property) => match &property.value {
            Value::Array(array) => !array.elements.is_empty(),
            Value::Object(object) => !object.properties.is_empty(),
            _ => true,
        },
        None => false,
    }
}
