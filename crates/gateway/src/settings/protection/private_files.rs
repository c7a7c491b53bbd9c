//! Files that are for their owner alone: the data folder, what the gateway keeps in it, and files with secrets.
//!
//! A process of the same user can read and change all of them. This is about other users.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Names in the data folder that the gateway writes. None may be a link: the gateway would write somewhere else than
/// where its owner looks.
const STATE: [&str; 12] = [
    "api_key",
    "chains",
    "head_key",
    "logs",
    "mcpproxy.sock",
    "protocols.json",
    "secrets",
    "vectors.db",
    "serve.lock",
    "state.db",
    "state.db-shm",
    "state.db-wal",
];

/// Bits of a mode that let others read or write.
const OTHERS_READ_OR_WRITE: u32 = 0o066;
/// Bits of a mode that let others write.
const OTHERS_WRITE: u32 = 0o022;
/// Bits of a mode that let others do anything.
const OTHERS: u32 = 0o077;

/// Reason why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataDirError {
    /// A file that is not there and cannot be made.
    #[error("the data directory {} cannot be made: {}", .0.display(), .1)]
    NotMade(PathBuf, #[source] io::Error),
    /// Others can put files into it and take them away.
    #[error("other users can write into the data directory {}: `chmod 700 {}`", .0.display(), quoted(.0))]
    Writable(PathBuf),
    /// Its owner can put files into it and take them away.
    #[error(
        "the data directory {} belongs to another user (uid {}): run mcpproxy as that user, or name another directory with --data-dir",
        .0.display(),
        .1
    )]
    Foreign(PathBuf, u32),
    /// Something that the gateway writes is a link.
    #[error(
        "{} is a symbolic link, and what mcpproxy keeps there would be elsewhere: put the file itself there, or remove the link",
        .0.display()
    )]
    Link(PathBuf),
}

/// Creates the data folder, for its owner only, unless it exists; then it has to be safe to use.
pub(in crate::settings) fn create_data_dir(data_dir: &Path) -> Result<(), DataDirError> {
    let mut builder = DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(data_dir);
    created.map_err(|source| DataDirError::NotMade(data_dir.to_owned(), source))?;
    check_data_dir(data_dir)
}

/// Refuses a data folder that other users can change. One that is not there is none of them.
pub(in crate::settings) fn check_data_dir(data_dir: &Path) -> Result<(), DataDirError> {
    let Ok(found) = fs::metadata(data_dir) else {
        return Ok(());
    };
    if !is_ours(&found) {
        return Err(DataDirError::Foreign(data_dir.to_owned(), found.uid()));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(DataDirError::Writable(data_dir.to_owned()));
    }
    let mut state = STATE.iter().map(|name| data_dir.join(name));
    let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|one| one.is_symlink());
    state
        .find(is_link)
        .map_or(Ok(()), |link| Err(DataDirError::Link(link)))
}

/// Whether a file is one that the gateway keeps in its data folder, by whatever way the path leads there.
pub(in crate::settings) fn is_state(data_dir: &Path, path: &Path) -> bool {
    let (Ok(data_dir), Ok(path)) = (fs::canonicalize(data_dir), fs::canonicalize(path)) else {
        return false;
    };
    let inside = path.strip_prefix(&data_dir).ok();
    let first = inside.and_then(|inside| inside.components().next());
    first.is_some_and(|first| STATE.iter().any(|name| first.as_os_str() == *name))
}

/// Warning about a file of another user, who has programs run by what it names. Who runs the gateway in a container often
/// has it so.
pub(in crate::settings) fn foreign_owner_warning(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok().filter(|found| !is_ours(found))?;
    let (shown, owner) = (path.display(), found.uid());
    Some(format!(
        "{shown} belongs to another user (uid {owner}), who can have any program run by it"
    ))
}

