//! The processes of the gateway and its servers.

mod environment;
mod no_process_survives;
mod other_users;
mod starts;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
