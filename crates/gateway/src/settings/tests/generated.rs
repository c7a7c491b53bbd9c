//! The schema and the reference page say what the program does.

use std::path::Path;
use std::{env, fs};

use serde_json::{Value, json};

use super::Scene;
use super::accepted::EVERYTHING;
use crate::settings::{effective, reference_page, schema};

/// Compares a committed file with what the program generates now.
#[track_caller]
fn check_committed(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(name);
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, generated).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "docs/reference/{name} differs from the program, run: \
         UPDATE_GENERATED=1 cargo test -p mcpproxy-gateway settings"
    );
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    check_committed("mcp_config.schema.json", &text);
}

#[test]
fn the_committed_page_is_the_generated_one() {
    check_committed("configuration.md", &reference_page());
}

#[test]
fn the_schema_admits_what_the_program_admits() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let everything = effective(&Scene::with(EVERYTHING).settings());
    let array = json!({ "mcpServers": [{ "name": "a", "command": "x" }] });
    for file in [json!({}), everything, array] {
        let errors: Vec<String> = validator
            .iter_errors(&file)
            .map(|e| e.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[test]
fn the_schema_and_the_program_refuse_the_same() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for file in [
        json!([]),
        json!({ "listn": "127.0.0.1:1" }),
        json!({ "api_key": 1 }),
        json!({ "discovery": { "limit": 51 } }),
        json!({ "intent_declaration": { "mode": "both" } }),
        json!({ "mcpServers": { "a": {} } }),
        json!({ "mcpServers": { "a": { "command": "x", "url": "http://h/" } } }),
        json!({ "mcpServers": [{ "command": "x" }] }),
        json!({ "mcpServers": { "a": { "command": "x", "tools": { "t": { "rate_limit": {} } } } } }),
    ] {
        assert!(!validator.is_valid(&file), "the schema admits {file}");
        assert!(
            is_refused(&Scene::with(&file.to_string())),
            "the program admits {file}"
        );
    }
}

/// Whether a file stops the start, or its one server.
fn is_refused(scene: &Scene) -> bool {
    scene
        .load()
        .map_or(true, |settings| !settings.servers[0].problems.is_empty())
}

#[test]
fn the_defaults_of_the_schema_are_the_defaults_of_the_program() {
    let (schema, holds) = (schema(), effective(&Scene::empty().settings()));
    let mut compared = 0;
    compare_defaults(&schema, &holds, &mut compared);
    assert_eq!(compared, 19, "every global key that has a default");
}

fn compare_defaults(schema: &Value, holds: &Value, compared: &mut usize) {
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    for (key, property) in properties {
        if let Some(default) = property.get("default") {
            assert_eq!(default, &holds[key], "{key}");
            *compared += 1;
        }
        compare_defaults(property, &holds[key], compared);
    }
}

#[test]
fn every_key_is_described() {
    let page = reference_page();
    let mut undescribed = Vec::new();
    collect_undescribed(&schema(), &page, &mut undescribed);
    assert!(undescribed.is_empty(), "{undescribed:?}");
}

fn collect_undescribed(schema: &Value, page: &str, undescribed: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (key, property) in properties {
            let has_text = property["description"]
                .as_str()
                .is_some_and(|text| text.len() > 10);
            if !has_text || !page.contains(&format!("| `{key}` |")) {
                undescribed.push(key.clone());
            }
        }
    }
    match schema {
        Value::Object(object) => object
            .values()
            .for_each(|inner| collect_undescribed(inner, page, undescribed)),
        Value::Array(array) => array
            .iter()
            .for_each(|inner| collect_undescribed(inner, page, undescribed)),
        _ => {}
    }
}
