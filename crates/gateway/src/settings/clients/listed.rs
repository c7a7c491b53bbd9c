//! Servers of the lists of a file, with the names that they have here: for who reads the file, and for who changes it.

use jsonc_parser::ast::Value;

use super::names;

/// Keys of a file that have servers. The first is ours, and that of a file that has none yet.
pub(in crate::settings) const KEYS: [&str; 2] = ["mcpServers", "servers"];

/// Form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::settings) enum ListForm {
    /// Each name is a key.
    Map,
    /// Each name is a member of its entry.
    Array,
}

/// Server of a list, as it stands in the file.
pub(in crate::settings) struct WrittenServer<'v> {
    /// Name that it has here.
    pub(in crate::settings) name: String,
    /// Name in the file; one made of its place where it has none.
    pub(in crate::settings) written: String,
    /// Number of its list, among those that were given.
    pub(in crate::settings) list: usize,
    /// Place in its list.
    pub(in crate::settings) place: usize,
    pub(in crate::settings) form: ListForm,
    pub(in crate::settings) value: &'v Value<'v>,
}

/// Servers of lists that are one after the other. What is no list has none.
pub(in crate::settings) fn servers<'v>(lists: &[&'v Value<'v>]) -> Vec<WrittenServer<'v>> {
    let mut servers = Vec::new();
    for (list, value) in lists.iter().enumerate() {
        match value {
            Value::Object(map) => {
                for (place, property) in map.properties.iter().enumerate() {
                    let written = property.name.as_str().to_owned();
                    let value = &property.value;
                    servers.push(listed(written, list, place, ListForm::Map, value));
                }
            }
            Value::Array(array) => {
                for (place, value) in array.elements.iter().enumerate() {
                    let name = value.as_object().and_then(|entry| entry.get_string("name"));
                    let written = name.map_or_else(
                        || format!("server-{}", servers.len() + 1),
                        |name| name.value.to_string(),
                    );
                    servers.push(listed(written, list, place, ListForm::Array, value));
                }
            }
            _ => {}
        }
    }
    let written: Vec<&str> = servers.iter().map(|server| &*server.written).collect();
    let names = names::usable(&written);
    for (server, name) in servers.iter_mut().zip(names) {
        server.name = name;
    }
    servers
}

fn listed<'v>(
    written: String,
    list: usize,
    place: usize,
    form: ListForm,
    value: &'v Value<'v>,
) -> WrittenServer<'v> {
    WrittenServer {
        name: String::new(),
        written,
        list,
        place,
        form,
        value,
    }
}
