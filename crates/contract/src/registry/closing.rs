//! Closed schemas: every object of the parameters refuses names that nobody reads, at any depth.
//!
//! A type need not say `deny_unknown_fields`. What it publishes is closed here, and [`params`](super::params) refuses
//! what the published schema does not name. A map, which takes any name, says so itself (`additionalProperties`).

use serde_json::{Map, Value};

/// Keywords that hold one schema for each name or in a list, all of which apply to parts of a value.
const OF_PARTS: [&str; 4] = ["properties", "patternProperties", "$defs", "prefixItems"];

/// Keywords that hold one schema for the parts of a value.
const OF_EACH_PART: [&str; 2] = ["items", "additionalProperties"];

/// Keywords that hold schemas for the value itself.
pub(super) const ALTERNATIVES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Closes the schema of parameters: itself, whatever its type says, and every object in it that does not say that it
/// takes any name.
pub(super) fn close(schema: &mut Value) {
    if let Value::Object(keywords) = schema {
        keywords.insert("additionalProperties".to_owned(), Value::Bool(false));
        keywords.remove("unevaluatedProperties");
        let properties = keywords.entry("properties");
        properties.or_insert_with(|| Value::Object(Map::new()));
    }
    close_objects(schema);
}

fn close_objects(schema: &mut Value) {
    let Value::Object(keywords) = schema else {
        return;
    };
    for keyword in OF_PARTS {
        if let Some(parts) = keywords.get_mut(keyword) {
            members(parts).for_each(close_objects);
        }
    }
    for keyword in OF_EACH_PART {
        if let Some(part) = keywords.get_mut(keyword) {
            close_objects(part);
        }
    }
    let names_some = keywords.contains_key("properties");
    // An object that has a part of its names from alternatives: only together do they know all of them.
    let is_composed = names_some && ALTERNATIVES.iter().any(|word| keywords.contains_key(*word));
    if !is_composed {
        for keyword in ALTERNATIVES {
            if let Some(choices) = keywords.get_mut(keyword) {
                members(choices).for_each(close_objects);
            }
        }
    }
    let says = ["additionalProperties", "unevaluatedProperties"];
    if is_object(keywords) && !says.iter().any(|word| keywords.contains_key(*word)) {
        let word = says[usize::from(is_composed)];
        keywords.insert(word.to_owned(), Value::Bool(false));
    }
}

/// Schemas that a keyword holds by name or in a list.
fn members(parts: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match parts {
        Value::Object(parts) => Box::new(parts.values_mut()),
        Value::Array(parts) => Box::new(parts.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Whether a schema speaks of objects: by its type, or by the names it gives.
fn is_object(keywords: &Map<String, Value>) -> bool {
    match keywords.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => keywords.contains_key("properties"),
    }
}

/// Paths of the objects in a schema that take names which the schema does not give, as JSON pointers. A map, which gives
/// no names and says that it takes any, is none.
pub(super) fn open_objects(schema: &Value) -> Vec<String> {
    let mut open = Vec::new();
    find_open(schema, "", &mut open);
    open
}

fn find_open(schema: &Value, path: &str, open: &mut Vec<String>) {
    let Value::Object(keywords) = schema else {
        return;
    };
    let mut within = |word: &str, name: &str, part: &Value| {
        find_open(part, &format!("{path}/{word}/{name}"), open);
    };
    let names_some = keywords.contains_key("properties");
    let is_composed = names_some && ALTERNATIVES.iter().any(|word| keywords.contains_key(*word));
    let choices = if is_composed { &[][..] } else { &ALTERNATIVES };
    for word in OF_PARTS.iter().chain(choices) {
        match keywords.get(*word) {
            Some(Value::Object(parts)) => {
                parts
                    .iter()
                    .for_each(|(name, part)| within(word, name, part));
            }
            Some(Value::Array(parts)) => {
                let parts = parts.iter().enumerate();
                parts.for_each(|(place, part)| within(word, &place.to_string(), part));
            }
            _ => {}
        }
    }
    for word in OF_EACH_PART {
        if let Some(part) = keywords.get(word) {
            find_open(part, &format!("{path}/{word}"), open);
        }
    }
    let refuses = |word: &str| keywords.get(word) == Some(&Value::Bool(false));
    let is_map = match keywords.get("additionalProperties") {
        Some(Value::Object(_)) => true,
        Some(Value::Bool(true)) => !names_some,
        _ => false,
    };
    let is_closed = refuses("additionalProperties") || refuses("unevaluatedProperties");
    if is_object(keywords) && !is_map && !is_closed {
        open.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests;
