//! `cargo xtask field`: servers that people use, directly and through the gateway.
//!
//! `servers` reads which there are, `install` puts each into a folder of its own, `direct` speaks with one over stdio,
//! `gateway` runs the product in front of all and asks it over HTTP (`http`), `compare` says what is equal and makes the
//! table. It needs the registries of npm and `PyPI`, so no test runs it; what it found last is in `docs/field.md`.

mod compare;
mod direct;
mod gateway;
mod http;
mod install;
mod protocol;
mod servers;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::compare::Row;
use self::direct::Listed;
use self::gateway::Gateway;
use self::protocol::Era;
use self::servers::FieldServer;
use crate::place::Place;

/// Folders of one run.
struct Folders {
    /// Where packages are installed, kept from run to run.
    packages: PathBuf,
    /// Where servers run.
    work: PathBuf,
    /// Data directory of the gateway, made anew.
    data: PathBuf,
}

/// Runs all servers, or those that are named, and prints the table. A difference is an error; a server that cannot be
/// installed or does not start by itself is none.
pub(crate) fn run(only: &[&str]) -> Result<()> {
    let place = Place::find()?;
    let folders = Folders::make(&place.target.join("field"))?;
    let servers = servers::read(&place.root.join("xtask/src/field/servers.json"))?;
    if let Some(unknown) = only
        .iter()
        .find(|name| !servers.iter().any(|one| one.name == **name))
    {
        bail!("no server is called `{unknown}` in xtask/src/field/servers.json");
    }
    let servers = servers
        .iter()
        .filter(|one| only.is_empty() || only.contains(&&*one.name));
    let mut rows = Vec::new();
    for server in servers {
        eprintln!("==> {} {} directly", server.package.name, server.version);
        let listed = install::install(server, &folders.packages)
            .and_then(|program| direct::list(server, &program, &folders.work));
        if let Err(error) = &listed {
            eprintln!("    {error:#}");
        }
        rows.push(Row::new(server, listed));
    }
    let program = gateway::build(&place)?;
    let started = rows
        .iter()
        .filter_map(|row| Some((row, row.listed.as_ref().ok()?)));
    let started: Vec<(&Row, &Listed)> = started.collect();
    let gateway = Gateway::start(&program, &started, &folders)?;
    let through = compare_all(&gateway, &started)?;
    drop(gateway);
    let table = compare::table(&rows, &through);
    println!("{table}");
    let differing: Vec<&str> = through
        .iter()
        .filter(|one| !one.is_equal())
        .map(|one| &*one.server)
        .collect();
    if !differing.is_empty() {
        bail!("differ through the gateway: {}", differing.join(", "));
    }
    Ok(())
}

/// What is equal of each server that started, at its own endpoint and beside all others.
fn compare_all(gateway: &Gateway, started: &[(&Row, &Listed)]) -> Result<Vec<compare::Through>> {
    let mut own = Vec::new();
    for (row, listed) in started {
        eprintln!("==> {} through the gateway", row.server);
        own.push(gateway.tools(&format!("/s/{}", row.server), listed.era));
    }
    let all = |era| {
        let listed = gateway.tools("/all", era);
        listed.with_context(|| format!("/mcp/all cannot be listed ({era:?})"))
    };
    // A client without a session is spared nothing, one with a session what its revision cannot read.
    let (stateless, session) = (all(Era::Stateless)?, all(Era::Session)?);
    let each = started.iter().zip(own).map(|((row, listed), own)| {
        let all = match listed.era {
            Era::Stateless => &stateless,
            Era::Session => &session,
        };
        compare::through(&row.server, &listed.tools, own, all)
    });
    Ok(each.collect())
}

// === impl Folders ===

impl Folders {
    fn make(root: &Path) -> Result<Self> {
        let data = root.join("data");
        if data.exists() {
            fs::remove_dir_all(&data)
                .with_context(|| format!("cannot empty {}", data.display()))?;
        }
        let folders = Self {
            packages: root.join("packages"),
            work: root.join("work"),
            data,
        };
        for folder in [&folders.packages, &folders.work, &folders.data] {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        Ok(folders)
    }
}
