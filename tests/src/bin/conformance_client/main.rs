//! What the official suite takes for a client: `conformance-client URL`.
//!
//! The suite starts a server and wants to see how a client treats it. The client it sees is the gateway: this program
//! starts one with that server behind it, and asks it for whatever the scenario needs, in the protocol the suite is about. It may
//! never speak to the server itself, or the suite would judge the wrong program.

mod conversation;
mod mirrored;
mod steps;

use std::time::Duration;

use mcpproxy_tests::{Product, Programs};
use serde_json::{Value, json};

use crate::conversation::Conversation;

/// The name of the suite's server behind the gateway.
const SERVER: &str = "suite";

/// How long a scenario may take. The suite waits longer, so that the gateway never outlives this program.
const TIME_LIMIT: Duration = Duration::from_mins(1);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args()
        .nth(1)
        .expect("usage: conformance-client URL");
    let scenario = variable("MCP_CONFORMANCE_SCENARIO").expect("the suite names a scenario");
    let revision =
        variable("MCP_CONFORMANCE_PROTOCOL_VERSION").expect("the suite names a revision");
    let context = variable("MCP_CONFORMANCE_CONTEXT")
        .map_or(Value::Null, |text| mcpproxy_tests::decode(&text));
    tokio::time::timeout(TIME_LIMIT, run(&url, &revision, &scenario, &context))
        .await
        .unwrap_or_else(|_| panic!("'{scenario}' took more than {} s", TIME_LIMIT.as_secs()));
}

async fn run(url: &str, revision: &str, scenario: &str, context: &Value) {
    let config = json!({ "mcpServers": { SERVER: { "url": url } } });
    let mut product = Product::start(programs(), &config).await;
    let endpoint = format!("{}/s/{SERVER}", product.endpoint());
    let conversation = Conversation::open(&endpoint, revision).await;
    steps::perform(&conversation, scenario, context).await;
    product.stop().await;
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The programs that cargo built beside this one.
fn programs() -> Programs {
    let here = std::env::current_exe().expect("this program has a path");
    let beside = |name: &str| -> &'static str {
        let path = here.with_file_name(name);
        let path = path.to_str().expect("the path is text");
        // There is one product for each run of this program.
        path.to_owned().leak()
    };
    Programs {
        mcpproxy: beside("mcpproxy-under-test"),
        fixture_server: beside("fixture-server"),
    }
}
