//! The program alone, spoken to by the official SDKs, which check every result against the schema the tool published.

use std::ffi::OsStr;

use mcpproxy_tests::peers::{Peers, Sdk};
use mcpproxy_tests::{Fixture, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;
use crate::cards::lesson::lesson;
use crate::cards::program::{CARDS, Cards};

trials![
    python_sdk_2_learns_over_stdio,
    python_sdk_1_learns_over_stdio,
    typescript_sdk_2_learns_over_stdio,
    python_sdk_2_learns_over_http,
    python_sdk_1_learns_over_http,
    typescript_sdk_1_learns_over_http,
    the_sdks_refuse_a_result_that_is_not_what_its_schema_says,
];

async fn python_sdk_2_learns_over_stdio() {
    check_over_stdio(Sdk::Python2, "2026-07-28").await;
}

async fn python_sdk_1_learns_over_stdio() {
    check_over_stdio(Sdk::Python1, "2025-11-25").await;
}

async fn typescript_sdk_2_learns_over_stdio() {
    check_over_stdio(Sdk::TypeScript2, "2026-07-28").await;
}

async fn python_sdk_2_learns_over_http() {
    check_over_http(Sdk::Python2, "2026-07-28").await;
}

async fn python_sdk_1_learns_over_http() {
    check_over_http(Sdk::Python1, "2025-11-25").await;
}

async fn typescript_sdk_1_learns_over_http() {
    check_over_http(Sdk::TypeScript1, "2025-11-25").await;
}

/// Else the sessions above would show nothing about results and their schemas.
async fn the_sdks_refuse_a_result_that_is_not_what_its_schema_says() {
    let peers = Peers::find();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let tool = json!({
        "name": "get-card", "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object", "required": ["data"], "properties": { "data": { "type": "object" } } },
    });
    let result = json!({ "content": [], "structuredContent": { "data": "not an object" } });
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[tool.to_string()])
        .result("get-card", &result.to_string());
    let entry = fixture.entry();
    let server = [&entry["command"], &entry["args"][0]]
        .map(|word| OsStr::new(word.as_str().expect("a word is text")));
    let steps = json!([{ "op": "list_tools" }, { "op": "call_tool", "name": "get-card" }]);
    for sdk in [Sdk::Python1, Sdk::Python2, Sdk::TypeScript1] {
        let outcomes = peers
            .session_over_stdio(sdk, folder.path(), &server, &steps)
            .await;
        let refusal = outcomes[1]["error"]["message"].as_str();
        assert!(
            refusal.is_some_and(|told| told.to_lowercase().contains("structured")),
            "{sdk:?}: {outcomes:?}"
        );
    }
}

async fn check_over_stdio(sdk: Sdk, revision: &str) {
    let peers = Peers::find();
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let server = [OsStr::new(CARDS)];
    let outcomes = peers
        .session_over_stdio(sdk, home.path(), &server, &steps())
        .await;
    check_session(sdk, revision, &outcomes);
}

async fn check_over_http(sdk: Sdk, revision: &str) {
    let peers = Peers::find();
    let cards = Cards::start().await;
    let outcomes = peers
        .session_over_http(sdk, &cards.endpoint, &steps())
        .await;
    check_session(sdk, revision, &outcomes);
}

fn steps() -> Value {
    let calls = lesson()
        .into_iter()
        .map(|step| json!({ "op": "call_tool", "name": step.tool, "arguments": step.arguments }));
    [
        json!({ "op": "server_info" }),
        json!({ "op": "list_tools" }),
    ]
    .into_iter()
    .chain(calls)
    .collect()
}

fn check_session(sdk: Sdk, revision: &str, outcomes: &[Value]) {
    let results: Vec<&Value> = outcomes
        .iter()
        .map(|outcome| {
            let result = outcome.get("ok");
            result.unwrap_or_else(|| panic!("{sdk:?} did not take an answer: {outcome}"))
        })
        .collect();
    assert_eq!(results[0]["serverInfo"]["name"], "cards", "{sdk:?}");
    assert_eq!(
        results[0]["protocolVersion"], revision,
        "{sdk:?}: {}",
        results[0]
    );
    check_tools(sdk, &results[1]["tools"]);
    for (step, result) in lesson().iter().zip(&results[2..]) {
        step.check(&format!("{sdk:?}"), result);
    }
}

/// The tools as an SDK reads them: with their definition, what they do, and what they answer.
fn check_tools(sdk: Sdk, tools: &Value) {
    let tools = tools.as_array().expect("tools are listed");
    assert!(tools.len() >= 10, "{sdk:?}: {}", tools.len());
    for tool in tools {
        let definition = &tool["_meta"]["dev.mcpproxy/definition"];
        assert_eq!(definition["name"], tool["name"], "{sdk:?}: {tool}");
        assert!(definition["category"].is_string(), "{sdk:?}: {tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{sdk:?}: {tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{sdk:?}: {tool}");
    }
    for (name, read_only, destructive) in [
        ("get-card", true, false),
        ("generate-quiz", true, false),
        ("create-card", false, false),
        ("delete-card", false, true),
    ] {
        let tool = tools
            .iter()
            .find(|tool| tool["name"] == name)
            .expect("the tool is listed");
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], read_only, "{sdk:?}: {tool}");
        assert_eq!(
            hints["destructiveHint"] == true,
            destructive,
            "{sdk:?}: {tool}"
        );
    }
}
