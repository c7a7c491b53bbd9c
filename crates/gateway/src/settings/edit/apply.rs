//! Text of a file after a change. Nothing here reads or writes files.

use jsonc_parser::ast::{Object, Value};
use serde_json::{Map, Value as Json, json};

use super::snippet::to_json;
use super::splice::{ListedParts, Splice, TextForm};
use super::{EditError, ServerChange};
use crate::settings::clients::listed::{self, KEYS, ListForm};
use crate::settings::document::Document;

/// Place of a server in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ServerPlace {
    /// Key that has its list.
    key: &'static str,
    place: usize,
}

/// Entry of a server, with its place.
struct FoundServer<'v> {
    at: ServerPlace,
    value: &'v Value<'v>,
}

/// Text of the file after a change. Without a text there is no file.
pub(super) fn apply(
    text: Option<&str>,
    name: &str,
    change: &ServerChange,
) -> Result<String, EditError> {
    let missing = "{}\n";
    let text = text.unwrap_or(missing);
    let place_in = |text: &str| with_tree(text, |root, _| Ok(find(root, name).map(|one| one.at)));
    let before = place_in(text)?;
    let changed = match change {
        ServerChange::Add(entry) => add(text, name, entry)?,
        ServerChange::Remove => remove(text, name, None)?,
        ServerChange::TakeBack(entry) => remove(text, name, Some(entry))?,
        ServerChange::Enable(enabled) => enable(text, name, *enabled)?,
        ServerChange::Merge(keys) => merge(text, name, keys)?,
    };
    let after = match change {
        ServerChange::Add(_) => place_in(&changed).unwrap_or_default(),
        // Another one may have the name from now on.
        ServerChange::Remove | ServerChange::TakeBack(_) => None,
        ServerChange::Enable(_) | ServerChange::Merge(_) => before,
    };
    let others = |text: &str, at| with_tree(text, |root, _| Ok(all_but(root, at)));
    let stayed = others(text, before)?;
    if others(&changed, after).ok() != Some(stayed) {
        return Err(EditError::NotSafe(name.to_owned()));
    }
    Ok(changed)
}

fn add(text: &str, name: &str, entry: &Map<String, Json>) -> Result<String, EditError> {
    with_tree(text, |root, splice| {
        if find(root, name).is_some() {
            return Err(EditError::NameTaken(name.to_owned()));
        }
        let written = KEYS.iter().find_map(|key| root.get(key));
        let entry = Json::Object(entry.clone());
        Ok(match written.map(|property| &property.value) {
            Some(Value::Object(map)) => splice
                .append(&ListedParts::of_object(map), |splice, layout| {
                    splice.member(name, &entry, layout)
                }),
            Some(Value::Array(list)) => {
                let mut named = Map::from_iter([("name".to_owned(), json!(name))]);
                named.extend(entry.as_object().cloned().unwrap_or_default());
                let named = Json::Object(named);
                splice.append(&ListedParts::of_array(list), |splice, layout| {
                    splice.json(&named, layout)
                })
            }
            Some(_) => return Err(EditError::NotSafe(name.to_owned())),
            None => {
                let servers = json!({ name: entry });
                splice.append(&ListedParts::of_object(root), |splice, layout| {
                    splice.member(KEYS[0], &servers, layout)
                })
            }
        })
    })
}

fn remove(text: &str, name: &str, only: Option<&Map<String, Json>>) -> Result<String, EditError> {
    with_tree(text, |root, splice| {
        let entry = existing(root, name)?;
        if let Some(only) = only
            && without_name(to_json(entry.value)) != Json::Object(only.clone())
        {
            return Err(EditError::Changed(name.to_owned()));
        }
        let list = root.get(entry.at.key).map(|property| &property.value);
        let members = match list {
            Some(Value::Object(map)) => ListedParts::of_object(map),
            Some(Value::Array(list)) => ListedParts::of_array(list),
            _ => return Err(EditError::NotSafe(name.to_owned())),
        };
        Ok(splice.without(&members, entry.at.place))
    })
}

