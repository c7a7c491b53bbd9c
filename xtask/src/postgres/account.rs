//! Who runs the server: oneself, or somebody else when oneself is root, whom PostgreSQL refuses.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;

/// Whom root can be instead: the user that Debian's package makes, or the one every system has.
const CANDIDATES: &[&str] = &["postgres", "nobody"];

/// The user that the programs of PostgreSQL run as.
pub(super) enum Account {
    /// The user who runs this program.
    Oneself,
    /// Somebody else, since this program runs as root.
    Other { name: String, uid: u32, gid: u32 },
}

impl Account {
    pub(super) fn choose() -> Result<Self> {
        if !process::is_root() {
            return Ok(Self::Oneself);
        }
        let users = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        CANDIDATES
            .iter()
            .find_map(|name| find_user(&users, name))
            .with_context(|| {
                format!(
                    "PostgreSQL does not run as root, and none of these users exists: {}. Make one of them, or run \
                     the command as another user",
                    CANDIDATES.join(", ")
                )
            })
    }

    /// The folder to make clusters in: the wanted one, or one in the temporary folder if the user may not enter that.
    pub(super) fn base_folder(&self, wanted: &Path) -> Result<PathBuf> {
        fs::create_dir_all(wanted)
            .with_context(|| format!("cannot create the folder {}", wanted.display()))?;
        let Self::Other { name, .. } = self else {
            return Ok(wanted.to_path_buf());
        };
        open_to_all(wanted)?;
        if self.can_enter(wanted) {
            return Ok(wanted.to_path_buf());
        }
        let other = env::temp_dir().join("mcpproxy-postgres");
        println!(
            "PostgreSQL runs as `{name}`, who may not enter {}; it uses {}",
            wanted.display(),
            other.display()
        );
        create_in_temporary_folder(&other)?;
        if !self.can_enter(&other) {
            bail!(
                "the user `{name}` may not enter {} either. Set TMPDIR to a folder that every user may enter",
                other.display()
            );
        }
        Ok(other)
    }

    /// Creates a folder that belongs to the user, and to nobody else.
    pub(super) fn create_folder(&self, folder: &Path) -> Result<()> {
        DirBuilder::new()
            .mode(0o700)
            .create(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        self.give(folder)
    }

    /// Gives a file or a folder to the user.
    pub(super) fn give(&self, path: &Path) -> Result<()> {
        let Self::Other { name, uid, gid } = self else {
            return Ok(());
        };
        chown(path, Some(*uid), Some(*gid))
            .with_context(|| format!("cannot give {} to `{name}`", path.display()))
    }

    /// A program, to be run as the user in a folder.
    pub(super) fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        if let Self::Other { uid, gid, .. } = self {
            command.uid(*uid).gid(*gid);
        }
        command
    }

    /// Starting a program changes the user first and the folder then, so this asks the system itself.
    fn can_enter(&self, folder: &Path) -> bool {
        process::succeeds(&mut self.command(Path::new("true"), folder))
    }
}

/// Everybody may write to the temporary folder, so a folder of that name could be somebody else's.
fn create_in_temporary_folder(folder: &Path) -> Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("cannot create {}", folder.display()));
        }
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != 0 {
        bail!(
            "{} is not a folder of root. Remove it, then run the command again",
            folder.display()
        );
    }
    open_to_all(folder)
}

fn open_to_all(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))
        .with_context(|| format!("cannot change {}", folder.display()))
}

fn find_user(users: &str, wanted: &str) -> Option<Account> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| *name == wanted)?;
        let _password = fields.next()?;
        Some(Account::Other {
            name: name.to_owned(),
            uid: fields.next()?.parse().ok()?,
            gid: fields.next()?.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_the_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\n\
                     postgresql:x:7:8::/:/bin/sh\n\
                     postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash\n\
                     broken:x\n";
        let check = |name: &str, expected: Option<(u32, u32)>| {
            let found = match find_user(users, name) {
                Some(Account::Other { uid, gid, .. }) => Some((uid, gid)),
                _ => None,
            };
            assert_eq!(found, expected, "{name}");
        };
        check("postgres", Some((101, 104)));
        check("broken", None);
        check("nobody", None);
    }
}
