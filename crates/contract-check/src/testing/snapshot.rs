//! Has anything changed that agents rely on?

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Failures;
use mcpproxy_contract::Service;

/// Set to anything, it writes the snapshot anew instead of comparing, unless that would break
/// those who call.
const UPDATE: &str = "UPDATE_PUBLISHED";

/// Compares names and schemas with those that were published, kept in a file. A name that is gone
/// and a change that breaks callers are always told; any other change is told until the file is
/// written anew with `UPDATE_PUBLISHED=1`.
pub fn unchanged(service: &Service, file: impl AsRef<Path>) -> Result<(), Failures> {
    let file = file.as_ref();
    let now = published(service);
    let updating = std::env::var_os(UPDATE).is_some();
    let shown = file.display();
    let before = match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| Failures(vec![format!("{shown} is not a snapshot: {error}")]))?,
        Err(_) if updating => Value::Object(Map::new()),
        Err(error) => {
            let told = format!("{shown} cannot be read ({error}); {UPDATE}=1 writes it");
            return Err(Failures(vec![told]));
        }
    };
    let (breaking, changed) = compare(&before, &now);
    if updating && breaking.is_empty() {
        let text = format!("{now:#}\n");
        return std::fs::write(file, text)
            .map_err(|error| Failures(vec![format!("{shown} cannot be written: {error}")]));
    }
    Failures::none_or(breaking.into_iter().chain(changed).collect())
}

fn published(service: &Service) -> Value {
    let tools = service.registry().get_all().map(|tool| {
        let definition = tool.definition();
        let facts = json!({
            "version": definition.version,
            "deprecated": definition.deprecated.is_some(),
            "parameters": tool.input_schema(),
            "data": tool.data_schema(),
        });
        (definition.name.clone(), facts)
    });
    Value::Object(tools.collect())
}

/// Changes that break those who call, and all others.
fn compare(before: &Value, now: &Value) -> (Vec<String>, Vec<String>) {
    let (mut breaking, mut changed) = (Vec::new(), Vec::new());
    for (name, before) in before.as_object().into_iter().flatten() {
        let Some(now) = now.get(name) else {
            if before["deprecated"] != true {
                breaking.push(format!(
                    "{name}: it was published and is gone; deprecate it for 90 days first"
                ));
            }
            continue;
        };
        let broken = broken_calls(&before["parameters"], &now["parameters"]);
        if !broken.is_empty() && major(before) == major(now) {
            breaking.extend(broken.into_iter().map(|one| {
                format!("{name}: {one}; give the changed tool a new name, or a new major version")
            }));
        } else if before["parameters"] != now["parameters"] || before["data"] != now["data"] {
            changed.push(format!(
                "{name}: its schemas are not those that were published; {UPDATE}=1 accepts them"
            ));
        }
    }
    for name in now.as_object().into_iter().flat_map(Map::keys) {
        if before.get(name).is_none() {
            changed.push(format!(
                "{name}: it is new; {UPDATE}=1 takes it into the snapshot"
            ));
        }
    }
    (breaking, changed)
}

/// Calls that were right and are no longer.
fn broken_calls(before: &Value, now: &Value) -> Vec<String> {
    let required = |schema: &Value| schema["required"].as_array().cloned().unwrap_or_default();
    let already = required(before);
    let mut broken = Vec::new();
    let mut retyped = Vec::new();
    for (name, known) in before["properties"].as_object().into_iter().flatten() {
        match now["properties"].get(name) {
            None => broken.push(format!("the parameter '{name}' is gone")),
            Some(offered) if offered["type"] != known["type"] => {
                retyped.push(format!("the parameter '{name}' has another type"));
            }
            Some(_) => {}
        }
    }
    for name in required(now).iter().filter(|name| !already.contains(name)) {
        let name = name.as_str().unwrap_or_default();
        broken.push(format!("the parameter '{name}' has become required"));
    }
    broken.extend(retyped);
    broken
}

fn major(facts: &Value) -> &str {
    let version = facts["version"].as_str().unwrap_or_default();
    version.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(version: &str, properties: &Value, required: &Value) -> Value {
        json!({ "get-card": {
            "version": version,
            "deprecated": false,
            "parameters": { "properties": properties, "required": required },
            "data": {},
        } })
    }

    #[test]
    fn what_breaks_callers_is_told_apart_from_what_does_not() {
        let text = json!({ "type": "string" });
        let before = tool("1.0.0", &json!({ "id": text }), &json!(["id"]));
        let more = json!({ "id": text, "more": text });
        for (now, breaking, changed) in [
            (before.clone(), 0, 0),
            (tool("1.0.0", &more, &json!(["id"])), 0, 1),
            (tool("1.0.0", &more, &json!(["id", "more"])), 1, 0),
            (tool("2.0.0", &more, &json!(["id", "more"])), 0, 1),
            (tool("1.0.0", &json!({}), &json!([])), 1, 0),
            (
                tool(
                    "1.0.0",
                    &json!({ "id": { "type": "integer" } }),
                    &json!(["id"]),
                ),
                1,
                0,
            ),
            (json!({}), 1, 0),
        ] {
            let found = compare(&before, &now);
            assert_eq!(
                (found.0.len(), found.1.len()),
                (breaking, changed),
                "{now}: {found:?}"
            );
        }
    }

    #[test]
    fn a_deprecated_tool_may_go() {
        let mut before = tool("1.0.0", &json!({}), &json!([]));
        before["get-card"]["deprecated"] = json!(true);
        assert_eq!(compare(&before, &json!({})), (vec![], vec![]));
    }
}
