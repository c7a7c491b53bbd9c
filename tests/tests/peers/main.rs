//! Programs that nobody here wrote, in front of the gateway and behind it.

mod agent_hints;
mod cards;
mod comparison;
mod contract_by_hand;
mod direct_endpoints;
mod everything_server;
mod installing;
mod prompts_resources;
mod protocols;
mod reference_servers;
mod sdk_clients;
mod sdk_servers;

use mcpproxy_tests::{Programs, programs, run};

const PROGRAMS: Programs = programs!();

fn main() {
    run([
        agent_hints::trials(),
        cards::alone::trials(),
        cards::conformance::trials(),
        cards::gateway::trials(),
        comparison::trials(),
        cards::metrics::trials(),
        contract_by_hand::trials(),
        direct_endpoints::trials(),
        everything_server::trials(),
        installing::trials(),
        prompts_resources::trials(),
        protocols::trials(),
        reference_servers::trials(),
        sdk_clients::trials(),
        sdk_servers::trials(),
    ]);
}
