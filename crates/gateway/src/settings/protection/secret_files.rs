//! Secrets that the data folder keeps, one file each, for references `${secret:NAME}`.
//!
//! They are for the owner of the data folder alone. A file is replaced as a whole, so a reader finds the old value or the
//! new one. Nothing here shows a value.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::private_files::{self, DataDirError};
use crate::settings::document::read_open;
use crate::settings::problem::shown;

/// Folder in the data folder.
const FOLDER: &str = "secrets";

/// Longest value: a certificate with its key fits, a mistaken file does not.
pub const VALUE_LIMIT: usize = 64 * 1024;

/// Longest name: that of a server, of at most 64, and of a variable.
const NAME_LIMIT: usize = 200;

/// Most secrets that are kept and listed.
const MOST: usize = 1_000;

/// Reason why a secret cannot be kept, listed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The name or the value cannot be used.
    #[error("{0}")]
    Invalid(String),
    /// There is no such secret.
    #[error("there is no secret '{0}'; `mcpproxy secrets list` shows those there are")]
    Unknown(String),
    /// There are too many.
    #[error(
        "there are {MOST} secrets already, which is as many as are kept: remove some with `mcpproxy secrets remove`"
    )]
    TooMany,
    /// The data folder cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A file or folder cannot be read or written.
    #[error("the secrets in {} cannot be {}: {}", .0.display(), .1, .2)]
    Io(PathBuf, &'static str, #[source] io::Error),
}

/// Refuses what cannot be the name of a secret: names are names of files.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_allowed = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '-');
    let is_name = (1..=NAME_LIMIT).contains(&name.len())
        && name.chars().all(is_allowed)
        && !name.starts_with('.')
        && !name.contains("..");
    if is_name {
        return Ok(());
    }
    Err(format!(
        "found '{}' as the name of a secret, allowed: 1 to {NAME_LIMIT} of the characters A-Z, a-z, 0-9, '_', '.' and '-', without '..' and without '.' at the start",
        shown(name)
    ))
}

/// Name for the secret that a variable or a header of a server has: a number makes it another one than those that are
/// taken.
pub fn name_for(server: &str, key: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let usable = |one: char| match one {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => one,
        _ => '_',
    };
    let key: String = key.chars().map(usable).collect();
    let name = format!("{server}.{key}");
    let name = name.trim_start_matches('.').replace("..", ".");
    let with_end = |end: &str| {
        let kept = name.chars().take(NAME_LIMIT - end.len());
        kept.chain(end.chars()).collect::<String>()
    };
    let mut candidate = with_end("");
    // Each number is another name, and only so many are taken.
    let mut number = 2_u32;
    while is_taken(&candidate) {
        candidate = with_end(&format!("-{number}"));
        number += 1;
    }
    candidate
}

/// Keeps a secret, in the place of one that has this name.
pub fn set(data_dir: &Path, name: &str, value: &str) -> Result<(), SecretError> {
    check_name(name).map_err(SecretError::Invalid)?;
    let invalid = |what: &str| Err(SecretError::Invalid(format!("the value {what}")));
    if value.is_empty() {
        return invalid("is empty");
    }
    if value.len() > VALUE_LIMIT {
        return invalid("is longer than the 64 KiB allowed");
    }
    if value.contains('\0') {
        return invalid("has a NUL character");
    }
    private_files::create_data_dir(data_dir)?;
    let folder = data_dir.join(FOLDER);
    let failed = |source| SecretError::Io(folder.clone(), "written", source);
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(&folder).map_err(failed)?;
    let path = folder.join(name);
    if !path.exists() && list(data_dir)?.len() >= MOST {
        return Err(SecretError::TooMany);
    }
    write_whole(&folder, &path, value).map_err(failed)
}

