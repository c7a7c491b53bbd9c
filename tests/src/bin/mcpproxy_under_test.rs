//! The product, built in this package so that its tests always run the current code.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcpproxy::main()
}
