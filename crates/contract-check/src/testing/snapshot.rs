//! Has anything changed that agents rely on?

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::Failures;
use crate::published;
use mcpproxy_contract::Service;

/// Set to anything, it writes the snapshot anew instead of comparing, unless that would break
/// those who call.
const UPDATE: &str = "UPDATE_PUBLISHED";

/// Compares names and schemas with those that were published, kept in a file. A name that is gone before its removal
/// date, a change that breaks callers and a major version under the old name are always told; any other change is told
/// until the file is written anew with `UPDATE_PUBLISHED=1`.
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
    let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
    let (breaking, changed) = compare(&before, &now, today);
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
            "deprecated": definition.deprecated,
            "parameters": tool.input_schema(),
            "data": tool.data_schema(),
        });
        (definition.name.clone(), facts)
    });
    Value::Object(tools.collect())
}

/// Changes that break those who call, and all others.
fn compare(before: &Value, now: &Value, today: Date) -> (Vec<String>, Vec<String>) {
    let tools = |snapshot: &Value| published::published(snapshot).unwrap_or_default();
    let broken = published::broken(&tools(before), &tools(now), today);
    let breaking = broken
        .iter()
        .map(|one| format!("{}: {}", one.tool, one.message));
    let mut changed = Vec::new();
    for (name, now) in now.as_object().into_iter().flatten() {
        let Some(before) = before.get(name) else {
            changed.push(format!(
                "{name}: it is new; {UPDATE}=1 takes it into the snapshot"
            ));
            continue;
        };
        let is_broken = broken.iter().any(|one| one.tool == *name);
        let has_changed = |key: &str| before[key] != now[key];
        if !is_broken && (has_changed("parameters") || has_changed("data")) {
            changed.push(format!(
                "{name}: its schemas are not those that were published; {UPDATE}=1 accepts them"
            ));
        }
    }
    (breaking.collect(), changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(version: &str, properties: &Value, required: &Value) -> Value {
        json!({ "get-card": {
            "version": version,
            "deprecated": null,
            "parameters": { "properties": properties, "required": required },
            "data": {},
        } })
    }

    fn compared(before: &Value, now: &Value) -> (usize, usize) {
        let today = "2026-06-01".parse().unwrap();
        let (breaking, changed) = compare(before, now, today);
        (breaking.len(), changed.len())
    }

    #[test]
    fn what_breaks_callers_is_told_apart_from_what_does_not() {
        let text = json!({ "type": "string" });
        let before = tool("1.0.0", &json!({ "id": text }), &json!(["id"]));
        let more = json!({ "id": text, "more": text });
        let mut other_data = before.clone();
        other_data["get-card"]["data"] = json!({ "title": "Card" });
        for (now, expected) in [
            (before.clone(), (0, 0)),
            (other_data, (0, 1)),
            (tool("1.0.0", &more, &json!(["id"])), (0, 1)),
            (tool("1.0.0", &more, &json!(["id", "more"])), (1, 0)),
            (tool("1.0.0", &json!({}), &json!([])), (1, 0)),
            (
                tool(
                    "1.0.0",
                    &json!({ "id": { "type": "integer" } }),
                    &json!(["id"]),
                ),
                (1, 0),
            ),
            (json!({}), (1, 0)),
        ] {
            assert_eq!(compared(&before, &now), expected, "{now}");
        }
    }

    #[test]
    fn brk_the_snapshot_accepted_a_major_version_under_the_old_name() {
        let before = tool("1.0.0", &json!({}), &json!([]));
        assert_eq!(
            compared(&before, &tool("2.0.0", &json!({}), &json!([]))),
            (1, 0)
        );
        let required = tool("2.0.0", &json!({ "id": {} }), &json!(["id"]));
        assert_eq!(compared(&before, &required), (2, 0));
    }

    #[test]
    fn a_deprecated_tool_may_go_on_its_removal_date() {
        let mut before = tool("1.0.0", &json!({}), &json!([]));
        before["get-card"]["deprecated"] = json!({ "removalDate": "2026-06-01" });
        assert_eq!(compared(&before, &json!({})), (0, 0));
        before["get-card"]["deprecated"] = json!({ "removalDate": "2026-06-02" });
        assert_eq!(compared(&before, &json!({})), (1, 0));
    }
}
