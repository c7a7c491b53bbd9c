//! The official conformance suite against `/mcp`, in both protocols.
//!
//! A server with all that the suite asks for stands behind it. Its resources are offered as they are. But the endpoint has
//! five tools of its own, and gives prompts the name of their server, so what needs tools and prompts by name cannot
//! apply here: the tables say which scenarios those are.

use mcpproxy_tests::conformance::{self, Apart, Applies, Server};
use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Product, trials};
use serde_json::json;

use crate::PROGRAMS;

trials![
    what_applies_of_revision_2025_11_25_holds,
    what_applies_of_revision_2026_07_28_holds,
];

const SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");

/// `server-sse-polling` has nothing to say of a server that answers with JSON.
const APPLY_2025: &[Applies] = &[
    ("server-initialize", 3),
    ("ping", 2),
    ("tools-list", 3),
    ("server-sse-multiple-streams", 1),
    ("dns-rebinding-protection", 2),
    ("server-session-lifecycle", 3),
    ("server-sse-polling", 0),
    ("logging-set-level", 2),
    ("prompts-list", 2),
    ("resources-list", 2),
    ("resources-read-text", 2),
    ("resources-read-binary", 2),
    ("resources-templates-read", 2),
    ("resources-subscribe", 2),
    ("resources-unsubscribe", 2),
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
    ("tools-call-with-logging", NO_TOOL),
    ("completion-complete", NO_PROMPT),
    ("prompts-get-simple", NO_PROMPT),
    ("prompts-get-with-args", NO_PROMPT),
    ("prompts-get-embedded-resource", NO_PROMPT),
    ("prompts-get-with-image", NO_PROMPT),
];

/// Four checks of `server-stateless` need tools of the suite, and two a list that changes. Those of `input-required-result`
/// ask for tools of the suite and are content with an error; three of them warn that they had hoped for another one.
const APPLY_2026: &[Applies] = &[
    ("server-stateless", 24),
    ("tools-list", 4),
    ("caching", 8),
    ("http-header-validation", 14),
    ("server-sse-multiple-streams", 1),
    ("dns-rebinding-protection", 2),
    ("sep-2164-resource-not-found", 4),
    ("input-required-result-unsupported-methods", 2),
    ("input-required-result-validate-input", 3),
    ("input-required-result-missing-input-response", 1),
    ("input-required-result-ignore-extra-params", 1),
    ("prompts-list", 2),
    ("resources-list", 2),
    ("resources-read-text", 2),
    ("resources-read-binary", 2),
    ("resources-templates-read", 2),
];

const APART_2026: &[Apart] = &[
    (
        "server-stateless",
        "Not testable: server does not list the diagnostic tool",
    ),
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
    ("input-required-result-non-tool-request", NO_PROMPT),
    ("input-required-result-result-type", NO_TOOL),
    (
        "input-required-result-tampered-state",
        "Prerequisite failed",
    ),
    ("input-required-result-capability-check", NO_TOOL),
    ("completion-complete", NO_PROMPT),
    ("prompts-get-simple", NO_PROMPT),
    ("prompts-get-with-args", NO_PROMPT),
    ("prompts-get-embedded-resource", NO_PROMPT),
    ("prompts-get-with-image", NO_PROMPT),
];

/// What the gateway says of a tool that is not on the menu.
const NO_TOOL: &str = "not found. This server offers retrieve_tools";
/// What it says of a prompt without the name of its server.
const NO_PROMPT: &str = "not found";
/// What the suite says of it.
const NO_SCHEMA_TOOL: &str = "Tool 'json_schema_2020_12_tool' not found";

async fn what_applies_of_revision_2025_11_25_holds() {
    check("2025-11-25", APPLY_2025, APART_2025).await;
}

async fn what_applies_of_revision_2026_07_28_holds() {
    check("2026-07-28", APPLY_2026, APART_2026).await;
}

async fn check(revision: &str, apply: &[Applies], apart: &[Apart]) {
    let peers = Peers::find();
    let server = Server::start(SERVER, "both").await;
    let configuration = json!({ "mcpServers": { "suite": { "url": server.endpoint() } } });
    let product = Product::start(PROGRAMS, &configuration).await;
    conformance::check(&peers, &product.endpoint(), revision, apply, apart).await;
}
