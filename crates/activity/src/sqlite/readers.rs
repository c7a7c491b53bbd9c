//! The connections that read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::connection::{self, Attached, Missing};
use crate::store::StoreError;

/// Queries that are answered at once. More would only wait for each other on the disk.
const MOST: usize = 4;

/// Time that a query waits for its slot.
const SLOT_WAIT: Duration = Duration::from_secs(30);

/// A few connections, made when they are first needed.
pub(super) struct Readers {
    slots: Arc<Semaphore>,
    idle: Arc<IdleReaders>,
}

struct IdleReaders {
    path: PathBuf,
    missing: Missing,
    connections: Mutex<Vec<Attached>>,
}

impl Readers {
    /// Readers of a file.
    pub(super) fn new(path: &Path, missing: Missing) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(MOST)),
            idle: Arc::new(IdleReaders {
                path: path.to_owned(),
                missing,
                connections: Mutex::new(Vec::new()),
            }),
        }
    }

    /// Answers one query on a thread that may wait for the disk. All that is read is of one
    /// moment.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let busy = || {
            StoreError::Unavailable(
                "The activity log is busy with other questions. Try again, or ask for less at once"
                    .to_owned(),
            )
        };
        let slot = tokio::time::timeout(SLOT_WAIT, Arc::clone(&self.slots).acquire_owned())
            .await
            .map_err(|_| busy())?
            .map_err(|_| busy())?;
        let idle = Arc::clone(&self.idle);
        let answer = tokio::task::spawn_blocking(move || {
            // The slot is given back when the work ends, also when nobody waits for it any more.
            let _slot = slot;
            idle.answer(work)
        });
        answer.await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(
                "A question to the activity log was broken off. Try again".to_owned(),
            ))
        })
    }
}

impl IdleReaders {
    fn answer<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let waiting = self.lock().pop();
        // After the file was put in another one's place, the old connections see the old file.
        let mut attached = match waiting.filter(|attached| attached.is_current(&self.path)) {
            Some(attached) => attached,
            None => connection::for_reading(&self.path, self.missing)?,
        };
        let transaction = attached.connection.transaction()?;
        let answer = work(&transaction)?;
        transaction.finish()?;
        self.lock().push(attached);
        Ok(answer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Attached>> {
        // A list of idle connections cannot be left half changed.
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
