//! The commands.

mod commands;
mod manage;
mod secrets;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