/// Names of all secrets, in order.
pub fn list(data_dir: &Path) -> Result<Vec<String>, SecretError> {
    let folder = data_dir.join(FOLDER);
    let failed = |source| SecretError::Io(folder.clone(), "read", source);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries.take(2 * MOST) {
        let name = entry.map_err(failed)?.file_name();
        // Others are drafts, or nothing of ours.
        if let Some(name) = name.to_str().filter(|name| check_name(name).is_ok()) {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Removes a secret.
pub fn remove(data_dir: &Path, name: &str) -> Result<(), SecretError> {
    check_name(name).map_err(SecretError::Invalid)?;
    let folder = data_dir.join(FOLDER);
    match fs::remove_file(folder.join(name)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(SecretError::Unknown(name.to_owned()))
        }
        removed => removed.map_err(|source| SecretError::Io(folder, "removed", source)),
    }
}

/// Value of a secret, without the line break at its end. The error says how to keep one.
pub(in crate::settings) fn read(
    data_dir: &Path,
    name: &str,
    warnings: &mut Vec<String>,
) -> Result<String, String> {
    check_name(name)?;
    let problem = |what: &str| format!("the secret {name} {what}: `mcpproxy secrets set {name}`");
    let path = data_dir.join(FOLDER).join(name);
    let file = private_files::open(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => problem("is not set"),
        _ => problem("cannot be read"),
    })?;
    let content = read_open(&file, VALUE_LIMIT).map_err(|_| problem("cannot be read"))?;
    if content.len() > VALUE_LIMIT {
        return Err(problem("is longer than the 64 KiB allowed"));
    }
    if let Ok(metadata) = file.metadata()
        && let Some(command) = private_files::mending_command(&path, &metadata)
    {
        warnings.push(format!(
            "the secret {name} can be read or changed by other users: `{command}`"
        ));
    }
    let mut content = String::from_utf8(content).map_err(|_| problem("is not valid UTF-8"))?;
    content.truncate(content.trim_end_matches(['\n', '\r']).len());
    if content.is_empty() {
        return Err(problem("is empty"));
    }
    Ok(content)
}

/// Value that a secret has now, to be put back if what it was replaced for fails.
pub fn current(data_dir: &Path, name: &str) -> Option<String> {
    read(data_dir, name, &mut Vec::new()).ok()
}

/// Path of a secret, for who follows its changes.
pub(in crate::settings) fn path(data_dir: &Path, name: &str) -> PathBuf {
    data_dir.join(FOLDER).join(name)
}

/// Writes a value so that a reader finds all of it, or what was there before.
fn write_whole(folder: &Path, path: &Path, value: &str) -> io::Result<()> {
    // Two that write at once have a draft each. Its name begins as no secret's does.
    let mut draft = [0_u8; 8];
    getrandom::fill(&mut draft).map_err(io::Error::other)?;
    let mut name = String::from(".");
    for byte in draft {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    let draft = folder.join(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&draft).and_then(|mut file| {
        file.write_all(value.as_bytes())?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&draft, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&draft);
    }
    replaced?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn names_of_secrets_are_names_of_files() {
        for name in ["a", "github.TOKEN", "A-1_b.c"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(NAME_LIMIT + 1);
        for name in [
            "", ".", "..", ".hidden", "a/b", "a..b", "a b", "ä", "a\0", &long,
        ] {
            let refused = set(Path::new("/no/such/folder"), name, "value");
            assert!(matches!(refused, Err(SecretError::Invalid(_))), "{name}");
        }
        for (server, key, expected) in [
            ("github", "GH_TOKEN", "github.GH_TOKEN"),
            ("a.", "X-Api-Key", "a.X-Api-Key"),
            (".a", "b c/d", "a.b_c_d"),
        ] {
            let name = name_for(server, key, |_| false);
            assert_eq!(name, expected);
            assert!(check_name(&name).is_ok(), "{name}");
        }
        let mut taken = std::collections::BTreeSet::new();
        for key in [&long, &format!("{long}b"), &format!("{long}c")] {
            let name = name_for("a", key, |name| taken.contains(name));
            assert!(check_name(&name).is_ok(), "{name}");
            assert!(taken.insert(name), "another one for each");
        }
    }

    #[test]
    fn a_secret_is_for_its_owner_alone_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("data");
        assert_eq!(list(&data_dir).unwrap(), Vec::<String>::new());
        set(&data_dir, "b", "first").unwrap();
        set(&data_dir, "b", "second\n").unwrap();
        set(&data_dir, "a", "line one\nline two").unwrap();
        assert_eq!(list(&data_dir).unwrap(), ["a", "b"]);
        assert_eq!(current(&data_dir, "b").unwrap(), "second");
        assert_eq!(current(&data_dir, "a").unwrap(), "line one\nline two");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&data_dir.join(FOLDER)), 0o700);
        assert_eq!(mode(&path(&data_dir, "a")), 0o600);
        assert_eq!(fs::read_dir(data_dir.join(FOLDER)).unwrap().count(), 2);
        remove(&data_dir, "a").unwrap();
        assert!(matches!(
            remove(&data_dir, "a"),
            Err(SecretError::Unknown(_))
        ));
        for value in ["", "a\0b", &"x".repeat(VALUE_LIMIT + 1)] {
            assert!(matches!(
                set(&data_dir, "c", value),
                Err(SecretError::Invalid(_))
            ));
        }
        assert_eq!(list(&data_dir).unwrap(), ["b"]);
    }

    #[test]
    fn a_secret_that_is_missing_is_told_with_the_command_that_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let told = read(folder.path(), "github.TOKEN", &mut Vec::new());
        let expected = "the secret github.TOKEN is not set: `mcpproxy secrets set github.TOKEN`";
        assert_eq!(told.unwrap_err(), expected);
    }
}
