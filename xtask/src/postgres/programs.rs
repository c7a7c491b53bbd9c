//! Where the programs of PostgreSQL are. Debian keeps them in a folder for each version and off the path.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// The parent of Debian's folders.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";

/// The tests drop databases that still have connections, which older ones cannot.
const OLDEST_VERSION: u32 = 13;

/// The programs of one installed PostgreSQL.
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// The newest that is installed, if it is new enough.
    pub(crate) fn find() -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let debian = fs::read_dir(DEBIAN_FOLDER).into_iter().flatten().flatten();
        env::split_paths(&path)
            .chain(debian.map(|version| version.path().join("bin")))
            .filter(|folder| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file())
            .filter_map(|folder| Some((version_in(&folder)?, folder)))
            .filter(|(version, _)| *version >= OLDEST_VERSION)
            .max_by_key(|(version, _)| *version)
            .map(|(_, folder)| Self { folder })
    }

    /// Makes a cluster.
    pub(super) fn initdb(&self) -> PathBuf {
        self.folder.join("initdb")
    }

    /// The server.
    pub(super) fn postgres(&self) -> PathBuf {
        self.folder.join("postgres")
    }

    /// Stops a server.
    pub(super) fn pg_ctl(&self) -> PathBuf {
        self.folder.join("pg_ctl")
    }
}

fn version_in(folder: &Path) -> Option<u32> {
    let postgres = folder.join("postgres");
    if !postgres.is_file() {
        return None;
    }
    let answer = process::output(Command::new(postgres).arg("--version")).ok()?;
    read_version(&answer)
}

/// The major version in an answer such as `postgres (PostgreSQL) 17.2 (Debian 17.2-1)`.
fn read_version(answer: &str) -> Option<u32> {
    let (_, version) = answer.split_once("(PostgreSQL) ")?;
    let digits = version.split(|character: char| !character.is_ascii_digit());
    digits.take(1).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read() {
        for (answer, expected) in [
            (
                "postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)\n",
                Some(15),
            ),
            ("postgres (PostgreSQL) 17.2\n", Some(17)),
            ("postgres (PostgreSQL) 18beta1\n", Some(18)),
            ("postgres (PostgreSQL) devel\n", None),
            ("15.13\n", None),
            ("", None),
        ] {
            assert_eq!(read_version(answer), expected, "{answer:?}");
        }
    }
}
