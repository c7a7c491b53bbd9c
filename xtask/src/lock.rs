//! Lets two runs of this program share a folder.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How often to look whether the other run has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Waits for a lock file, which is free again when the returned file is dropped or its process ends.
pub(crate) fn wait(path: &Path, deadline: Duration) -> Result<File> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let started = Instant::now();
    let mut is_announced = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
            Err(TryLockError::WouldBlock) if started.elapsed() > deadline => bail!(
                "another run has held {} for {} minutes. End it, then run the command again",
                path.display(),
                deadline.as_secs() / 60
            ),
            Err(TryLockError::WouldBlock) => {
                if !is_announced {
                    println!("waiting for another run, which holds {}", path.display());
                    is_announced = true;
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
    }
}

/// Takes a lock file if nobody holds it.
pub(crate) fn take(path: &Path) -> Result<Option<File>> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}
