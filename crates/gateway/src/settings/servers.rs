//! `mcpServers` in its two forms: a map of servers, and an array of servers with a name.

use std::collections::HashMap;

use jsonc_parser::ast::Value;
use serde_json::json;

use super::problem::{Position, shown};
use super::shape::{Kind, Reader, Shape, join};
use super::values::Choice;
use super::written::{Server, TransportKind};

/// Names longer than this make tool names that clients refuse.
const NAME_LIMIT: usize = 64;

const NAME_ALLOWED: &str =
    "1 to 64 of the characters A-Z, a-z, 0-9, '_', '.' and '-', without '__'";

/// The servers in the order written, with checked names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Servers(pub(super) Vec<Entry>);

/// One server of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) server: Server,
}

impl Shape for Servers {
    fn kind() -> Kind {
        Kind::Servers(Box::new(Server::kind()))
    }

    fn read(reader: &mut Reader<'_>, value: &Value<'_>, path: &str) -> Option<Self> {
        let entries = match value {
            Value::Array(array) => {
                let items = array.elements.iter().enumerate();
                items
                    .map(|(index, item)| read_item(reader, item, &format!("{path}[{index}]")))
                    .collect()
            }
            _ => read_map(reader, value, path)?,
        };
        refuse_duplicates(reader, &entries);
        let entries: Option<Vec<_>> = entries.into_iter().collect();
        let entries = entries?.into_iter().map(|(_, entry)| entry).collect();
        Some(Self(entries))
    }

    fn written(&self) -> Option<serde_json::Value> {
        self.0.is_empty().then(|| json!({}))
    }
}

/// An entry and where its name is; nothing when it has a problem.
type Found = Option<(Position, Entry)>;

fn read_map(reader: &mut Reader<'_>, value: &Value<'_>, path: &str) -> Option<Vec<Found>> {
    let object = reader.object::<Servers>(value, path)?;
    let entries = object.properties.iter().map(|property| {
        let name = property.name.as_str();
        let path = join(path, name);
        let position = reader.position(&property.name);
        check_name(reader, position, name);
        let server = read_server(reader, &property.value, &path)?;
        if let Some(inner) = &server.name {
            let message = format!(
                "{path}: 'name' belongs to the array form of mcpServers, here the key is the name"
            );
            reader.report_at(inner.position, message);
        }
        let name = name.to_owned();
        Some((position, Entry { name, server }))
    });
    Some(entries.collect())
}

fn read_item(reader: &mut Reader<'_>, item: &Value<'_>, path: &str) -> Found {
    let server = read_server(reader, item, path)?;
    let Some(name) = &server.name else {
        let message = format!("missing key 'name' in {path}, allowed: {NAME_ALLOWED}");
        reader.report(item, message);
        return None;
    };
    check_name(reader, name.position, &name.raw);
    let (position, name) = (name.position, name.raw.clone());
    Some((position, Entry { name, server }))
}

fn read_server(reader: &mut Reader<'_>, value: &Value<'_>, path: &str) -> Option<Server> {
    let server = Server::read(reader, value, path)?;
    check_transport(reader, value, path, &server);
    Some(server)
}

/// The map form refuses duplicates as duplicate keys already; the array form has none.
fn refuse_duplicates(reader: &mut Reader<'_>, entries: &[Found]) {
    let mut seen = HashMap::new();
    for (position, entry) in entries.iter().flatten() {
        let first = seen.insert(entry.name.as_str(), *position);
        let from_array = entry.server.name.is_some();
        if let Some(first) = first.filter(|_| from_array) {
            let (name, line) = (shown(&entry.name), first.line);
            reader.report_at(
                *position,
                format!("duplicate server name '{name}', first given on line {line}"),
            );
        }
    }
}

fn check_name(reader: &mut Reader<'_>, position: Position, name: &str) {
    let is_allowed = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '-');
    let is_valid = !name.is_empty()
        && name.len() <= NAME_LIMIT
        && name.chars().all(is_allowed)
        && !name.contains("__");
    if !is_valid {
        let name = shown(name);
        reader.report_at(
            position,
            format!("server name '{name}' is not allowed, allowed: {NAME_ALLOWED}"),
        );
    }
}

/// A server has a command or a url, and only the keys that go with it.
fn check_transport(reader: &mut Reader<'_>, value: &Value<'_>, path: &str, server: &Server) {
    let (transport, foreign) = match (&server.command, &server.url) {
        (Some(_), Some(_)) => {
            let message =
                format!("{path}: found both 'command' and 'url', allowed: exactly one of them");
            return report_key(reader, value, "url", message);
        }
        (None, None) => {
            let message =
                format!("{path}: found neither 'command' nor 'url', allowed: exactly one of them");
            return reader.report(value, message);
        }
        (Some(_), None) => (
            "command",
            vec![("headers", !server.headers.entries.is_empty())],
        ),
        (None, Some(_)) => (
            "url",
            vec![
                ("args", !server.args.is_empty()),
                ("env", !server.env.entries.is_empty()),
                ("working_dir", server.working_dir.is_some()),
            ],
        ),
    };
    for (key, _) in foreign.iter().filter(|(_, is_given)| *is_given) {
        let message = format!("{path}: '{key}' has no meaning for a server with '{transport}'");
        report_key(reader, value, key, message);
    }
    let allowed = match (server.kind, transport) {
        (Some(Choice(TransportKind::Stdio)), "url") => "\"http\", \"streamable-http\"",
        (Some(Choice(TransportKind::Http | TransportKind::StreamableHttp)), "command") => {
            "\"stdio\""
        }
        _ => return,
    };
    let message = format!("{path}: 'type' contradicts '{transport}', allowed: {allowed}");
    report_key(reader, value, "type", message);
}

/// Notes a problem at a key of an object.
fn report_key(reader: &mut Reader<'_>, value: &Value<'_>, key: &str, message: String) {
    match value.as_object().and_then(|object| object.get(key)) {
        Some(property) => reader.report(property, message),
        None => reader.report(value, message),
    }
}
