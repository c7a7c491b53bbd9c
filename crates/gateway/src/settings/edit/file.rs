//! Replacing the configuration file as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::EditError;
use crate::settings::protection::private_files;
use crate::settings::read_file;
use crate::settings::sources::Locations;

/// Longest wait for other commands that change the file; each takes milliseconds.
const LOCK_TIME: Duration = Duration::from_secs(10);

/// Pause before the lock is tried again.
const LOCK_STEP: Duration = Duration::from_millis(10);

/// Times that the file is read again because it was replaced while it was changed.
const MOST_TRIES: usize = 20;

/// Mode of a file that was not there.
const NEW_MODE: u32 = 0o600;

/// Replaces the file by what `change` makes of its bytes, of which there are none if there is no file.
pub(super) fn replace<T>(
    locations: &Locations,
    change: impl Fn(Option<Vec<u8>>) -> Result<(String, T), EditError>,
) -> Result<T, EditError> {
    let config = &locations.config_file;
    let failed = |source| EditError::Io(config.clone(), source);
    if !locations.is_named {
        private_files::create_data_dir(&locations.data_dir)
            .map_err(|error| EditError::Entry(error.to_string()))?;
    }
    // A link stays one: what it leads to is replaced.
    let target = match fs::canonicalize(config) {
        Err(error) if error.kind() == ErrorKind::NotFound => config.clone(),
        target => target.map_err(failed)?,
    };
    let folder = target.parent().unwrap_or(Path::new("/")).to_owned();
    let _lock = lock(&folder).map_err(failed)?.ok_or(EditError::Busy)?;
    for _ in 0..MOST_TRIES {
        let before = read_file(locations)?;
        let (text, made) = change(before.clone())?;
        if before.as_deref() == Some(text.as_bytes()) {
            return Ok(made);
        }
        let draft = DraftFile::write(&folder, &target, &text).map_err(failed)?;
        // An editor knows no lock: what it wrote since is the new beginning.
        if read_file(locations)? != before {
            continue;
        }
        draft.publish(&target).map_err(failed)?;
        File::open(&folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
        return Ok(made);
    }
    Err(EditError::Busy)
}

/// Lock on the folder of the file, which other commands take, too; nothing if it is not free in time.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    let end = Instant::now() + LOCK_TIME;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => {
                thread::sleep(LOCK_STEP);
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// New file beside the one that it replaces; removed unless it is published.
struct DraftFile(PathBuf);

impl DraftFile {
    fn write(folder: &Path, target: &Path, text: &str) -> io::Result<Self> {
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let path = folder.join(format!(
            ".mcp_config.{:016x}.new",
            u64::from_ne_bytes(random)
        ));
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(NEW_MODE)
            .open(&path)?;
        let draft = Self(path);
        file.write_all(text.as_bytes())?;
        if let Ok(before) = fs::metadata(target) {
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
                // Only root can give a file away; others keep it, and its mode says for whom it is.
                let _ = fchown(&file, Some(before.uid()), Some(before.gid()));
            }
            file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o7777))?;
        }
        file.sync_all()?;
        Ok(draft)
    }

    fn publish(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.0, target)
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        // It is gone if it was published.
        let _ = fs::remove_file(&self.0);
    }
}
