//! Reading of `mcpServers` in its two forms: a map of servers, and an array of servers with a name.

use std::collections::HashMap;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use mcpproxy_redact::mask::MASKED;
use serde_json::{Map, Value as Json, json};

use super::clients::entries::{self, Rewritten};
use super::clients::env_file;
use super::clients::listed::{self, ListForm, WrittenServer};
use super::problem::{Problems, shown};
use super::reader::{Resolved, SettingsReader, Written, join};
use super::rules::{KeyRule, Section, quoted};
use super::secret::Secret;
use super::secret::credentials::{self, StringContext};
use super::text::SERVER_NAME;

/// Values of `type` for servers that have a `url`.
const HTTP_TYPES: [&str; 3] = ["http", "streamable-http", "sse"];

/// Entry of a server, with its path in the file.
struct ServerEntry<'v> {
    path: String,
    listed: WrittenServer<'v>,
}

impl SettingsReader<'_> {
    /// Reads every server of an array or an object, in the order of the file.
    pub(super) fn servers(&mut self, keys: &'static Section, at: Written<'_>) -> Option<Resolved> {
        let (mut values, mut entries) = (Vec::new(), Map::new());
        for entry in self.entries_of(at) {
            let WrittenServer { name, written, .. } = &entry.listed;
            let known = self.warnings.len();
            if name != written {
                self.warn_at(entry.listed.value, || {
                    let (path, allowed) = (&entry.path, SERVER_NAME.allowed);
                    format!("{path}: the server is called '{name}' here, names are {allowed}")
                });
            }
            let Resolved { value, shown } = self.server(keys, &entry)?;
            let of_entry = self.warnings.get(known..).unwrap_or_default().iter();
            let of_entry = of_entry.map(|warning| (name.clone(), warning.clone()));
            self.entry_warnings.extend(of_entry);
            entries.insert(name.clone(), shown);
            values.push(value);
        }
        let (value, shown) = (Json::Array(values), Json::Object(entries));
        Some(Resolved { value, shown })
    }

    /// Entries of both forms, with their names. What is wrong with the list itself is a problem of the file.
    fn entries_of<'v>(&mut self, at: Written<'v>) -> Vec<ServerEntry<'v>> {
        if let Value::Object(object) = at.value {
            self.refuse_duplicates(object, at.path);
        }
        let mut seen = HashMap::new();
        let entries = listed::servers(&[at.value]).into_iter().map(|listed| {
            let path = match listed.form {
                ListForm::Map => join(at.path, &listed.written),
                ListForm::Array => format!("{}[{}]", at.path, listed.place),
            };
            let entry = listed.value.as_object();
            let named = entry.and_then(|entry| entry.get_string("name"));
            if listed.form == ListForm::Array
                && let Some(name) = named
                && let Some(first) = seen.insert(name.value.to_string(), name.start())
            {
                let what = || format!("server name '{}'", shown(&name.value));
                self.report_duplicate(name, what, first);
            }
            ServerEntry { path, listed }
        });
        entries.collect()
    }

    /// Reads a server; what is wrong in its entry is its problem and no other server's. It is shown with the keys that
    /// go with its transport.
    fn server(&mut self, keys: &'static Section, entry: &ServerEntry<'_>) -> Option<Resolved> {
        let path = &*entry.path;
        self.server_problems = Some(Problems::of_server());
        let known = self.secrets.len();
        let rewritten = self.in_our_words(keys, entry);
        let (rewritten, variables) = match rewritten {
            Some((object, variables)) => (Some(object), variables),
            None => (None, Vec::new()),
        };
        let value = rewritten.as_ref().unwrap_or(entry.listed.value);
        if let Some(object) = value.as_object() {
            self.check_form(object, entry);
            // Looks at the tree, not at what was read of it, so that it speaks up beside other problems.
            self.check_transport(object, path);
        }
        let rule = KeyRule::Nested(keys);
        let read = self.read(&rule, Written::new(value, path));
        // Of an entry that is no object nothing is left.
        let read = read.or_else(|| self.read_default(&rule, "{}", path));
        self.written_keys.clear();
        let problems = (self.server_problems.take()).unwrap_or_else(Problems::of_server);
        self.problems_of_servers.add_all(&problems);
        let Resolved {
            mut value,
            mut shown,
        } = read?;
        self.warn_of_arguments(&value["args"], path);
        self.add_variables(variables, &mut value["env"], &mut shown["env"]);
        let secrets = self.secrets[known..].iter();
        let secrets = secrets.map(|one| json!({ "value": one.value, "parts": one.parts }));
        value["secrets"] = secrets.collect();
        value["name"] = json!(entry.listed.name);
        value["dangling"] = json!(std::mem::take(&mut self.dangling));
        value["problems"] = json!(problems.into_lines());
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

    /// The entry in the words of this program, with the variables of its file; nothing if it is no object.
    fn in_our_words<'v>(
        &mut self,
        keys: &'static Section,
        entry: &ServerEntry<'v>,
    ) -> Option<(Value<'v>, Vec<(String, String)>)> {
        let ours: Vec<&str> = keys.keys.iter().map(|key| key.name).collect();
        let Rewritten {
            object,
            names,
            env_file,
            remarks,
        } = entries::rewrite(entry.listed.value.as_object()?, &ours);
        for (range, warning) in remarks.warnings {
            self.warn_at(&range, || format!("{}: {warning}", entry.path));
        }
        for (range, problem) in remarks.problems {
            self.report(&range, || format!("{}: {problem}", entry.path));
        }
        // Problems name the key that the file has.
        let keys = object.properties.iter().map(|one| one.name.as_str());
        let written = keys.zip(names).filter(|(key, name)| key != name);
        self.written_keys = written
            .map(|(key, name)| (join(&entry.path, key), join(&entry.path, &name)))
            .collect();
        let mut variables = Vec::new();
        if let Some((range, file)) = env_file {
            match env_file::read(self.references, &file) {
                Ok(read) => {
                    variables = read.variables;
                    for warning in read.warnings {
                        self.warn(|| format!("{}: envFile: {warning}", entry.path));
                    }
                }
                Err(problem) => {
                    self.report(&range, || format!("{}: envFile: {problem}", entry.path));
                }
            }
        }
        Some((Value::Object(object), variables))
    }

    /// Adds the variables of a file to those of an entry, which win. Their values are secrets, as those of references.
    fn add_variables(
        &mut self,
        variables: Vec<(String, String)>,
        env: &mut Json,
        shown: &mut Json,
    ) {
        let Some(env) = env.as_array_mut() else {
            return;
        };
        for (name, value) in variables {
            if env.iter().any(|one| one[0] == name) {
                continue;
            }
            let secret = Secret {
                parts: vec![value.clone()],
                value,
            };
            env.push(json!([name, { "value": secret.value, "parts": secret.parts }]));
            shown[&name] = json!(MASKED);
            let is_harmless = StringContext::of_name(&name) != StringContext::Named;
            self.secrets.extend(secret.without_numbers(is_harmless));
        }
    }

    /// A server of the map has its name as key, one of the array as a member.
    fn check_form(&mut self, entry: &Object<'_>, written: &ServerEntry<'_>) {
        let path = &written.path;
        match (written.listed.form, entry.get("name")) {
            (ListForm::Map, Some(name)) => self.warn_at(name, || {
                format!("{path}: 'name' is not used here: the key is the name")
            }),
            (ListForm::Array, None) => self.report(entry, || {
                let allowed = SERVER_NAME.allowed;
                format!("missing key 'name' in {path}, allowed: {allowed}")
            }),
            _ => {}
        }
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
                (None, Some(_)) => (
                    "url",
                    &["args", "env", "inherit_env", "working_dir"],
                    &HTTP_TYPES,
                ),
            };
        for property in foreign.iter().filter_map(|key| server.get(key)) {
            // Some clients always write an empty list or object.
            let is_empty = match &property.value {
                Value::Array(array) => array.elements.is_empty(),
                Value::Object(object) => object.properties.is_empty(),
                _ => false,
            };
            if !is_empty {
                let key = self.written_key(&join(path, property.name.as_str()));
                self.warn_at(property, || {
                    format!(
                        "{key} is not used here: it has no meaning for a server with '{transport}'"
                    )
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
