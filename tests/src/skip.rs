//! Leaving out a test that needs what this machine does not have.

use std::io::Write;

/// Tells that the current test is skipped, and what it would need.
pub(crate) fn announce(needs: &str) {
    let test = std::thread::current();
    let name = test.name().unwrap_or("a test");
    // Not by a macro, whose output only failed tests show.
    let _ = writeln!(std::io::stderr(), "skipped: {name} needs {needs}");
}
