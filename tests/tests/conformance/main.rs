//! The official conformance suite, on everything here that speaks MCP.

mod client;
mod fixture;
mod gateway;
mod menu;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
