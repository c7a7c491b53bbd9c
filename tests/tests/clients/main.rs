//! What clients see of the gateway, with sessions and without.

mod ended_credentials;
mod relay_clients;
mod rust_sdk_client;
mod session_requests;
mod sessions;
mod stateless;
mod stateless_stdio;
mod stdio_restart;
mod token_matrix;
mod tokens;
mod withheld;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
