//! Lock of the data directory: one `serve` at a time.
//!
//! The lock is the operating system's, on an open file, so it ends with the process, however that ends. The file stays:
//! whoever deleted it could delete the one that the next process holds. It has the id of the process, for messages.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::time::Instant;

use crate::daemon::Daemon;
use crate::error::CliError;
use crate::output::note;

/// The file in the data directory.
const LOCK_FILE: &str = "serve.lock";

/// Longest wait for a gateway that is stopping. It has five seconds for what is under way, twice, and eight for its
/// servers.
const STOPPING_TIME: Duration = Duration::from_secs(30);

/// Time in which a gateway still answers that was asked to end just now, on a machine with much to do.
const ANSWERING_TIME: Duration = Duration::from_secs(1);

/// Pause before the lock is tried again.
const STEP: Duration = Duration::from_millis(50);

/// Most bytes that are read of the file: far above any process id.
const LONGEST_ID: u64 = 20;

/// Lock that this process holds until this is dropped.
#[derive(Debug)]
pub(crate) struct ServeLock {
    _file: File,
}

impl ServeLock {
    /// Takes the lock of a data directory. One whose holder listens is refused; a holder that does not is starting or
    /// stopping, and is waited for.
    pub(crate) async fn take(data_dir: &Path) -> Result<Self, CliError> {
        let shown = data_dir.display();
        let mut file = open(&data_dir.join(LOCK_FILE)).map_err(|error| {
            CliError::refused(format!(
                "the file {LOCK_FILE} in the data directory {shown} cannot be opened: {error}"
            ))
        })?;
        let since = Instant::now();
        let mut is_told = false;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    // Without it, messages name no process; the lock holds all the same.
                    let _ = write_id(&mut file);
                    return Ok(Self { _file: file });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    tracing::warn!(%error, "{LOCK_FILE} cannot be locked on this file system: whether another gateway runs is seen by its socket alone");
                    return Ok(Self { _file: file });
                }
            }
            let holder =
                read_id(&mut file).map_or_else(String::new, |id| format!(" (process {id})"));
            let waited = since.elapsed();
            if waited >= ANSWERING_TIME && Daemon::listening(data_dir).await.is_some() {
                return Err(already_runs(data_dir, &holder));
            }
            if waited >= STOPPING_TIME {
                return Err(CliError::refused(format!(
                    "a gateway{holder} holds the data directory {shown} and has neither answered nor ended for {} seconds; end it, or use another --data-dir",
                    STOPPING_TIME.as_secs()
                )));
            }
            if waited >= ANSWERING_TIME && !is_told {
                is_told = true;
                note(&format!(
                    "waiting for the gateway{holder} that is stopping on the data directory {shown}"
                ));
            }
            tokio::time::sleep(STEP).await;
        }
    }
}

/// Whether a gateway holds the lock of a data directory, which may be starting or stopping. To see it the lock is taken
/// for a moment, beside others who look; a gateway that starts at this moment tries again.
pub(crate) fn is_held(data_dir: &Path) -> bool {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(data_dir.join(LOCK_FILE));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Error of a gateway that would be the second one.
pub(crate) fn already_runs(data_dir: &Path, holder: &str) -> CliError {
    CliError::refused(format!(
        "a gateway{holder} already runs on the data directory {}; stop it, or use another --data-dir",
        data_dir.display()
    ))
}

/// Opens the file, for its owner alone, and makes it where there is none.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

fn write_id(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Process id in the file; nothing while its holder writes it.
fn read_id(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(LONGEST_ID).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_names_its_holder_and_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join(LOCK_FILE);
        let mut file = open(&path).expect("the file can be made");
        assert_eq!(read_id(&mut file), None);
        std::fs::write(&path, "99999999999999999999999").expect("the file can be written");
        assert_eq!(read_id(&mut file), None, "no process has such an id");
        write_id(&mut file).expect("the id can be written");
        assert_eq!(read_id(&mut file), Some(std::process::id()));
        let mode = file.metadata().expect("the file is there").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }

    #[test]
    fn looking_at_the_lock_keeps_nobody_from_it() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        assert!(!is_held(folder.path()));
        let file = open(&folder.path().join(LOCK_FILE)).expect("the file can be made");
        assert!(!is_held(folder.path()));
        file.try_lock().expect("nobody holds the lock");
        assert!(is_held(folder.path()));
        drop(file);
        assert!(!is_held(folder.path()));
    }

    #[test]
    fn a_link_is_not_followed_and_a_pipe_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let elsewhere = folder.path().join("elsewhere");
        let link = folder.path().join(LOCK_FILE);
        std::os::unix::fs::symlink(&elsewhere, &link).expect("a link can be made");
        assert!(open(&link).is_err());
        assert!(!elsewhere.exists());
        assert!(open(folder.path()).is_err());
    }
}
