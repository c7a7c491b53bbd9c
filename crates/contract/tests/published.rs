//! The schemas that are published as files are those of the code.

use std::path::Path;

use mcpproxy_contract::{PublishedDefinition, agent_hints};
use serde_json::Value;

/// Compares a file with what the code says, or writes it anew.
fn check(name: &str, schema: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let file = folder.join(name);
    let text = format!("{schema:#}\n");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&file, &text).expect("the file can be written");
    }
    let published = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        published == text,
        "docs/reference/{name} is not what the code says, renew it with: \
         UPDATE_GENERATED=1 cargo test -p mcpproxy-contract --test published"
    );
}

#[test]
fn the_schema_of_hints_is_published() {
    check("agent-hints.schema.json", &agent_hints::schema());
}

#[test]
fn the_schema_of_definitions_is_published() {
    let schema = schemars::schema_for!(PublishedDefinition);
    check("tool-definition.schema.json", schema.as_value());
}
