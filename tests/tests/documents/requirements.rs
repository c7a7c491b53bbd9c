//! `docs/requirements.md` is complete, and the tests it names exist.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Requirements that are measured instead of tested.
const MEASURED: [&str; 2] = ["SC-007", "TC-41"];

#[test]
fn every_requirement_is_listed_once() {
    let mut expected: Vec<String> = Vec::new();
    expected.extend((1..=42).map(|number| format!("FR-{number:03}")));
    expected.extend((1..=8).map(|number| format!("SC-{number:03}")));
    expected.extend((1..=6).map(|number| format!("EC-{number}")));
    expected.extend((1..=11).map(|number| format!("VM-{number:02}")));
    expected.extend((1..=36).map(|number| format!("AL-{number:02}")));
    expected.extend((1..=29).map(|number| format!("CL-{number:02}")));
    expected.extend((1..=8).map(|number| format!("MN-{number:02}")));
    expected.extend((1..=8).map(|number| format!("MA-{number:02}")));
    expected.extend((1..=42).map(|number| format!("TC-{number:02}")));
    expected.extend((1..=18).map(|number| format!("RV-{number:02}")));
    let rows = rows();
    for id in &expected {
        assert!(
            rows.contains_key(id),
            "{id} is missing in docs/requirements.md"
        );
    }
}

#[test]
fn every_requirement_names_a_test_or_a_measurement() {
    for (id, row) in rows() {
        let has_test = !references(&row).is_empty();
        if MEASURED.contains(&id.as_str()) {
            assert!(row.contains("bench/"), "{id}: {row}");
        } else {
            assert!(has_test, "{id} names no test: {row}");
        }
    }
}

#[test]
fn every_named_test_and_file_exists() {
    for (id, row) in rows() {
        for (file, name) in references(&row) {
            let text = std::fs::read_to_string(root().join(&file))
                .unwrap_or_else(|_| panic!("{id}: {file} does not exist"));
            assert!(is_test(&text, &name), "{id}: {file} has no test {name}");
        }
        for file in row.split('`').filter(|part| part.starts_with("bench/")) {
            assert!(root().join(file).is_file(), "{id}: {file} does not exist");
        }
    }
}

/// The rows of the page's tables by their id.
fn rows() -> BTreeMap<String, String> {
    let page = std::fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let id = line[2..].split(' ').next().unwrap_or_default().to_owned();
        if id.contains('-') && id.starts_with(|letter: char| letter.is_ascii_uppercase()) {
            let before = rows.insert(id.clone(), line.to_owned());
            assert!(before.is_none(), "{id} is listed twice");
        }
    }
    rows
}

/// The `file::test` references of a row.
fn references(row: &str) -> Vec<(String, String)> {
    row.split('`')
        .filter_map(|part| part.split_once("::"))
        .map(|(file, name)| (file.to_owned(), name.to_owned()))
        .collect()
}

/// Whether a source has a function of this name that is marked as a test or listed among the trials.
fn is_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_listed = text
        .split("trials![")
        .skip(1)
        .filter_map(|list| list.split(']').next())
        .flat_map(|list| list.split(','))
        .any(|listed| listed.trim() == name);
    lines.iter().enumerate().any(|(number, line)| {
        let is_the_function = line
            .trim_start_matches("async ")
            .starts_with(&format!("fn {name}("));
        is_the_function
            && (is_listed
                || lines[..number]
                    .iter()
                    .rev()
                    .take_while(|above| above.starts_with('#') || above.starts_with("//"))
                    .any(|above| above.starts_with("#[test") || above.starts_with("#[tokio::test")))
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
