//! Entries of servers as people paste them: a whole file of a client, a part of one, or a single entry.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use serde_json::{Map, Number, Value as Json};

use crate::settings::clients::entries::names_transport;
use crate::settings::document::Document;
use crate::settings::problem::shown;

/// Longest text. What people paste has a few lines.
pub const SNIPPET_LIMIT: usize = 256 * 1024;

/// Most servers in one text.
const MOST_SERVERS: usize = 100;

/// Keys under which clients have their servers.
const SERVER_KEYS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp"];

const ALLOWED: &str = "a file of a client with \"mcpServers\" or \"servers\", a part of one such as \"github\": { \"command\": … }, or the entry of one server";

/// Server of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetServer {
    /// Name, where the snippet has one.
    pub name: Option<String>,
    /// Entry, as the client wrote it.
    pub entry: Map<String, Json>,
}

/// Servers of a snippet, in its order. The error says what is wrong with it, and repeats no value.
pub fn servers(text: &str) -> Result<Vec<SnippetServer>, String> {
    if text.len() > SNIPPET_LIMIT {
        let limit = SNIPPET_LIMIT / 1024;
        return Err(format!(
            "the snippet is larger than the {limit} KiB allowed"
        ));
    }
    let text = text.trim().trim_start_matches('\u{feff}');
    let text = if text.starts_with('{') {
        text.to_owned()
    } else {
        // A part of a file, up to the comma behind it.
        format!("{{{}}}", text.trim_end().trim_end_matches(','))
    };
    let document =
        Document::parse("snippet", text.as_bytes()).map_err(|error| error.to_string())?;
    let tree = document
        .tree()
        .map_err(|error| format!("{error}; allowed: {ALLOWED}"))?;
    let Value::Object(root) = &tree else {
        return Err(format!("the snippet is no object, allowed: {ALLOWED}"));
    };
    let servers = servers_of(root)?;
    if servers.len() > MOST_SERVERS {
        return Err(format!(
            "the snippet has more than the {MOST_SERVERS} servers allowed"
        ));
    }
    Ok(servers)
}

/// Value of a tree. Numbers that no number can be are text.
pub(super) fn to_json(value: &Value<'_>) -> Json {
    match value {
        Value::StringLit(text) => Json::from(&*text.value),
        Value::NumberLit(number) => match number.value.parse::<Number>() {
            Ok(parsed) => Json::Number(parsed),
            Err(_) => Json::from(number.value),
        },
        Value::BooleanLit(flag) => Json::from(flag.value),
        Value::NullKeyword(_) => Json::Null,
        Value::Array(array) => array.elements.iter().map(to_json).collect(),
        Value::Object(object) => Json::Object(members(object)),
    }
}

fn members(object: &Object<'_>) -> Map<String, Json> {
    let properties = object.properties.iter();
    let members = properties.map(|one| (one.name.as_str().to_owned(), to_json(&one.value)));
    members.collect()
}

fn servers_of(root: &Object<'_>) -> Result<Vec<SnippetServer>, String> {
    if names_transport(root) {
        return Ok(vec![single(root)]);
    }
    let list = SERVER_KEYS.iter().find_map(|key| root.get(key));
    let servers = match list.map(|property| (property.name.as_str(), &property.value)) {
        // Settings of VS Code have the servers one level down.
        Some(("mcp", Value::Object(inner))) => return servers_of(inner),
        Some((_, Value::Object(map))) => named(map)?,
        Some((_, Value::Array(list))) => {
            let entries = list.elements.iter().map(|entry| match entry {
                Value::Object(entry) => Ok(single(entry)),
                _ => Err(format!(
                    "a server of the snippet is no object, allowed: {ALLOWED}"
                )),
            });
            entries.collect::<Result<_, _>>()?
        }
        Some((key, _)) => {
            return Err(format!(
                "'{key}' of the snippet is no object, allowed: {ALLOWED}"
            ));
        }
        None => named(root)?,
    };
    if servers.is_empty() {
        return Err(format!("the snippet has no server, allowed: {ALLOWED}"));
    }
    Ok(servers)
}

/// Entry that stands alone, or in an array; it may bring its name.
fn single(entry: &Object<'_>) -> SnippetServer {
    let mut entry = members(entry);
    let name = match entry.get("name") {
        Some(Json::String(name)) => Some(name.clone()),
        _ => None,
    };
    if name.is_some() {
        entry.shift_remove("name");
    }
    SnippetServer { name, entry }
}

