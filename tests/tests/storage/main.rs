//! The log on disks and databases that fail, and through crashes.

mod crash;
mod disk;
mod replicas;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
