//! The commands.

mod commands;
mod logs;
mod manage;
mod manage_file;
mod manage_rest;
mod managed;
mod restart;
mod secrets;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
