//! The official conformance suite against our own fixture, with no gateway between: where this fails, a failure through
//! the gateway says nothing of the gateway.
//!
//! Tasks are an extension that the fixture does not declare. All the rest applies, in both protocols.

use mcpproxy_tests::conformance::{self, Applies, Server, WHOLE_2025, WHOLE_2026};
use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::trials;

trials![
    the_fixture_has_all_of_revision_2025_11_25,
    the_fixture_has_all_of_revision_2026_07_28,
];

const PROGRAM: &str = env!("CARGO_BIN_EXE_conformance-server");

async fn the_fixture_has_all_of_revision_2025_11_25() {
    check("2025-11-25", WHOLE_2025).await;
}

async fn the_fixture_has_all_of_revision_2026_07_28() {
    check("2026-07-28", WHOLE_2026).await;
}

async fn check(revision: &str, apply: &[Applies]) {
    let peers = Peers::find();
    let server = Server::start(PROGRAM, "both").await;
    conformance::check(&peers, server.endpoint(), revision, apply, &[]).await;
}
