//! The official conformance suite against the gateway as a client of servers, in both protocols.
//!
//! The suite starts a server for each scenario and looks at what reaches it. The program it starts as the client puts a
//! gateway in between and asks that one, so what is judged is how the gateway treats servers.

use std::path::Path;

use mcpproxy_tests::conformance::{self, Fails};
use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::trials;

trials![
    servers_of_revision_2025_11_25_are_treated_as_it_requires,
    servers_of_revision_2026_07_28_are_treated_as_it_requires,
];

/// The client that starts a gateway.
const CLIENT: &str = env!("CARGO_BIN_EXE_conformance-client");

/// What cannot pass, and why: nothing.
const FAILS_2025: &[Fails] = &[];
const FAILS_2026: &[Fails] = &[];

async fn servers_of_revision_2025_11_25_are_treated_as_it_requires() {
    check("2025-11-25", FAILS_2025).await;
}

async fn servers_of_revision_2026_07_28_are_treated_as_it_requires() {
    check("2026-07-28", FAILS_2026).await;
}

async fn check(revision: &str, fails: &[Fails]) {
    let peers = Peers::find();
    conformance::check_client(&peers, Path::new(CLIENT), revision, fails).await;
}
