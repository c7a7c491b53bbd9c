//! Reading of `mcpServers` in its two forms: a map of servers, and an array of servers with a name.

use std::collections::HashMap;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value as Json, json};

use super::problem::shown;
use super::reader::{Resolved, SettingsReader, Written, join};
use super::rules::{KeyRule, Section, quoted};
use super::secret::credentials::{self, StringContext};
use super::text::{ADMIN_SERVER, SERVER_NAME};

/// Values of `type` for servers that have a `url`.
const HTTP_TYPES: [&str; 3] = ["http", "streamable-http", "sse"];

impl SettingsReader<'_> {
    /// Reads every server of an array or an object, in the order of the file.
    pub(super) fn servers(&mut self, keys: &'static Section, at: Written<'_>) -> Option<Resolved> {
        let (mut servers, mut seen) = (Vec::new(), HashMap::new());
        if let Value::Array(array) = at.value {
            for (index, item) in array.elements.iter().enumerate() {
                let path = format!("{}[{index}]", at.path);
                servers.push(self.item(keys, Written::new(item, &path), &mut seen));
            }
        } else if let Value::Object(object) = at.value {
            self.refuse_duplicates(object, at.path);
            for entry in &object.properties {
                let name = entry.name.as_str();
                let path = join(at.path, name);
                self.check_name(&entry.name, name);
                if let Some(key) = entry.value.as_object().and_then(|one| one.get("name")) {
                    self.report(key, || {
                        format!("{path}: 'name' belongs to the array form of mcpServers, here the key is the name")
                    });
                }
                servers.push(self.server(keys, Written::new(&entry.value, &path), name));
            }
        }
        let (mut values, mut entries) = (Vec::new(), Map::new());
        for server in servers {
            let Resolved { value, shown } = server?;
            entries.insert(value["name"].as_str().unwrap_or_default().to_owned(), shown);
            values.push(value);
        }
        let (value, shown) = (Json::Array(values), Json::Object(entries));
        Some(Resolved { value, shown })
    }

    /// Reads a server of the array form.
    fn item(
        &mut self,
        keys: &'static Section,
        at: Written<'_>,
        seen: &mut HashMap<String, usize>,
    ) -> Option<Resolved> {
        let item = at.value.as_object();
        let name = item.and_then(|item| item.get_string("name"));
        let server = self.server(keys, at, name.map_or("", |name| &name.value));
        let Some(name) = name else {
            // A name that is no string has been reported, and so has an item that is no object.
            if item.is_some_and(|item| item.get("name").is_none()) {
                self.report(at.value, || {
                    let (path, allowed) = (at.path, SERVER_NAME.allowed);
                    format!("missing key 'name' in {path}, allowed: {allowed}")
                });
            }
            return None;
        };
        self.check_name(name, &name.value);
        if let Some(first) = seen.insert(name.value.to_string(), name.start()) {
            let what = || format!("server name '{}'", shown(&name.value));
            self.report_duplicate(name, what, first);
        }
        server
    }

    /// Reads a server of this name; what its references lack becomes its problem and no other
    /// server's. It is shown with the keys that go with its transport.
    fn server(&mut self, keys: &'static Section, at: Written<'_>, name: &str) -> Option<Resolved> {
        // Looks at the tree, not at what was read of it, so that it speaks up beside other problems.
        if let Some(object) = at.value.as_object() {
            self.check_transport(object, at.path);
        }
        self.server_problems = Some(Vec::new());
        let known = self.secrets.len();
        let read = self.read(&KeyRule::Nested(keys), at);
        let problems = self.server_problems.take().unwrap_or_default();
        let Resolved {
            mut value,
            mut shown,
        } = read?;
        self.warn_of_arguments(&value["args"], at.path);
        let secrets = self.secrets[known..].iter();
        let secrets = secrets.map(|one| json!({ "value": one.value, "parts": one.parts }));
        value["secrets"] = secrets.collect();
        value["name"] = json!(name);
        value["problem"] = json!((!problems.is_empty()).then(|| problems.join("; ")));
        let foreign: &[&str] = match shown.get("url") {
            Some(_) => &["args", "env"],
            None => &["headers"],
        };
        if let Some(shown) = shown.as_object_mut() {
            shown.retain(|key, _| !foreign.contains(&key.as_str()));
        }
        // The order of the tools means nothing, so another one is no change.
        if let (Some(tools), Some(shown)) = (
            value["tools"].as_array_mut(),
            shown["tools"].as_object_mut(),
        ) {
            tools.sort_by(|left, right| left[0].as_str().cmp(&right[0].as_str()));
            shown.sort_keys();
        }
        Some(Resolved { value, shown })
    }

    /// Arguments are in the list of processes, which every user of the machine can read.
    fn warn_of_arguments(&mut self, arguments: &Json, path: &str) {
        let mut previous = "";
        for (index, argument) in arguments.as_array().into_iter().flatten().enumerate() {
            let text = argument["value"].as_str().unwrap_or_default();
            let context = StringContext::after(previous, text);
            previous = text;
            if !credentials::find(text, context).is_empty() {
                self.warn(|| {
                    format!("{path}.args[{index}]: this looks like a credential, and every user of this machine can see the arguments of a process: give it to the server in 'env' if it can read it there")
                });
            }
        }
    }

    fn check_name(&mut self, part: &impl Ranged, name: &str) {
        if name.eq_ignore_ascii_case(ADMIN_SERVER) {
            self.report(part, || {
                format!("server name '{name}' is taken by the tools of the gateway itself, allowed: any other name")
            });
        } else if !(SERVER_NAME.is_valid)(name) {
            self.report(part, || {
                let (name, allowed) = (shown(name), SERVER_NAME.allowed);
                format!("server name '{name}' is not allowed, allowed: {allowed}")
            });
        }
    }

    /// A server has a command or a url, and only the keys that go with it.
    fn check_transport(&mut self, server: &Object<'_>, path: &str) {
        let one = "allowed: exactly one of them";
        let (transport, foreign, types): (_, &[&str], &[&str]) =
            match (server.get("command"), server.get("url")) {
                (Some(_), Some(url)) => {
                    return self.report(url, || {
                        format!("{path}: found both 'command' and 'url', {one}")
                    });
                }
                (None, None) => {
                    return self.report(server, || {
                        format!("{path}: found neither 'command' nor 'url', {one}")
                    });
                }
                (Some(_), None) => ("command", &["headers"], &["stdio"]),
                (None, Some(_)) => ("url", &["args", "env", "working_dir"], &HTTP_TYPES),
            };
        for property in foreign.iter().filter_map(|key| server.get(key)) {
            // Some clients always write an empty list or object.
            let is_empty = match &property.value {
                Value::Array(array) => array.elements.is_empty(),
                Value::Object(object) => object.properties.is_empty(),
                _ => false,
            };
            if !is_empty {
                let key = property.name.as_str();
                self.report(property, || {
                    format!("{path}: '{key}' has no meaning for a server with '{transport}'")
                });
            }
        }
        let (key, kind) = (server.get("type"), server.get_string("type"));
        if let (Some(key), Some(kind)) = (key, kind.map(|kind| &*kind.value))
            && (kind == "stdio" || HTTP_TYPES.contains(&kind))
            && !types.contains(&kind)
        {
            self.report(key, || {
                let allowed = quoted(types);
                format!("{path}: 'type' contradicts '{transport}', allowed: {allowed}")
            });
        }
    }
}
