//! Files that keep what servers print: `logs/NAME.log` in the folder of the state, and `logs/NAME.log.1` with what was
//! there before.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Folder of the files, in the folder of the state.
const FOLDER: &str = "logs";
/// Longest name of a server that a file is made for. Names in settings are shorter.
const LONGEST_NAME: usize = 128;

/// File with the newest lines of a server; nothing for a name that settings do not admit.
///
/// On a file system that does not tell cases apart, servers whose names differ in case alone share a file.
pub fn current(data_dir: &Path, server: &str) -> Option<PathBuf> {
    file(data_dir, server, "log")
}

/// File with the lines of a server that are older than those of [`current`].
pub fn older(data_dir: &Path, server: &str) -> Option<PathBuf> {
    file(data_dir, server, "log.1")
}

fn file(data_dir: &Path, server: &str, ending: &str) -> Option<PathBuf> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let is_usable = !server.is_empty() && server.len() <= LONGEST_NAME;
    // With its ending, a name of dots is that of a file like any other, and no way out of the folder.
    let is_usable = is_usable && server.bytes().all(is_usual);
    is_usable.then(|| data_dir.join(FOLDER).join(format!("{server}.{ending}")))
}

/// Opens one of the files to read it. What is a link, or could be waited for, such as a pipe, is refused.
pub fn open(path: &Path) -> io::Result<File> {
    open_regular(OpenOptions::new().read(true), path)
}

/// Opens one of the files to write to its end, for nobody else; refused as by [`open`].
pub(super) fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    let file = open_regular(&mut options, path)?;
    make_private(&file)?;
    Ok(file)
}

/// Makes the folder of the files, for nobody else. A link in its place is refused: what servers print would be elsewhere.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    for_nobody_else(builder.recursive(true)).create(folder)?;
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    make_folder_private(folder)
}

fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = without_following(options).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(
        ErrorKind::InvalidInput,
        "it is not a regular file",
    ))
}

// === files for nobody else ===

#[cfg(unix)]
fn without_following(options: &mut OpenOptions) -> &OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed())
}

#[cfg(unix)]
fn for_nobody_else(builder: &mut DirBuilder) -> &DirBuilder {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700)
}

#[cfg(unix)]
fn make_folder_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(unix)]
fn make_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o177 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn without_following(options: &mut OpenOptions) -> &OpenOptions {
    options
}

#[cfg(not(unix))]
fn for_nobody_else(builder: &mut DirBuilder) -> &DirBuilder {
    builder
}

#[cfg(not(unix))]
fn make_folder_private(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn make_private(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_in_the_place_of_logs_were_followed_and_waited_for() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [elsewhere, link, pipe, logs, file] =
            ["elsewhere", "link", "pipe", "logs", "file"].map(|name| folder.path().join(name));
        fs::create_dir(&elsewhere).unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&elsewhere, &logs).unwrap();
        assert!(make_folder(&logs).is_err());
        let mode = fs::metadata(&elsewhere).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "it is left alone");
        fs::write(&file, "one\n").unwrap();
        symlink(&file, &link).unwrap();
        let mut command = std::process::Command::new("mkfifo");
        assert!(command.arg(&pipe).status().unwrap().success());
        for path in [&link, &pipe, &elsewhere] {
            assert!(open(path).is_err(), "{}", path.display());
            assert!(open_to_append(path).is_err(), "{}", path.display());
        }
        assert!(open(&file).is_ok() && open_to_append(&file).is_ok());
    }

    #[test]
    fn every_name_has_files_of_its_own_in_the_folder() {
        let data = Path::new("/data");
        for name in ["github", "a.b_c-D", "..", ".", "x.log", "x.log.1", "-rf"] {
            let files = [current(data, name), older(data, name)].map(Option::unwrap);
            assert_eq!(files[0], data.join(format!("logs/{name}.log")));
            assert_eq!(files[1], data.join(format!("logs/{name}.log.1")));
            assert!(
                files
                    .iter()
                    .all(|file| file.parent() == Some(&data.join("logs")))
            );
        }
        for name in [
            "",
            "a/b",
            "../x",
            "a\\b",
            "a\0",
            "ä",
            &"x".repeat(LONGEST_NAME + 1),
        ] {
            assert_eq!(
                (current(data, name), older(data, name)),
                (None, None),
                "{name}"
            );
        }
    }
}
