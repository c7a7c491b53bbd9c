//! What a run that was killed left behind: its files, and perhaps a server that still runs.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Account, Programs};
use crate::{lock, process};

/// How long to wait for another run to make its cluster and to clean up.
pub(super) const LOCK_DEADLINE: Duration = Duration::from_mins(5);

/// Removes the clusters of runs that have ended; those of others that still run are left alone.
pub(super) fn remove(base: &Path, programs: &Programs, account: &Account) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let file = entry.path();
        let is_run = entry.file_name().to_string_lossy().starts_with("run-");
        if !is_run || file.extension() != Some(OsStr::new("lock")) {
            continue;
        }
        let Ok(Some(_lock)) = lock::take(&file) else {
            continue;
        };
        // The lock is made first and removed last, so every folder is found by it.
        let folder = file.with_extension("");
        let data = folder.join("data");
        if Postmaster::read(&data).is_some_and(|found| found.is_running(&data)) {
            println!("stopping the PostgreSQL of a run that was killed");
            stop(&data, programs, account);
        }
        remove_files(&folder);
    }
}

/// Stops a server at once: its data is thrown away, so it need not be written.
pub(super) fn stop(data: &Path, programs: &Programs, account: &Account) {
    let folder = data.parent().unwrap_or(data);
    let mut pg_ctl = account.command(&programs.pg_ctl(), folder);
    pg_ctl
        .args(["stop", "--silent", "--wait", "--timeout=30"])
        .args(["--mode=immediate", "--pgdata"])
        .arg(data);
    if !process::succeeds(&mut pg_ctl) {
        eprintln!("the PostgreSQL in {} does not stop", data.display());
    }
}

/// Removes a cluster and its lock.
pub(super) fn remove_files(folder: &Path) {
    let lock = folder.with_extension("lock");
    for outcome in [fs::remove_dir_all(folder), fs::remove_file(lock)] {
        if let Err(error) = outcome
            && error.kind() != io::ErrorKind::NotFound
        {
            eprintln!("cannot remove {}: {error}", folder.display());
        }
    }
}

/// What a server says of itself in its folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Postmaster {
    pub(super) pid: u32,
    pub(super) is_ready: bool,
}

impl Postmaster {
    pub(super) fn read(data: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(data.join("postmaster.pid")).ok()?)
    }

    /// The first line is the process, the eighth its state.
    fn parse(text: &str) -> Option<Self> {
        Some(Self {
            pid: text.lines().next()?.trim().parse().ok()?,
            is_ready: text
                .lines()
                .nth(7)
                .is_some_and(|line| line.trim() == "ready"),
        })
    }

    /// The number alone may be another process's by now; a server works in its own folder.
    fn is_running(&self, data: &Path) -> bool {
        let place = fs::read_link(PathBuf::from(format!("/proc/{}/cwd", self.pid)));
        matches!((place, data.canonicalize()), (Ok(place), Ok(data)) if place == data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_server_is_read() {
        let text =
            |state: &str| format!("123\n/data\n1700000000\n5433\n\n127.0.0.1\n  77  0\n{state}");
        let check = |text: &str, expected: Option<(u32, bool)>| {
            let expected = expected.map(|(pid, is_ready)| Postmaster { pid, is_ready });
            assert_eq!(Postmaster::parse(text), expected, "{text:?}");
        };
        check(&text("ready   \n"), Some((123, true)));
        check(&text("starting\n"), Some((123, false)));
        check(&text("stopping\n"), Some((123, false)));
        // The file is written line by line.
        check("123\n/data\n", Some((123, false)));
        check("", None);
        check("12x\n", None);
    }

    #[test]
    fn a_process_elsewhere_is_not_the_server() {
        let own = Postmaster {
            pid: std::process::id(),
            is_ready: true,
        };
        let here = std::env::current_dir().unwrap();
        assert!(own.is_running(&here));
        assert!(!own.is_running(Path::new("/")));
        assert!(!own.is_running(&here.join("missing")));
    }
}
