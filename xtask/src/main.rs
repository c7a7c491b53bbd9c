//! What a contributor runs besides cargo itself: set-up, all checks, fuzzing.
//!
//! `steps` is what `cargo xtask test` does, in order; `setup` installs what those steps need; `fuzz` feeds the fuzz
//! targets. `place` knows the folders, `process` starts other programs. Nothing in here is part of the product, and
//! nothing is installed outside the build directory, except Debian packages and Rust components that are missing.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output on the terminal is what this program is for"
)]

mod fuzz;
mod place;
mod process;
mod setup;
mod steps;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
What a contributor runs besides cargo itself.

Usage: cargo xtask <command>

  test                  Install what the tests need, then check format, lints, tests and documentation
  setup                 Only install what the tests need
  fuzz [--seconds N]    Run every fuzz target for N seconds (60 if not given)
  help                  Print this text

Environment:
  CARGO_TARGET_DIR      The build directory; what the tests need is installed below it, in `peers`
  MCPPROXY_PEERS        Another folder for what the tests need, to share it between build directories
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => steps::run_all(),
        ["setup"] => setup::run(&place::Place::find()?),
        ["fuzz", options @ ..] => fuzz::run(fuzz::parse_seconds(options)?),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!(
            "unknown command `{}`. `cargo xtask help` lists what there is",
            other.join(" ")
        ),
    }
}
