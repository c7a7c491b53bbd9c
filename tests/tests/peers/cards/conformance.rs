//! The official conformance suite against the program over HTTP: which scenarios apply to a server that has other tools
//! than the suite's fixture and nothing but tools, and which do not, and why.

use mcpproxy_tests::conformance::{self, Apart, Applies};
use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::trials;

use crate::cards::program::Cards;

trials![
    what_applies_of_revision_2025_11_25_holds,
    what_applies_of_revision_2026_07_28_holds,
];

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

/// What the server says of a tool that only the suite's fixture has.
const NO_TOOL: &str = "There is no tool '";
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
    let cards = Cards::start().await;
    conformance::check(&peers, &cards.endpoint, revision, apply, apart).await;
}
