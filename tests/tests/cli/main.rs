//! The commands.

mod commands;
mod restart;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
