//! The five tools, and finding others with them.

mod five_tools;
mod meaning;
mod search;
mod told_servers;
mod while_starting;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
