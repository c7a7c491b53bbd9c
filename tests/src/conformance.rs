//! The official conformance suite, against a server that has other things than the suite's own fixture.
//!
//! The suite runs everything that a revision requires, and most of that needs tools, prompts and resources of that
//! fixture, by name. A test says in two tables which scenarios apply to its server, and which do not, and why. A scenario
//! in neither table fails it, so that a new version of the suite cannot bring one in unseen. Whatever a scenario asks for,
//! every message it got has to fit the schema of the protocol.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::decode;
use crate::peers::Peers;

/// A scenario, and how many of its checks have to hold.
pub type Applies = (&'static str, usize);

/// Why checks of a scenario cannot hold: a text that the suite gives with each of them.
pub type Apart = (&'static str, &'static str);

/// Tasks are an extension that our servers do not declare, and their scenarios need tools of the suite.
const TASKS: &str = "tasks-";

/// Runs what a revision requires against a server, and compares with the tables.
pub async fn check(
    peers: &Peers,
    endpoint: &str,
    revision: &str,
    apply: &[Applies],
    apart: &[Apart],
) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let results = folder.path().join("results");
    let ran = peers
        .conform(folder.path(), endpoint, revision, &results)
        .await;
    assert!(results.is_dir(), "the suite left nothing: {ran:?}");
    let mut scenarios = read(&results);
    scenarios.retain(|name, _| !name.starts_with(TASKS));
    for (name, checks) in &scenarios {
        let reason = apart
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, reason)| *reason);
        let expected = apply
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, count)| *count);
        assert!(
            reason.is_some() || expected.is_some(),
            "'{name}' is in no table"
        );
        let held = checks
            .iter()
            .filter(|check| check["status"] == "SUCCESS")
            .count();
        assert!(
            held >= expected.unwrap_or_default(),
            "{name}: {held} hold: {checks:?}"
        );
        for failed in checks.iter().filter(|check| check["status"] == "FAILURE") {
            let told = failed["errorMessage"].as_str().unwrap_or_default();
            assert!(
                reason.is_some_and(|reason| told.contains(reason)),
                "{name}: {failed}"
            );
            assert_ne!(failed["id"], "wire-schema-valid", "{name}: {failed}");
        }
    }
    for name in apply
        .iter()
        .map(|(name, _)| name)
        .chain(apart.iter().map(|(name, _)| name))
    {
        assert!(
            scenarios.contains_key(*name),
            "'{name}' did not run: {ran:?}"
        );
    }
}

/// The checks of each scenario. A folder is named after the side, the scenario and the moment, and the moment has this
/// length.
fn read(results: &Path) -> BTreeMap<String, Vec<Value>> {
    const MOMENT: usize = "-2026-11-16T04-15-13-920Z".len();
    let folders = std::fs::read_dir(results).expect("the results can be read");
    folders
        .map(|folder| {
            let folder = folder.expect("the results can be read").path();
            let name = folder
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a folder has a name");
            let scenario = name
                .strip_prefix("server-")
                .expect("the suite tests a server");
            let scenario = &scenario[..scenario.len() - MOMENT];
            let text =
                std::fs::read_to_string(folder.join("checks.json")).expect("a scenario has checks");
            let Value::Array(checks) = decode(&text) else {
                panic!("{scenario} has no list of checks: {text}");
            };
            (scenario.to_owned(), checks)
        })
        .collect()
}
