//! Puts each server into a folder of its own, so that the packages of one do not change those of another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::servers::{FieldServer, Registry};
use crate::process;

/// Installs a server, unless it is there in this version; its program.
pub(crate) fn install(server: &FieldServer, packages: &Path) -> Result<PathBuf> {
    let folder = packages.join(&server.name);
    let stamp = folder.join("installed");
    let wanted = format!(
        "{} {} {}\n",
        server.package.name,
        server.version,
        server.with.join(" ")
    );
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return program(server, &folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    let installed = match server.package.registry {
        Registry::Npm => install_npm(server, &folder),
        Registry::Pypi => install_python(server, &folder),
    };
    installed.context("it cannot be installed")?;
    let program = program(server, &folder)?;
    fs::write(&stamp, wanted)?;
    Ok(program)
}

fn install_npm(server: &FieldServer, folder: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    // No package gets to run a script of its own while it is installed.
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--no-progress", "--loglevel=error", "--prefix"])
        .arg(folder)
        .arg(format!("{}@{}", server.package.name, server.version))
        // The table alone goes to standard output.
        .stdout(Stdio::null());
    process::install(&mut npm)
}

fn install_python(server: &FieldServer, folder: &Path) -> Result<()> {
    let mut create = Command::new("python3");
    create.args(["-m", "venv"]).arg(folder.join("python"));
    process::install(&mut create)?;
    let mut pip = Command::new(folder.join("python/bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--only-binary=:all:"])
        .arg("--disable-pip-version-check")
        .arg(format!("{}=={}", server.package.name, server.version))
        .args(&server.with);
    process::install(&mut pip)
}

fn program(server: &FieldServer, folder: &Path) -> Result<PathBuf> {
    let programs = match server.package.registry {
        Registry::Npm => folder.join("node_modules/.bin"),
        Registry::Pypi => folder.join("python/bin"),
    };
    let program = programs.join(&server.program);
    if !program.exists() {
        bail!("its package has no program `{}`", server.program);
    }
    Ok(program)
}