/// Refuses a file that anybody can change, as the programs that it names run with the rights of this one. Members
/// of its group alone may: on many systems each user has a group of their own.
pub(in crate::settings) fn check_unchangeable(path: &Path) -> Result<(), String> {
    const ANYBODY_WRITES: u32 = 0o002;
    const ANYBODY_ENTERS: u32 = 0o001;
    const STICKY: u32 = 0o1000;
    let Ok(found) = fs::metadata(path) else {
        return Ok(());
    };
    let shown = path.display();
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(folder) = full.parent() else {
        return Ok(());
    };
    let Ok(of_folder) = fs::metadata(folder) else {
        return Ok(());
    };
    if of_folder.mode() & ANYBODY_ENTERS == 0 {
        // Nobody else gets there.
        return Ok(());
    }
    let why = "and so have any program run";
    if found.mode() & ANYBODY_WRITES != 0 {
        let command = format!("chmod o-w {}", quoted(path));
        return Err(format!(
            "other users can change {shown}, {why}: `{command}`"
        ));
    }
    if of_folder.mode() & ANYBODY_WRITES != 0 && of_folder.mode() & STICKY == 0 {
        let command = format!("chmod o-w {}", quoted(folder));
        return Err(format!(
            "other users can replace {shown}, {why}: `{command}`"
        ));
    }
    Ok(())
}

/// Warning about a data folder that others can look into.
pub(in crate::settings) fn data_dir_warning(data_dir: &Path) -> Option<String> {
    let is_open = fs::metadata(data_dir).is_ok_and(|found| found.mode() & OTHERS != 0);
    is_open.then(|| {
        let (shown, quoted) = (data_dir.display(), quoted(data_dir));
        format!("other users can look into the data directory {shown}: `chmod 700 {quoted}`")
    })
}

/// Command that keeps others from a file which they can read or write now.
pub(in crate::settings) fn mending_command(path: &Path, found: &Metadata) -> Option<String> {
    let is_open = found.mode() & OTHERS_READ_OR_WRITE != 0;
    is_open.then(|| format!("chmod 600 {}", quoted(path)))
}

/// Warning about a file with a secret that others can read or change, with the command that mends it.
pub fn open_secret_warning(path: &Path) -> Option<String> {
    let command = mending_command(path, &fs::metadata(path).ok()?)?;
    let shown = path.display();
    Some(format!(
        "{shown} can be read or changed by other users: `{command}`"
    ))
}

/// Opens a file of the data folder, which is neither a link nor anything that could be waited for.
pub(in crate::settings) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(
        ErrorKind::InvalidInput,
        "it is not a regular file",
    ))
}

/// Whether a file belongs to this user, or to the one who could change it anyway.
fn is_ours(found: &Metadata) -> bool {
    let root = 0;
    found.uid() == root || found.uid() == rustix::process::geteuid().as_raw()
}

/// Path as a shell takes it.
pub(in crate::settings) fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "/._-+,@%:".contains(one);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_data_directory_that_others_can_write_to_was_only_warned_about() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, is_safe) in [
            (0o700, true),
            (0o755, true),
            (0o770, false),
            (0o702, false),
            (0o1777, false),
        ] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let checked = check_data_dir(folder.path());
            assert_eq!(checked.is_ok(), is_safe, "{mode:o}: {checked:?}");
            assert_eq!(data_dir_warning(folder.path()).is_some(), mode != 0o700);
        }
        let said = check_data_dir(folder.path()).unwrap_err().to_string();
        let mended = format!("`chmod 700 {}`", folder.path().display());
        assert!(said.ends_with(&mended), "{said}");
    }

    #[test]
    fn a_data_directory_of_another_user_was_taken() {
        if !rustix::process::geteuid().is_root() {
            // Only root can give a folder away.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
        let refused = check_data_dir(folder.path()).unwrap_err();
        assert!(
            matches!(refused, DataDirError::Foreign(_, 65_534)),
            "{refused}"
        );
    }

    #[test]
    fn links_in_the_place_of_state_files_were_followed() {
        for name in STATE {
            let folder = tempfile::tempdir().unwrap();
            let elsewhere = folder.path().join("elsewhere");
            fs::write(&elsewhere, "").unwrap();
            symlink(&elsewhere, folder.path().join(name)).unwrap();
            let refused = check_data_dir(folder.path()).unwrap_err();
            assert!(
                matches!(refused, DataDirError::Link(_)),
                "{name}: {refused}"
            );
            assert!(open(&folder.path().join(name)).is_err());
        }
        assert!(open(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn commands_can_be_pasted_whatever_the_path() {
        for (path, expected) in [
            ("/a/b-c.d", "/a/b-c.d"),
            ("/a b", "'/a b'"),
            ("/it's; rm", r"'/it'\''s; rm'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(Path::new(path)), expected);
        }
    }
}
