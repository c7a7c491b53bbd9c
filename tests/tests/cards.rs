//! The sample service from the outside: alone, behind the gateway, and inside of it.

#[path = "cards/alone.rs"]
mod alone;
#[path = "cards/conformance.rs"]
mod conformance;
#[path = "cards/gateway.rs"]
mod gateway;
#[path = "cards/lesson.rs"]
mod lesson;
#[path = "cards/program.rs"]
mod program;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
