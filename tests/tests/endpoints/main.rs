//! The direct endpoints, and prompts and resources at all of them.

mod endpoint_all;
mod prompts_resources;
mod switched_off;
mod templates;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
