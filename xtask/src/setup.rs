//! Installs what the tests need beyond Rust: programs of the system, then the peers the tests talk to.
//!
//! The peers are the packages of the manifests in `tests/peers`, each at one exact version, in folders of their own.
//! Tests start them through the launchers in `bin`, so that no test knows where a package keeps its programs.

mod launchers;
mod system;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::place::Place;
use crate::{lock, process};

/// How long to wait for another set-up in the same folder: longer than any set-up takes.
const LOCK_DEADLINE: Duration = Duration::from_mins(30);

/// Brings the peers in the folder up to date; quick when they are.
pub(crate) fn run(place: &Place) -> Result<()> {
    install_system_programs(place)?;
    fs::create_dir_all(&place.peers)
        .with_context(|| format!("cannot create the folder {}", place.peers.display()))?;
    // Held until the end of this function, because two runs may share the folder.
    let _lock = lock::wait(&place.peers.join("setup.lock"), LOCK_DEADLINE)?;
    let manifests = place.root.join("tests/peers");
    install_npm(&manifests, &place.peers)?;
    install_python(&manifests.join("requirements.txt"), &place.peers, "python")?;
    install_python(
        &manifests.join("requirements-legacy.txt"),
        &place.peers,
        "python-legacy",
    )?;
    launchers::write_all(&place.peers)?;
    println!("peers of the tests are in {}", place.peers.display());
    Ok(())
}

/// Installs the programs of the system alone.
pub(crate) fn install_system_programs(place: &Place) -> Result<()> {
    system::install_missing(place)
}

fn install_npm(manifests: &Path, peers: &Path) -> Result<()> {
    let package = read(&manifests.join("package.json"))?;
    let lockfile = read(&manifests.join("package-lock.json"))?;
    let folder = peers.join("npm");
    let stamp = Stamp::new(&folder, &[&package, &lockfile]);
    if stamp.is_current() {
        return Ok(());
    }
    println!("installing the npm packages of the tests");
    stamp.clear()?;
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), &package)?;
    fs::write(folder.join("package-lock.json"), &lockfile)?;
    let mut npm = Command::new("npm");
    // None of the packages needs its install scripts, so none gets to run one.
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--no-progress", "--loglevel=error"])
        .current_dir(&folder);
    process::explain(
        process::install(&mut npm),
        "the npm packages of the tests cannot be installed",
        "Check the network and `npm config list`",
    )?;
    stamp.set()
}

fn install_python(requirements: &Path, peers: &Path, name: &str) -> Result<()> {
    let folder = peers.join(name);
    // An environment belongs to the minor version of Python that made it.
    let version = process::output(Command::new("python3").arg("--version"))?;
    let stamp = Stamp::new(&folder, &[&read(requirements)?, &version]);
    if stamp.is_current() {
        return Ok(());
    }
    println!("installing the Python packages of the tests into `{name}`");
    stamp.clear()?;
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(&folder);
    process::install(&mut create).context("the Python environment cannot be created")?;
    let mut pip = Command::new(folder.join("bin/python"));
    // Wheels only: building a package would need compilers and whatever its build asks for.
    pip.args(["-m", "pip", "install", "--quiet", "--only-binary=:all:"])
        .args(["--disable-pip-version-check", "--requirement"])
        .arg(requirements);
    process::explain(
        process::install(&mut pip),
        "the Python packages of the tests cannot be installed",
        "Check the network and `pip config list`",
    )?;
    stamp.set()
}

/// Remembers what a folder was installed from: the text itself, which needs no hash and cannot collide.
struct Stamp {
    file: PathBuf,
    content: String,
}

impl Stamp {
    fn new(folder: &Path, sources: &[&str]) -> Self {
        // Programs in the folder contain its path, so a folder that was moved is not current.
        let mut content = format!("{}\n{}\n", folder.display(), std::env::consts::ARCH);
        content.extend(sources.iter().copied());
        Self {
            file: folder.with_extension("stamp"),
            content,
        }
    }

    fn is_current(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|found| found == self.content)
    }

    /// Before anything changes, so that an interrupted installation is repeated.
    fn clear(&self) -> Result<()> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.file.display()))
            }
            _ => Ok(()),
        }
    }

    fn set(&self) -> Result<()> {
        fs::write(&self.file, &self.content)
            .with_context(|| format!("cannot write {}", self.file.display()))
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
