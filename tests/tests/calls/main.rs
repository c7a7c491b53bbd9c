//! One call: what is decided, checked, passed on and added.

mod agent_hints;
mod annotations_at_call_time;
mod arguments;
mod bytes_unchanged;
mod coercion;
mod decisions_everywhere;
mod operator_overrides;
mod warnings;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
