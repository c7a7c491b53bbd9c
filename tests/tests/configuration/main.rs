//! Settings: the file, following it, and the tools that look at it.

mod admin_tools;
mod file;
mod reload;
mod start_timeout;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
