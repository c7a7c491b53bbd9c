//! Tools of the contract, from the outside.

mod accepting;
mod announced;
mod announced_tools;
mod context;
mod contract_check;
mod first_tool;
mod metrics;
mod refusals;
mod service;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
