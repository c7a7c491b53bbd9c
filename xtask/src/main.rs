//! What a contributor runs besides cargo itself: set-up, all checks, a database, fuzzing.
//!
//! `steps` is what `cargo xtask test` does, in order; `dependencies` is its check of `deny.toml`, `report` reads what the
//! tests print; `setup` installs what those steps need; `postgres` runs the
//! database the tests use; `fuzz` feeds the fuzz targets; `field` compares servers that people use with themselves through
//! the gateway; `lines` measures the source and `structure` holds it to the
//! rules of the architecture, both with what `source` reads. `place` knows the folders, `process` starts other programs,
//! `lock` keeps two runs from disturbing each other. Nothing in here is part of the product, and
//! nothing is installed outside the build directory, except Debian packages and Rust components that are missing.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output on the terminal is what this program is for"
)]

mod dependencies;
mod field;
mod fuzz;
mod lines;
mod lock;
mod place;
mod postgres;
mod process;
mod report;
mod setup;
mod source;
mod steps;
mod structure;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
What a contributor runs besides cargo itself.

Usage: cargo xtask <command>

  test                  Install what the tests need, then check dependencies, format, lints, documentation and
                        tests; all that failed or did not run is listed at the end
  setup                 Only install what the tests need
  postgres -- COMMAND…  Run a command with a fresh PostgreSQL, which is gone afterwards, such as one test:
                        `cargo xtask postgres -- cargo test -p mcpproxy-activity postgres`
  fuzz [--seconds N]    Run every fuzz target for N seconds (60 if not given)
  field [SERVER…]       Run servers that people use directly and through the gateway, and compare their tools;
                        it installs them from npm and PyPI, so `test` does not run it
  lines [FOLDER]        Count the product's source lines, tests left out, in this checkout or another
  structure [FOLDER]    List what breaks the rules for modules and names; the tests refuse it
  help                  Print this text

Environment:
  CARGO_TARGET_DIR      The build directory; what the tests need is installed below it, in `peers`
  MCPPROXY_PEERS        Another folder for what the tests need, to share it between build directories
  MCPPROXY_POSTGRES     Set by `test` and `postgres`: the URL of the database server the tests use
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
        ["postgres", command @ ..] => postgres::run(command),
        ["fuzz", options @ ..] => fuzz::run(fuzz::parse_seconds(options)?),
        ["field", servers @ ..] => field::run(servers),
        ["lines"] => lines::print(&place::root()?),
        ["lines", folder] => lines::print(Path::new(folder)),
        ["structure"] => structure::print(&place::root()?),
        ["structure", folder] => structure::print(Path::new(folder)),
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
