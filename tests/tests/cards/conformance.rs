//! The official conformance suite against the program over HTTP.
//!
//! The suite runs everything that a revision requires, and most of that needs tools, prompts and resources of the suite's
//! own fixture server, by name. The tables below say which scenarios apply to a server that has other tools and nothing but
//! tools, and which do not, and why. A scenario in neither table fails the test, so that a new version of the suite cannot
//! bring one in unseen. Whatever a scenario asks for, every message it got has to fit the schema of the protocol.

use std::collections::BTreeMap;
use std::path::Path;

use mcpproxy_tests::decode;
use mcpproxy_tests::peers::Peers;
use serde_json::Value;

use crate::program::Cards;

/// A scenario, and how many of its checks have to hold.
type Applies = (&'static str, usize);

/// Why checks of a scenario cannot hold here: a text that the suite gives with each of them.
type Apart = (&'static str, &'static str);

/// Before 2026-07-28. `server-session-lifecycle` skips two checks of its three, because a server may refuse to end a session
/// on request; `server-sse-polling` has nothing to say of a server that answers with JSON and opens no stream.
const APPLY_2025: &[Applies] = &[
    ("server-initialize", 3),
    ("ping", 2),
    ("tools-list", 3),
    ("server-sse-multiple-streams", 1),
    ("dns-rebinding-protection", 2),
    ("server-session-lifecycle", 1),
    ("server-sse-polling", 0),
];

const APART_2025: &[Apart] = &[
    ("tools-call-simple-text", NO_TOOL),
    ("tools-call-image", NO_TOOL),
    ("tools-call-audio", NO_TOOL),
    ("tools-call-embedded-resource", NO_TOOL),
    ("tools-call-mixed-content", NO_TOOL),
    ("tools-call-error", NO_TOOL),
    ("tools-call-with-progress", NO_TOOL),
    ("tools-call-sampling", NO_TOOL),
    ("tools-call-elicitation", NO_TOOL),
    ("elicitation-sep1034-defaults", NO_TOOL),
    ("elicitation-sep1330-enums", NO_TOOL),
    ("json-schema-2020-12", NO_SCHEMA_TOOL),
    ("tools-call-with-logging", "logging/setLevel"),
    ("logging-set-level", "logging/setLevel"),
    ("completion-complete", "completion/complete"),
    ("prompts-list", "prompts/list"),
    ("prompts-get-simple", "prompts/get"),
    ("prompts-get-with-args", "prompts/get"),
    ("prompts-get-embedded-resource", "prompts/get"),
    ("prompts-get-with-image", "prompts/get"),
    ("resources-list", "resources/list"),
    ("resources-read-text", "resources/read"),
    ("resources-read-binary", "resources/read"),
    ("resources-templates-read", "resources/read"),
    ("resources-subscribe", "resources/subscribe"),
    ("resources-unsubscribe", "resources/subscribe"),
];

/// `server-stateless` is discovery, what every request has to say of itself, and refusals. Four of its checks need tools of
/// the suite, and five are about subscriptions, which a server without changes does not offer. `caching` asks for prompts
/// and resources as well. The last five ask for things of the suite and are content with an error; three of them warn that
/// they had hoped for another one, because they take those things to be there.
const APPLY_2026: &[Applies] = &[
    ("server-stateless", 21),
    ("tools-list", 4),
    ("caching", 4),
    ("http-header-validation", 14),
    ("server-sse-multiple-streams", 1),
    ("dns-rebinding-protection", 2),
    ("sep-2164-resource-not-found", 2),
    ("input-required-result-unsupported-methods", 2),
    ("input-required-result-validate-input", 3),
    ("input-required-result-missing-input-response", 1),
    ("input-required-result-ignore-extra-params", 1),
];

const APART_2026: &[Apart] = &[
    (
        "server-stateless",
        "Not testable: server does not list the diagnostic tool",
    ),
    ("caching", "returned JSON-RPC error -32601"),
    ("tools-call-simple-text", NO_TOOL),
    ("tools-call-image", NO_TOOL),
    ("tools-call-audio", NO_TOOL),
    ("tools-call-embedded-resource", NO_TOOL),
    ("tools-call-mixed-content", NO_TOOL),
    ("tools-call-error", NO_TOOL),
    ("tools-call-with-progress", NO_TOOL),
    ("json-schema-2020-12", NO_SCHEMA_TOOL),
    (
        "http-custom-header-server-validation",
        "Not testable: server exposes no tool",
    ),
    ("input-required-result-basic-elicitation", NO_TOOL),
    ("input-required-result-basic-sampling", NO_TOOL),
    ("input-required-result-basic-list-roots", NO_TOOL),
    ("input-required-result-request-state", NO_TOOL),
    ("input-required-result-multiple-input-requests", NO_TOOL),
    (
        "input-required-result-multi-round",
        "Expected InputRequiredResult",
    ),
    ("input-required-result-non-tool-request", "prompts/get"),
    ("input-required-result-result-type", NO_TOOL),
    (
        "input-required-result-tampered-state",
        "Prerequisite failed",
    ),
    ("input-required-result-capability-check", NO_TOOL),
    ("completion-complete", "completion/complete"),
    ("prompts-list", "prompts/list"),
    ("prompts-get-simple", "prompts/get"),
    ("prompts-get-with-args", "prompts/get"),
    ("prompts-get-embedded-resource", "prompts/get"),
    ("prompts-get-with-image", "prompts/get"),
    ("resources-list", "resources/list"),
    ("resources-read-text", "resources/read"),
    ("resources-read-binary", "resources/read"),
    ("resources-templates-read", "resources/read"),
];

/// Tasks are an extension that this server does not declare, and their scenarios need tools of the suite.
const TASKS: &str = "tasks-";

/// What the server says of a tool that only the suite's fixture has.
const NO_TOOL: &str = "There is no tool '";
/// What the suite says of it.
const NO_SCHEMA_TOOL: &str = "Tool 'json_schema_2020_12_tool' not found";

#[tokio::test]
async fn what_applies_of_revision_2025_11_25_holds() {
    check("2025-11-25", APPLY_2025, APART_2025).await;
}

#[tokio::test]
async fn what_applies_of_revision_2026_07_28_holds() {
    check("2026-07-28", APPLY_2026, APART_2026).await;
}

async fn check(revision: &str, apply: &[Applies], apart: &[Apart]) {
    let Some(peers) = Peers::find() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let cards = Cards::start().await;
    let results = folder.path().join("results");
    let ran = peers
        .conform(folder.path(), &cards.endpoint, revision, &results)
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
