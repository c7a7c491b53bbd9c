//! The keys of a server, and `mcpServers` in its two forms: a map of servers, and an array of
//! servers with a name.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use mcpproxy_upstream::ProtocolSetting;
use serde_json::{Map, Value as Json, json};

use super::{DAY, HOUR, MILLISECOND};
use crate::settings::problem::shown;
use crate::settings::reader::{KeyRule, Section, SettingsReader, Written, join};
use crate::settings::rules::{
    Entries, List, Nested, Optional, Unkept, choice, flag, milliseconds, plain, span, whole,
};
use crate::settings::secret::{Secret, SettingText};
use crate::settings::section::section;
use crate::settings::shape::Shape;
use crate::settings::text::{ANYTHING, HEADER_NAME, HEADER_VALUE, NOT_EMPTY, URL, VARIABLE_NAME};

/// Name of the built-in server of admin tools, which no server of the file can have.
pub const ADMIN_SERVER: &str = "mcpproxy";

/// Names longer than this make tool names that clients refuse.
const NAME_LIMIT: usize = 64;

const NAME_ALLOWED: &str =
    "1 to 64 of the characters A-Z, a-z, 0-9, '_', '.' and '-', without '__', not 'mcpproxy'";

/// Pattern of allowed names, for the JSON Schema.
const NAME_PATTERN: &str = "^(?!.*__)(?!mcpproxy$)[A-Za-z0-9_.-]{1,64}$";

/// Values of `type` for servers that have a `url`.
const HTTP_TYPES: [&str; 3] = ["http", "streamable-http", "sse"];

section! {
    /// One MCP server. It has either `command` (a process that is started) or `url` (Streamable HTTP, or HTTP with a separate event stream; which one is found out).
    pub struct ServerSettings {
        /// The name of the server. Only in the array form, where it is needed; in the map form the key is the name.
        "name" written_name: Unkept = Unkept, plain(NAME_ALLOWED, json!({ "type": "string", "pattern": NAME_PATTERN })).unkept();
        /// How the server is reached, as many clients write it. It must agree with `command` or `url`; it may be left out.
        "type" kind: Unkept = Unkept, choice(&[("stdio", ()), ("http", ()), ("streamable-http", ()), ("sse", ())]).unkept();
        /// The program to start. May hold references.
        "command" pub command: Option<SettingText> = None, Optional(NOT_EMPTY);
        /// The arguments of the program. May hold references.
        "args" pub args: Vec<SettingText> = Vec::new(), List(ANYTHING);
        /// Environment variables of the program. The values are treated as secrets and may hold references.
        "env" pub env: Vec<(String, Secret)> = Vec::new(), Entries(VARIABLE_NAME, ANYTHING);
        /// The folder the program starts in. A relative one is taken from the folder of this file. May hold references.
        "working_dir" pub working_dir: Option<SettingText> = None, Optional(NOT_EMPTY);
        /// The address of the server, `http://` or `https://`. May hold references.
        "url" pub url: Option<SettingText> = None, Optional(URL);
        /// Headers of every request to `url`. The values are treated as secrets and may hold references.
        "headers" pub headers: Vec<(String, Secret)> = Vec::new(), Entries(HEADER_NAME, HEADER_VALUE);
        /// Which revisions of MCP are spoken with the server: those up to 2025-11-25 (`legacy`), 2026-07-28 (`modern`),
        /// or the newest one it answers to (`auto`). The server is asked once and the answer is kept in the data folder.
        "protocol" pub protocol: ProtocolSetting = ProtocolSetting::Auto, choice(&[
            ("auto", ProtocolSetting::Auto),
            ("legacy", ProtocolSetting::Legacy),
            ("modern", ProtocolSetting::Modern),
        ]);
        /// Whether the server is used at all.
        "enabled" pub enabled: bool = true, flag();
        /// Whether the server is held back: its tools are neither shown nor callable.
        "quarantined" pub quarantined: bool = false, flag();
        /// Whether new and changed tools of the server are used at once (`auto`) or wait for approval (`manual`).
        /// Checked, without effect in this version.
        "trust" pub trust: Trust = Trust::Manual, choice(&[("auto", Trust::Auto), ("manual", Trust::Manual)]);
        /// How long the server may take to start. One that installs itself first, as with `npx` and `uvx`, needs its time:
        /// it is ended when this is over, and begins anew.
        "start_timeout" pub start_timeout: Duration = Duration::from_mins(5), span(MILLISECOND, HOUR);
        /// How long one call may take.
        "timeout" pub timeout: Duration = Duration::from_secs(30), span(MILLISECOND, HOUR);
        /// How many calls may be under way at once.
        "max_concurrent" pub max_concurrent: usize = 64, whole(1, 1024);
        /// How long the server may be unused before it is stopped. Without it, the server is not stopped.
        "idle_stop" pub idle_stop: Option<Duration> = None, Optional(span(100 * MILLISECOND, 7 * DAY));
        /// What the operator says about single tools, by the tool's name.
        "tools" pub tools: Vec<(String, ToolSettings)> = Vec::new(), Entries(NOT_EMPTY, Nested);
    }
    beside {
        /// Its name, unique among the servers.
        name: Arc<str>;
        /// Why it cannot be used, for example a reference that is not set. Holds no secret.
        problem: Option<String>;
    }
}