/// Servers by name. What is no entry is an error: a key was likely misspelt.
fn named(map: &Object<'_>) -> Result<Vec<SnippetServer>, String> {
    let server = |property: &ObjectProp<'_>| match &property.value {
        Value::Object(entry) if names_transport(entry) => Ok(SnippetServer {
            name: Some(property.name.as_str().to_owned()),
            entry: members(entry),
        }),
        _ => Err(format!(
            "'{}' of the snippet is no entry of a server, which has a \"command\" or a \"url\"; allowed: {ALLOWED}",
            shown(property.name.as_str())
        )),
    };
    map.properties.iter().map(server).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Json {
        let servers = servers(text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
        let servers = servers.into_iter();
        servers.map(|one| json!([one.name, one.entry])).collect()
    }

    #[test]
    fn snippets_are_read_as_clients_have_them() {
        let one = json!([["one", { "command": "npx", "args": ["-y", "pkg"] }]]);
        for text in [
            r#"{ "mcpServers": { "one": { "command": "npx", "args": ["-y", "pkg"] } } }"#,
            r#"{ /* VS Code */ "inputs": [], "servers": { "one": { "command": "npx", "args": ["-y", "pkg",], } }, }"#,
            r#"{ "mcp": { "servers": { "one": { "command": "npx", "args": ["-y", "pkg"] } } } }"#,
            r#"{ "context_servers": { "one": { "command": "npx", "args": ["-y", "pkg"] } } }"#,
            r#"{ "mcpServers": [{ "name": "one", "command": "npx", "args": ["-y", "pkg"] }] }"#,
            "\"mcpServers\": { \"one\": { \"command\": \"npx\", \"args\": [\"-y\", \"pkg\"] } }",
            "  \"one\": { // mine\n \"command\": \"npx\", \"args\": [\"-y\", \"pkg\"] },\n",
            r#"{ "one": { "command": "npx", "args": ["-y", "pkg"] } }"#,
            r#"{ "name": "one", "command": "npx", "args": ["-y", "pkg"] }"#,
        ] {
            assert_eq!(read(text), one, "{text}");
        }
        assert_eq!(
            read(r#"{ "serverUrl": "https://h/mcp", "timeout": 60000, "disabled": false }"#),
            json!([[null, { "serverUrl": "https://h/mcp", "timeout": 60000, "disabled": false }]])
        );
        assert_eq!(
            read(
                r#"{ "mcpServers": { "a": { "url": "https://h" }, "b": { "command": ["x", "y"] } } }"#
            ),
            json!([["a", { "url": "https://h" }], ["b", { "command": ["x", "y"] }]])
        );
    }

    #[test]
    fn broken_snippets_say_what_is_wrong_and_no_value() {
        for (text, expected) in [
            ("", "the snippet has no server"),
            ("{", "snippet:1:1: syntax error"),
            ("not json", "syntax error"),
            ("[]", "syntax error"),
            ("{}", "the snippet has no server"),
            (r#"{ "mcpServers": {} }"#, "the snippet has no server"),
            (
                r#"{ "mcpServers": "s3cr3t" }"#,
                "'mcpServers' of the snippet is no object",
            ),
            (
                r#"{ "mcpServers": ["s3cr3t"] }"#,
                "a server of the snippet is no object",
            ),
            (
                r#"{ "one": { "comand": "s3cr3t" } }"#,
                "'one' of the snippet is no entry of a server",
            ),
            (
                r#"{ "comand": "s3cr3t" }"#,
                "'comand' of the snippet is no entry of a server",
            ),
        ] {
            let problem = servers(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
            assert!(!problem.contains("s3cr3t"), "{problem}");
        }
        let large = format!("{{ \"a\": \"{}\" }}", "x".repeat(SNIPPET_LIMIT));
        assert!(servers(&large).unwrap_err().contains("256 KiB"));
        let many: Map<String, Json> = (0..=MOST_SERVERS)
            .map(|number| (number.to_string(), json!({ "command": "x" })))
            .collect();
        assert!(
            servers(&json!({ "mcpServers": many }).to_string())
                .unwrap_err()
                .contains("100")
        );
    }
}
