//! The commands.

mod commands;
mod manage;
mod restart;
mod secrets;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
