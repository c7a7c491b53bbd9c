//! The official conformance suite through the gateway, in both protocols: a server with all that the suite asks for stands
//! behind it, at an endpoint of its own. What holds of that server alone has to hold here.

use mcpproxy_tests::conformance::{self, Applies, Server, WHOLE_2025, WHOLE_2026};
use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Product, trials};
use serde_json::json;

use crate::PROGRAMS;

trials![
    what_revision_2025_11_25_requires_holds_through_the_gateway,
    what_revision_2026_07_28_requires_holds_through_the_gateway,
];

const SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");

/// The gateway answers with plain JSON where nothing is told before the answer, so there are no streams to look at: the
/// suite notes that, and neither passes nor fails what it has to say of them.
const WITHOUT_STREAMS: &[Applies] = &[
    ("server-sse-multiple-streams", 1),
    ("server-sse-polling", 0),
];

async fn what_revision_2025_11_25_requires_holds_through_the_gateway() {
    check("2025-11-25", "legacy", WHOLE_2025).await;
}

async fn what_revision_2026_07_28_requires_holds_through_the_gateway() {
    check("2026-07-28", "modern", WHOLE_2026).await;
}

async fn check(revision: &str, protocol: &str, apply: &[Applies]) {
    let peers = Peers::find();
    let server = Server::start(SERVER, "both").await;
    let configuration = json!({ "mcpServers": {
        "suite": { "url": server.endpoint(), "protocol": protocol },
    } });
    let product = Product::start(PROGRAMS, &configuration).await;
    let endpoint = format!("{}/s/suite", product.endpoint());
    let apply: Vec<Applies> = apply
        .iter()
        .map(|own| {
            WITHOUT_STREAMS
                .iter()
                .find(|(name, _)| *name == own.0)
                .unwrap_or(own)
        })
        .copied()
        .collect();
    conformance::check(&peers, &endpoint, revision, &apply, &[]).await;
}
