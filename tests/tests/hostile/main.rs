//! Clients and servers that do what they must not.

mod asking_results;
mod clients;
mod foreign_text;
mod forged_keys;
mod sharing;
mod upstreams;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
