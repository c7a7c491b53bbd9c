//! Clients and servers that do what they must not.

mod clients;
mod upstreams;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