/// Clients have a word for the contrary, which stays the word of the entry.
fn enable(text: &str, name: &str, enabled: bool) -> Result<String, EditError> {
    let has = |key: &str| {
        with_tree(text, |root, _| {
            let entry = existing(root, name)?;
            Ok(entry
                .value
                .as_object()
                .and_then(|entry| entry.get(key))
                .is_some())
        })
    };
    let mut keys = Map::new();
    if has("disabled")? {
        keys.insert("disabled".to_owned(), json!(!enabled));
    }
    if has("enabled")? || (keys.is_empty() && !enabled) {
        keys.insert("enabled".to_owned(), json!(enabled));
    }
    merge(text, name, &keys)
}

/// One key after the other: each is found in the text that the one before it left.
fn merge(text: &str, name: &str, keys: &Map<String, Json>) -> Result<String, EditError> {
    with_tree(text, |root, _| existing(root, name).map(drop))?;
    if keys.contains_key("name") {
        let problem =
            "'name' cannot be changed: add the server under the new name, and remove this one";
        return Err(EditError::Entry(problem.to_owned()));
    }
    let mut text = text.to_owned();
    for (key, value) in keys {
        text = with_tree(&text, |root, splice| {
            let Value::Object(entry) = existing(root, name)?.value else {
                return Err(EditError::NotSafe(name.to_owned()));
            };
            let members = ListedParts::of_object(entry);
            let mut properties = entry.properties.iter();
            let place = properties.position(|one| one.name.as_str() == key);
            Ok(match (place, value) {
                (None, Json::Null) => splice.unchanged(),
                (Some(place), Json::Null) => splice.without(&members, place),
                (Some(place), value) => splice.with_value(&entry.properties[place].value, value),
                (None, value) => splice.append(&members, |splice, layout: TextForm<'_>| {
                    splice.member(key, value, layout)
                }),
            })
        })?;
    }
    Ok(text)
}

/// Gives the tree of a text to somebody who does something with it.
fn with_tree<T>(
    text: &str,
    then: impl FnOnce(&Object<'_>, &Splice<'_>) -> Result<T, EditError>,
) -> Result<T, EditError> {
    let document = Document::parse("the configuration", text.as_bytes())?;
    let tree = document.tree()?;
    let splice = Splice::new(text, &tree);
    match &tree {
        Value::Object(root) => then(root, &splice),
        _ => Err(EditError::Entry(
            "the configuration is no object".to_owned(),
        )),
    }
}

fn existing<'v>(root: &'v Object<'v>, name: &str) -> Result<FoundServer<'v>, EditError> {
    find(root, name).ok_or_else(|| EditError::UnknownServer(name.to_owned()))
}

/// Entry of the server that has this name here, which may stand under another one in the file.
fn find<'v>(root: &'v Object<'v>, name: &str) -> Option<FoundServer<'v>> {
    let lists = lists(root);
    let values: Vec<&Value<'v>> = lists.iter().map(|(_, value)| *value).collect();
    let mut servers = listed::servers(&values).into_iter();
    let server = servers.find(|server| server.name == name)?;
    let (key, place) = (lists[server.list].0, server.place);
    let at = ServerPlace { key, place };
    let value = server.value;
    Some(FoundServer { at, value })
}

/// Lists of the file in the order in which they are read as one.
fn lists<'v>(root: &'v Object<'v>) -> Vec<(&'static str, &'v Value<'v>)> {
    let lists = KEYS.into_iter();
    let lists = lists.filter_map(|key| Some((key, &root.get(key)?.value)));
    lists.collect()
}

/// Everything that the file says but one server, in its order.
fn all_but(root: &Object<'_>, at: Option<ServerPlace>) -> Json {
    let properties = root.properties.iter().filter_map(|property| {
        let key = property.name.as_str();
        if !KEYS.contains(&key) {
            return Some(json!([key, to_json(&property.value)]));
        }
        let left_out = at.filter(|at| at.key == key).map(|at| at.place);
        let others = listed::servers(&[&property.value]).into_iter();
        let others = others.filter(|server| left_out != Some(server.place));
        let others = others.map(|server| match server.form {
            ListForm::Map => json!([server.written, to_json(server.value)]),
            // Its name is a member of it, or nothing but its place.
            ListForm::Array => to_json(server.value),
        });
        let others: Vec<Json> = others.collect();
        // A list that was made for the server is nothing else.
        (!others.is_empty()).then(|| json!([key, others]))
    });
    properties.collect()
}

fn without_name(mut entry: Json) -> Json {
    if let Some(entry) = entry.as_object_mut() {
        entry.shift_remove("name");
    }
    entry
}
