//! The commands.

mod commands;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