section! {
    /// What the operator says about one tool of a server.
    pub struct ToolSettings {
        /// Whether the tool can be found and called.
        "enabled" pub enabled: bool = true, flag();
        /// Annotations that win over the server's own, hint by hint.
        "annotations" pub annotations: AnnotationOverrides = AnnotationOverrides::default(), Nested;
        /// How often the tool may be called. Without it, there is no limit.
        "rate_limit" pub rate_limit: Option<ToolRateLimit> = None, Optional(Nested);
    }
}

section! {
    /// Annotations of a tool, as MCP names them. A hint that is left out stays as the server gave it.
    pub struct AnnotationOverrides {
        /// The title shown to people.
        "title" pub title: Option<String> = None, Optional(plain("a string", json!({ "type": "string" })));
        /// The tool changes nothing.
        "readOnlyHint" pub read_only: Option<bool> = None, Optional(flag());
        /// The tool may delete or overwrite.
        "destructiveHint" pub destructive: Option<bool> = None, Optional(flag());
        /// Repeating a call has no further effect.
        "idempotentHint" pub idempotent: Option<bool> = None, Optional(flag());
        /// The tool reaches beyond its own server.
        "openWorldHint" pub open_world: Option<bool> = None, Optional(flag());
    }
}

section! {
    /// How often a tool may be called.
    #[derive(Copy)]
    pub struct ToolRateLimit {
        /// How many calls a window admits.
        "max_calls" pub max_calls: u32, whole(1, 1_000_000);
        /// The length of the window in milliseconds.
        "window_ms" pub window: Duration = Duration::from_mins(1), milliseconds(1, 24 * 60 * 60 * 1000);
    }
}

/// Whether new and changed tools of a server wait for approval. Without effect in this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// They are used at once.
    Auto,
    /// They wait.
    Manual,
}

/// Rule of `mcpServers`.
pub(super) struct ServersRule;

// === impl ServerSettings ===

impl ServerSettings {
    /// A server inside this program, with the defaults of the file. No file can say this.
    pub fn built_in(name: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            ..Self::default()
        }
    }

    /// Whether it is part of this program.
    pub(crate) fn is_built_in(&self) -> bool {
        self.command.is_none() && self.url.is_none()
    }

    /// Rate limit of one of its tools, where there is one.
    pub(crate) fn rate_limit(&self, tool: &str) -> Option<ToolRateLimit> {
        let (_, settings) = self.tools.iter().find(|(name, _)| name == tool)?;
        settings.rate_limit
    }

    /// Whether a running server has to be started anew to become the one that is wanted; what the
    /// operator says about its tools does not need it.
    pub(crate) fn needs_restart(&self, wanted: &Self) -> bool {
        let without_tools = |server: &Self| Self {
            tools: Vec::new(),
            ..server.clone()
        };
        without_tools(self) != without_tools(wanted)
    }

    /// Takes a relative folder from the folder of the file.
    fn resolve_working_dir(&mut self, folder: &Path) -> Result<(), &'static str> {
        let Some(text) = self.working_dir.take() else {
            return Ok(());
        };
        let full = folder.join(text.expose());
        let full = full
            .to_str()
            .ok_or("the folder of the configuration is not valid UTF-8, write an absolute path");
        self.working_dir = Some(text.replaced_by(full?.to_owned()));
        Ok(())
    }
}

