//! Settings: the file, following it, and the tools that look at it.

mod admin_tools;
mod client_entries;
mod file;
mod plain_http;
mod protection;
mod reload;
mod start_timeout;
mod tls;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
