//! Tools of the contract, from the outside.

mod contract_check;
mod first_tool;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