impl AnnotationOverrides {
    /// The annotations as MCP writes them; only what was given.
    pub fn to_map(&self) -> Map<String, Json> {
        self.shown()
    }
}

// === impl KeyRule ===

impl KeyRule<Vec<ServerSettings>> for ServersRule {
    /// The map form has no `name`; the array form needs it.
    fn shape(&self) -> Shape {
        let server = ServerSettings::shape();
        let entry = Shape::section(server);
        let transports = json!([{ "required": ["command"] }, { "required": ["url"] }]);
        let (mut in_map, mut in_array) = (entry.schema.clone(), entry.schema);
        if let Some(properties) = in_map["properties"].as_object_mut() {
            properties.shift_remove("name");
        }
        in_array["required"] = json!(["name"]);
        in_map["oneOf"] = transports.clone();
        in_array["oneOf"] = transports;
        Shape {
            allowed: "an object with a key for each server, or an array of objects with a name"
                .to_owned(),
            schema: json!({
                "oneOf": [
                    {
                        "type": "object",
                        "propertyNames": { "pattern": NAME_PATTERN },
                        "additionalProperties": in_map,
                    },
                    { "type": "array", "items": in_array },
                ],
            }),
            inside: entry.inside.map(|(_, section)| (".<name>", section)),
        }
    }

    fn read(
        &self,
        reader: &mut SettingsReader<'_>,
        at: Written<'_>,
    ) -> Option<Vec<ServerSettings>> {
        let servers: Vec<Option<ServerSettings>> = if let Value::Array(array) = at.value {
            let mut seen = HashMap::new();
            let items = array.elements.iter().enumerate();
            items
                .map(|(index, item)| {
                    read_item(reader, Written::new(item, &at.item(index)), &mut seen)
                })
                .collect()
        } else {
            let entries = reader.object(self, at)?.properties.iter();
            entries
                .map(|entry| read_entry(reader, entry, &join(at.path, entry.name.as_str())))
                .collect()
        };
        servers.into_iter().collect()
    }

    /// Each server has the keys that go with its transport.
    fn shown(&self, servers: &Vec<ServerSettings>) -> Option<Json> {
        let entries = servers.iter().map(|server| {
            let mut keys = server.shown();
            let foreign: &[&str] = match server.url {
                Some(_) => &["args", "env"],
                None => &["headers"],
            };
            keys.retain(|key, _| !foreign.contains(&key.as_str()));
            (server.name.to_string(), Json::Object(keys))
        });
        Some(Json::Object(entries.collect()))
    }

    fn secrets<'v>(&self, servers: &'v Vec<ServerSettings>, found: &mut Vec<&'v Secret>) {
        for server in servers {
            server.secrets(found);
        }
    }
}

/// Reads a server of the map form.
fn read_entry(
    reader: &mut SettingsReader<'_>,
    entry: &ObjectProp<'_>,
    path: &str,
) -> Option<ServerSettings> {
    let name = entry.name.as_str();
    check_name(reader, &entry.name, name);
    if let Some(key) = entry.value.as_object().and_then(|one| one.get("name")) {
        reader.report(key, || {
            format!(
                "{path}: 'name' belongs to the array form of mcpServers, here the key is the name"
            )
        });
    }
    read_server(reader, Written::new(&entry.value, path), name)
}

