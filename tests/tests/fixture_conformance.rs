//! The official conformance suite against our own fixture, with no gateway between: where this fails, a failure through
//! the gateway says nothing of the gateway.
//!
//! Tasks are an extension that the fixture does not declare. All the rest applies, in both protocols.

use mcpproxy_tests::conformance::{self, Applies, Server};
use mcpproxy_tests::peers::Peers;

const PROGRAM: &str = env!("CARGO_BIN_EXE_conformance-server");

const APPLY_2025: &[Applies] = &[
    ("server-initialize", 3),
    ("logging-set-level", 2),
    ("ping", 2),
    ("completion-complete", 2),
    ("tools-list", 3),
    ("tools-call-simple-text", 2),
    ("tools-call-image", 2),
    ("tools-call-audio", 2),
    ("tools-call-embedded-resource", 2),
    ("tools-call-mixed-content", 2),
    ("tools-call-with-logging", 2),
    ("tools-call-error", 2),
    ("tools-call-with-progress", 2),
    ("tools-call-sampling", 2),
    ("tools-call-elicitation", 2),
    ("elicitation-sep1034-defaults", 6),
    ("server-sse-multiple-streams", 2),
    ("elicitation-sep1330-enums", 6),
    ("resources-list", 2),
    ("resources-read-text", 2),
    ("resources-read-binary", 2),
    ("resources-templates-read", 2),
    ("resources-subscribe", 2),
    ("resources-unsubscribe", 2),
    ("prompts-list", 2),
    ("prompts-get-simple", 2),
    ("prompts-get-with-args", 2),
    ("prompts-get-embedded-resource", 2),
    ("prompts-get-with-image", 2),
    ("dns-rebinding-protection", 2),
    ("server-session-lifecycle", 3),
    ("json-schema-2020-12", 8),
    ("server-sse-polling", 3),
];

const APPLY_2026: &[Applies] = &[
    ("server-stateless", 30),
    ("completion-complete", 2),
    ("tools-list", 4),
    ("tools-call-simple-text", 2),
    ("tools-call-image", 2),
    ("tools-call-audio", 2),
    ("tools-call-embedded-resource", 2),
    ("tools-call-mixed-content", 2),
    ("tools-call-error", 2),
    ("tools-call-with-progress", 2),
    ("server-sse-multiple-streams", 2),
    ("resources-list", 2),
    ("resources-read-text", 2),
    ("resources-read-binary", 2),
    ("resources-templates-read", 2),
    ("sep-2164-resource-not-found", 4),
    ("prompts-list", 2),
    ("prompts-get-simple", 2),
    ("prompts-get-with-args", 2),
    ("prompts-get-embedded-resource", 2),
    ("prompts-get-with-image", 2),
    ("dns-rebinding-protection", 2),
    ("caching", 8),
    ("input-required-result-basic-elicitation", 3),
    ("input-required-result-basic-sampling", 3),
    ("input-required-result-basic-list-roots", 3),
    ("input-required-result-request-state", 3),
    ("input-required-result-multiple-input-requests", 3),
    ("input-required-result-multi-round", 4),
    ("input-required-result-missing-input-response", 2),
    ("input-required-result-non-tool-request", 3),
    ("input-required-result-result-type", 2),
    ("input-required-result-unsupported-methods", 2),
    ("input-required-result-tampered-state", 2),
    ("input-required-result-capability-check", 2),
    ("input-required-result-ignore-extra-params", 2),
    ("input-required-result-validate-input", 3),
    ("json-schema-2020-12", 8),
    ("http-header-validation", 14),
    ("http-custom-header-server-validation", 10),
];

#[tokio::test]
async fn the_fixture_has_all_of_revision_2025_11_25() {
    check("2025-11-25", APPLY_2025).await;
}

#[tokio::test]
async fn the_fixture_has_all_of_revision_2026_07_28() {
    check("2026-07-28", APPLY_2026).await;
}

async fn check(revision: &str, apply: &[Applies]) {
    let Some(peers) = Peers::find() else { return };
    let server = Server::start(PROGRAM, "both").await;
    conformance::check(&peers, server.endpoint(), revision, apply, &[]).await;
}
