//! Both protocols, in all combinations of client and server.

mod bridges;
mod fixture_protocols;
mod upstream_protocols;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