/// Reads a server of the array form.
fn read_item(
    reader: &mut SettingsReader<'_>,
    at: Written<'_>,
    seen: &mut HashMap<String, usize>,
) -> Option<ServerSettings> {
    let item = at.value.as_object();
    let name = item.and_then(|item| item.get_string("name"));
    let server = read_server(reader, at, name.map_or("", |name| &name.value));
    let Some(name) = name else {
        // A name that is no string has been reported, and so has an item that is no object.
        if item.is_some_and(|item| item.get("name").is_none()) {
            reader.report(at.value, || {
                format!("missing key 'name' in {}, allowed: {NAME_ALLOWED}", at.path)
            });
        }
        return None;
    };
    check_name(reader, name, &name.value);
    if let Some(first) = seen.insert(name.value.to_string(), name.start()) {
        let what = || format!("server name '{}'", shown(&name.value));
        reader.report_duplicate(name, what, first);
    }
    server
}

/// Reads a server of this name; what its references lack becomes its problem and no other server's.
fn read_server(
    reader: &mut SettingsReader<'_>,
    at: Written<'_>,
    name: &str,
) -> Option<ServerSettings> {
    // Looks at the tree, not at what was read of it, so that it speaks up beside other problems.
    if let Some(object) = at.value.as_object() {
        check_transport(reader, object, at.path);
    }
    let (server, mut problems) = reader.in_server(|reader| Nested.read(reader, at));
    let mut server: ServerSettings = server?;
    server.name = Arc::from(name);
    if let Err(problem) = server.resolve_working_dir(reader.references.folder) {
        problems.push(format!("{}.working_dir: {problem}", at.path));
    }
    server
        .tools
        .sort_by(|(left, _), (right, _)| left.cmp(right));
    server.problem = (!problems.is_empty()).then(|| problems.join("; "));
    Some(server)
}

fn check_name(reader: &mut SettingsReader<'_>, part: &impl Ranged, name: &str) {
    let is_allowed = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '-');
    let is_valid = !name.is_empty()
        && name.len() <= NAME_LIMIT
        && name.chars().all(is_allowed)
        && !name.contains("__");
    if name == ADMIN_SERVER {
        reader.report(part, || {
            format!("server name '{name}' is taken by the tools of the gateway itself, allowed: any other name")
        });
    } else if !is_valid {
        reader.report(part, || {
            let name = shown(name);
            format!("server name '{name}' is not allowed, allowed: {NAME_ALLOWED}")
        });
    }
}

/// A server has a command or a url, and only the keys that go with it.
fn check_transport(reader: &mut SettingsReader<'_>, server: &Object<'_>, path: &str) {
    let one = "allowed: exactly one of them";
    let (transport, foreign, types): (_, &[&str], &[&str]) =
        match (server.get("command"), server.get("url")) {
            (Some(_), Some(url)) => {
                return reader.report(url, || {
                    format!("{path}: found both 'command' and 'url', {one}")
                });
            }
            (None, None) => {
                return reader.report(server, || {
                    format!("{path}: found neither 'command' nor 'url', {one}")
                });
            }
            (Some(_), None) => ("command", &["headers"], &["stdio"]),
            (None, Some(_)) => ("url", &["args", "env", "working_dir"], &HTTP_TYPES),
        };
    let foreign = foreign.iter().filter_map(|key| server.get(key));
    // Some clients always write an empty list or object.
    let foreign = foreign.filter(|property| match &property.value {
        Value::Array(array) => !array.elements.is_empty(),
        Value::Object(object) => !object.properties.is_empty(),
        _ => true,
    });
    for property in foreign {
        let key = property.name.as_str();
        reader.report(property, || {
            format!("{path}: '{key}' has no meaning for a server with '{transport}'")
        });
    }
    let kind = server.get_string("type").map(|kind| kind.value.as_ref());
    let is_known = kind.is_some_and(|kind| kind == "stdio" || HTTP_TYPES.contains(&kind));
    if let Some(property) = server.get("type")
        && is_known
        && !kind.is_some_and(|kind| types.contains(&kind))
    {
        reader.report(property, || {
            let allowed: Vec<String> = types.iter().map(|one| format!("\"{one}\"")).collect();
            let allowed = allowed.join(", ");
            format!("{path}: 'type' contradicts '{transport}', allowed: {allowed}")
        });
    }
}
