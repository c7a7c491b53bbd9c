//! `cargo xtask fuzz`: every fuzz target for a while, on the stable toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::place::Place;
use crate::process;

const DEFAULT_SECONDS: u32 = 60;

/// The release of the fuzz driver that the options below were tried with.
const CARGO_FUZZ_VERSION: &str = "0.13.2";

/// How slowly inputs may grow: the driver's own 100 leaves them at a few bytes for the first minutes of a target that
/// has a whole gateway to run.
const GROWTH_DELAY: u32 = 5;

/// One input that keeps a parser busy this long is a finding, not a slow machine.
const SECONDS_PER_INPUT: u32 = 10;

pub(crate) fn parse_seconds(options: &[&str]) -> Result<u32> {
    match options {
        [] => Ok(DEFAULT_SECONDS),
        ["--seconds", value] => value
            .parse()
            .ok()
            // The fuzz driver would read zero as "without end".
            .filter(|seconds| *seconds > 0)
            .with_context(|| format!("--seconds `{value}`: must be a whole number above 0")),
        other => bail!(
            "`fuzz` does not know `{}`. The only option is `--seconds N`",
            other.join(" ")
        ),
    }
}

pub(crate) fn run(seconds: u32) -> Result<()> {
    let place = Place::find()?;
    let driver = find_driver(&place)?;
    let targets = list_targets(&driver, &place)?;
    for target in &targets {
        println!("==> fuzz {target} for {seconds} s");
        run_target(&driver, &place, target, seconds)?;
    }
    println!("==> {} fuzz targets ran clean", targets.len());
    Ok(())
}

/// The installed driver; it is built below the build directory, so that nothing of the user's own changes.
fn find_driver(place: &Place) -> Result<PathBuf> {
    let folder = place.target.join("tools");
    let driver = folder.join("bin/cargo-fuzz");
    let version = Command::new(&driver).args(["fuzz", "--version"]).output();
    let expected = format!("cargo-fuzz {CARGO_FUZZ_VERSION}");
    if version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == expected) {
        return Ok(driver);
    }
    println!("==> install cargo-fuzz {CARGO_FUZZ_VERSION}");
    let mut install = process::cargo(&place.root);
    install
        .args(["install", "cargo-fuzz", "--locked", "--force"])
        .args(["--version", CARGO_FUZZ_VERSION, "--root"])
        .arg(&folder);
    process::install(&mut install).context("the fuzz driver cannot be installed")?;
    Ok(driver)
}

fn list_targets(driver: &Path, place: &Place) -> Result<Vec<String>> {
    let folder = place.root.join("fuzz");
    if !folder.join("Cargo.toml").is_file() {
        bail!("there is no fuzz package in the folder `fuzz` of the repository");
    }
    let mut list = fuzz_command(driver, place, "list");
    let targets: Vec<String> = process::output(&mut list)?
        .lines()
        .map(str::to_owned)
        .collect();
    if targets.is_empty() {
        bail!("the package in `fuzz` has no targets");
    }
    Ok(targets)
}

fn run_target(driver: &Path, place: &Place, target: &str, seconds: u32) -> Result<()> {
    let mut run = fuzz_command(driver, place, "run");
    run.arg("--target-dir")
        .arg(place.target.join("fuzz"))
        // The sanitizers need a nightly compiler. The workspace has no unsafe code, so what is left to find are
        // panics, hangs and memory without bound, and those the fuzzer sees without them.
        .args(["--sanitizer", "none", target, "--"])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-len_control={GROWTH_DELAY}"))
        .arg(format!("-timeout={SECONDS_PER_INPUT}"));
    process::explain(
        process::run(&mut run),
        &format!("the fuzz target `{target}` failed"),
        &format!("Run it again with the input it left in `fuzz/artifacts/{target}`"),
    )
}

fn fuzz_command(driver: &Path, place: &Place, subcommand: &str) -> Command {
    let mut command = Command::new(driver);
    command
        .current_dir(&place.root)
        .args(["fuzz", subcommand, "--fuzz-dir"])
        .arg(place.root.join("fuzz"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_whole_number_above_zero() {
        let check = |options: &[&str], expected: Option<u32>| {
            assert_eq!(parse_seconds(options).ok(), expected, "{options:?}");
        };
        check(&[], Some(DEFAULT_SECONDS));
        check(&["--seconds", "5"], Some(5));
        check(&["--seconds", "0"], None);
        check(&["--seconds", "-1"], None);
        check(&["--seconds", "soon"], None);
        check(&["--seconds"], None);
        check(&["--minutes", "1"], None);
    }
}
