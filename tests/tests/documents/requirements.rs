//! `docs/requirements.md` is complete, and the tests it names exist.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Requirements that are measured instead of tested.
const MEASURED: [&str; 2] = ["SC-007", "TC-41"];

/// Lines of the tool contract that have a test named after them, each with how the test begins or goes on.
const BY_NAME: [(&str, &str); 26] = [
    ("DEF-immutable", "def_immutable_"),
    ("PAR-1", "par_1_"),
    ("RES-conf", "res_conf_"),
    ("RES-action", "res_action_"),
    ("RES-trace", "res_trace_"),
    ("RES-corr", "res_corr_"),
    ("RES-gw", "res_gw_"),
    ("userId", "ctx_user_id_"),
    ("metadata", "ctx_metadata_"),
    ("PRE-3", "pre_3_"),
    ("POST-roi", "post_roi_"),
    ("ERR-2", "err_2_"),
    ("ERR-3", "err_3_"),
    ("OBS-3", "obs_3_"),
    ("OBS-4", "obs_4_"),
    ("NEVER (agentHints)", "never_"),
    ("NEVER (side effects)", "never_have_side_effects_"),
    ("CL-14", "cl_14_"),
    ("CL-27", "cl_27_"),
    ("VER-2", "ver_2_"),
    ("DEP-3", "dep_3_"),
    ("DEP-5", "dep_5_"),
    ("DEP-6", "dep_6_"),
    ("BRK", "brk_"),
    ("EX-3", "ex_3_"),
    ("EX-4", "ex_4_"),
];

#[test]
fn every_line_of_the_contract_by_its_name_has_a_test_named_after_it() {
    let rows = rows();
    for (id, named) in BY_NAME {
        let row = rows.get(id);
        let row = row.unwrap_or_else(|| panic!("{id} is missing in docs/requirements.md"));
        let mut tests = references(row).into_iter();
        let is_named = tests.any(|(_, test)| test.contains(named));
        assert!(is_named, "{id} has no test named {named}…: {row}");
    }
}

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
    expected.extend((1..=4).map(|number| format!("AR-{number:02}")));
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

/// The rows of the page's tables by their ids; a row may have several, such as `DEF-immutable, BRK`.
fn rows() -> BTreeMap<String, String> {
    let page = std::fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let ids = line[2..].split(" |").next().unwrap_or_default();
        for id in ids.split(", ").filter(|id| *id != "id") {
            let before = rows.insert(id.to_owned(), line.to_owned());
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
