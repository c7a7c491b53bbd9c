//! The official conformance suite, on everything here that speaks MCP.

mod client;
mod fixture;
mod gateway;
mod menu;

use mcpproxy_tests::{Programs, programs, run};

const PROGRAMS: Programs = programs!();

fn main() {
    run([
        client::trials(),
        fixture::trials(),
        gateway::trials(),
        menu::trials(),
    ]);
}
