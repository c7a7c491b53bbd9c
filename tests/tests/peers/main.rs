//! Programs that nobody here wrote, in front of the gateway and behind it.

mod everything_server;
mod reference_servers;
mod sdk_clients;
mod sdk_servers;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
