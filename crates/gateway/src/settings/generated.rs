//! The JSON Schema and the reference page, made from the list of keys.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::environment;
use super::keys::Settings;
use super::rules::{Key, KeyRule, Section};

/// The first part of the reference page.
const INTRODUCTION: &str = include_str!("introduction.md");

/// The JSON Schema of the configuration file.
pub fn schema() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcpproxy configuration",
    });
    let keys = KeyRule::Nested(&Settings::SECTION).schema();
    for (key, value) in keys.as_object().into_iter().flatten() {
        schema[key] = value.clone();
    }
    schema
}

/// The reference of the configuration file, in Markdown.
pub fn reference_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## Environment variables\n\n| variable | meaning |\n|---|---|\n");
    for (name, about) in environment::DOCUMENTED {
        write_row(&mut page, &[&format!("`{name}`"), about]);
    }
    page.push_str("\n## Keys\n\n");
    page.push_str("A default of “none” means that nothing is assumed when the key is left out.\n");
    write_section(&mut page, "", &Settings::SECTION);
    page
}

/// Writes the table of a section, then those of the sections inside it.
fn write_section(page: &mut String, path: &str, section: &Section) {
    let title = if path.is_empty() {
        "The top level".to_owned()
    } else {
        format!("`{path}`")
    };
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "\n### {title}\n\n{}\n\n| key | allowed | default | meaning |\n|---|---|---|---|\n",
        section.about
    );
    for key in section.keys {
        let name = format!("`{}`", key.name);
        let cells = [&name, &key.rule.allowed(), &default_of(key), key.about];
        write_row(page, &cells);
    }
    for key in section.keys {
        let (inside, leads_to) = match &key.rule {
            KeyRule::Nested(inside) => (inside, ""),
            KeyRule::Servers(inside) | KeyRule::Entries(_, KeyRule::Nested(inside)) => {
                (inside, ".<name>")
            }
            _ => continue,
        };
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}{leads_to}", key.name);
        write_section(page, &path, inside);
    }
}

fn default_of(key: &Key) -> String {
    match (key.default, &key.rule) {
        (None, _) => "must be given".to_owned(),
        (Some("null"), _) => "none".to_owned(),
        (Some(_), KeyRule::Nested(_)) => "see below".to_owned(),
        (Some(default), _) => format!("`{default}`"),
    }
}

fn write_row(page: &mut String, cells: &[&str]) {
    let escaped: Vec<String> = cells
        .iter()
        .map(|cell| cell.replace('|', "\\|").replace('<', "&lt;"))
        .collect();
    let _ = writeln!(page, "| {} |", escaped.join(" | "));
}
