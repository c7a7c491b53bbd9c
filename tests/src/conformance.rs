//! The official conformance suite, against a server that has other things than the suite's own fixture, and against a
//! client.
//!
//! Of a server it tests everything that a revision requires, and most of that needs tools, prompts and resources of that
//! fixture, by name. A test says in two tables which scenarios apply to its server, and which do not, and why. A scenario
//! in neither table fails it, so that a new version of the suite cannot bring one in unseen. A client has to pass what is
//! required, unless the test says why it cannot. Whatever a scenario asks for, every message it got has to fit the schema
//! of the protocol.

mod server;
mod whole;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::decode;
use crate::peers::Peers;

pub use server::Server;
pub use whole::{WHOLE_2025, WHOLE_2026};

/// A scenario, and how many of its checks have to hold.
pub type Applies = (&'static str, usize);

/// Why checks of a scenario cannot hold: a text that the suite gives with each of them.
pub type Apart = (&'static str, &'static str);

/// A scenario that a client cannot pass, and why.
pub type Fails = (&'static str, &'static str);

/// Tasks are an extension that our servers do not declare, and their scenarios need tools of the suite.
const TASKS: &str = "tasks-";

/// The gateway has no way yet to ask for a token of a server that wants one.
const AUTHORIZATION: &str = "auth/";

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
    let mut scenarios = read(&results, "server-");
    scenarios.retain(|name, _| !name.starts_with(TASKS));
    let mut wrong = Vec::new();
    for (name, checks) in &scenarios {
        let reason = apart.iter().find(|(other, _)| other == name);
        let reason = reason.map(|(_, reason)| *reason);
        let expected = apply.iter().find(|(other, _)| other == name);
        match (expected, reason) {
            (None, None) => wrong.push(format!("'{name}' is in no table")),
            (expected, reason) => {
                let expected = expected.map_or(0, |(_, count)| *count);
                wrong.extend(wrong_with(name, checks, expected, reason));
            }
        }
    }
    let applying = apply.iter().map(|(name, _)| name);
    for name in applying.chain(apart.iter().map(|(name, _)| name)) {
        if !scenarios.contains_key(*name) {
            wrong.push(format!("'{name}' did not run: {ran:?}"));
        }
    }
    assert!(wrong.is_empty(), "{revision}:\n{}", wrong.join("\n"));
}

/// What is not as the tables say with a scenario: fewer checks hold, or one failed for another reason.
fn wrong_with(name: &str, checks: &[Value], expected: usize, reason: Option<&str>) -> Vec<String> {
    let with_status = |status: &'static str| {
        let has_it = move |check: &&Value| check["status"] == status;
        checks.iter().filter(has_it)
    };
    let mut wrong = Vec::new();
    let held = with_status("SUCCESS").count();
    if held < expected {
        let others = checks.iter().filter(|check| check["status"] != "SUCCESS");
        let others: Vec<String> = others.map(ToString::to_string).collect();
        wrong.push(format!("{name}: {held} hold of {expected}: {others:?}"));
    }
    for failed in with_status("FAILURE") {
        let told = failed["errorMessage"].as_str().unwrap_or_default();
        let is_explained = reason.is_some_and(|reason| told.contains(reason));
        if !is_explained || failed["id"] == "wire-schema-valid" {
            wrong.push(format!("{name}: {failed}"));
        }
    }
    wrong
}

/// Runs what a revision requires of clients, apart from authorization. A scenario passes if the suite says so and at
/// least one of its checks holds, since it is content with a client that does nothing. Those that cannot pass are given
/// with the reason, and one that does in spite of it fails the test.
pub async fn check_client(peers: &Peers, client: &Path, revision: &str, fails: &[Fails]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let required = peers.client_scenarios(folder.path(), revision).await;
    let required = client_scenarios(&required.stdout);
    assert!(!required.is_empty(), "{revision} requires nothing");
    for (name, _) in fails {
        assert!(
            required.iter().any(|other| other == name),
            "'{name}' is not required"
        );
    }
    let mut wrong = Vec::new();
    for scenario in &required {
        let results = folder.path().join(scenario);
        let run = peers.conform_client(folder.path(), client, (revision, scenario), &results);
        let ran = run.await;
        assert!(results.is_dir(), "the suite left nothing: {ran:?}");
        let checks = read(&results, "").remove(scenario).unwrap_or_default();
        let holds = checks.iter().any(|check| check["status"] == "SUCCESS");
        let reason = fails.iter().find(|(other, _)| other == scenario);
        match (ran.code == 0 && holds, reason) {
            (true, None) | (false, Some(_)) => {}
            (true, Some((_, reason))) => {
                wrong.push(format!("{scenario} passes, in spite of: {reason}"));
            }
            (false, None) => wrong.push(format!("{scenario} fails: {}", ran.stderr)),
        }
    }
    assert!(wrong.is_empty(), "{revision}: {}", wrong.join("\n"));
}

/// The scenarios for clients in the suite's list. After the required ones it has those that were added since, which
/// say which side they are for.
fn client_scenarios(list: &str) -> Vec<String> {
    let list = list.split_once("Client scenarios").map(|(_, list)| list);
    list.unwrap_or_default()
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .filter(|name| !name.starts_with(AUTHORIZATION) && !name.ends_with("[server]"))
        .map(|name| name.trim_end_matches(" [client]").to_owned())
        .collect()
}

/// The checks of each scenario. A folder is named after the side, the scenario and the moment. The moment has this length,
/// and the side of clients is empty.
fn read(results: &Path, side: &str) -> BTreeMap<String, Vec<Value>> {
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
                .strip_prefix(side)
                .expect("the folder is named after the side");
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
