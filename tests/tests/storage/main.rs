//! The log on disks and databases that fail, and through crashes.

mod crash;
mod disk;
mod means;
mod replicas;

use mcpproxy_tests::{Programs, programs, run};

const PROGRAMS: Programs = programs!();

fn main() {
    run([
        crash::trials(),
        disk::trials(),
        means::trials(),
        replicas::trials(),
    ]);
}
