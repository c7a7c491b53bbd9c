//! Programs that come with the system or with Rust: looked for first, installed only where that is possible.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::place::Place;
use crate::{postgres, process};

/// A program the tests need and the Debian packages that bring it.
struct Requirement {
    name: &'static str,
    /// Whether the program is there and good enough.
    is_there: fn() -> bool,
    packages: &'static [&'static str],
}

const REQUIREMENTS: &[Requirement] = &[
    // Node itself is one of the npm packages, because the Debian releases carry older ones than the peers need.
    Requirement {
        name: "npm",
        is_there: || succeeds("npm", &["--version"]),
        packages: &["nodejs", "npm"],
    },
    Requirement {
        name: "Python 3.11 or newer with venv",
        is_there: || {
            let program = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))";
            succeeds("python3", &["-c", program])
        },
        packages: &["python3", "python3-venv"],
    },
    // The git server works through it.
    Requirement {
        name: "git",
        is_there: || succeeds("git", &["--version"]),
        packages: &["git"],
    },
    Requirement {
        name: "PostgreSQL 13 or newer",
        is_there: || postgres::Programs::find().is_some(),
        packages: &["postgresql"],
    },
    // It makes the certificate of PostgreSQL.
    Requirement {
        name: "openssl",
        is_there: || succeeds("openssl", &["version"]),
        packages: &["openssl"],
    },
];

pub(crate) fn install_missing(place: &Place) -> Result<()> {
    install_rust_components(place)?;
    let missing = find_missing();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|requirement| requirement.packages.iter().copied())
        .collect();
    let names = list_names(&missing);
    if process::is_missing("apt-get") {
        bail!(
            "the tests need {names}. Install that with the package manager of this system, then run the command again"
        );
    }
    if !process::is_root() {
        bail!(
            "the tests need {names}. Run `sudo apt-get update && sudo apt-get install -y --no-install-recommends {}`, \
             then the command again",
            packages.join(" ")
        );
    }
    println!("installing Debian packages: {}", packages.join(" "));
    apt_get(&["update"])?;
    let install = ["install", "-y", "--no-install-recommends"];
    apt_get(&[&install, packages.as_slice()].concat())?;
    let still_missing = find_missing();
    if !still_missing.is_empty() {
        bail!(
            "the tests need {}, and the packages of this system do not bring it. Install it by hand, then run the \
             command again",
            list_names(&still_missing)
        );
    }
    Ok(())
}

/// A minimal Rust installation has neither; rustup adds them for the toolchain in use.
fn install_rust_components(place: &Place) -> Result<()> {
    let has =
        |command: &str| process::succeeds(process::cargo(&place.root).args([command, "--version"]));
    if has("fmt") && has("clippy") {
        return Ok(());
    }
    if process::is_missing("rustup") {
        bail!(
            "the checks need `cargo fmt` and `cargo clippy`. Install rustfmt and clippy for this Rust, then run the command again"
        );
    }
    let mut rustup = Command::new("rustup");
    rustup
        .args(["component", "add", "rustfmt", "clippy"])
        .current_dir(&place.root);
    process::install(&mut rustup).context("rustfmt and clippy cannot be installed")
}

fn find_missing() -> Vec<&'static Requirement> {
    REQUIREMENTS
        .iter()
        .filter(|requirement| !(requirement.is_there)())
        .collect()
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    process::succeeds(Command::new(program).args(arguments))
}

fn list_names(requirements: &[&Requirement]) -> String {
    let names: Vec<&str> = requirements
        .iter()
        .map(|requirement| requirement.name)
        .collect();
    names.join(", ")
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    process::install(&mut command).context("a Debian package cannot be installed")
}
