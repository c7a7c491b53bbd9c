//! Reading.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::connection::{self, Attached, Missing};
use super::{cells, query};
use crate::filter::Conditions;
use crate::query::{Dialect, StoreQuery};
use crate::row::Cell;
use crate::store::{DatabaseReader, MOST_QUERIES, SLOT_WAIT, StoreError};

/// Reads a file through a few connections, made when they are first needed.
pub(super) struct SqliteReader {
    slots: Arc<Semaphore>,
    idle: Arc<IdleReaders>,
}

struct IdleReaders {
    path: PathBuf,
    missing: Missing,
    connections: Mutex<Vec<Attached>>,
}

#[async_trait]
impl DatabaseReader for SqliteReader {
    fn dialect(&self) -> &'static Dialect {
        &query::DIALECT
    }

    async fn ask(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError> {
        self.run(move |connection| cells::ask(connection, &query))
            .await
    }

    /// Changes are rare, so each has a connection of its own, which is closed after it.
    async fn change(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError> {
        self.on_thread(move |idle| {
            let mut attached = connection::for_writing(&idle.path)?;
            let connection = &mut attached.connection;
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let returned = cells::ask(&transaction, &query)?;
            transaction.commit()?;
            Ok(returned)
        })
        .await
    }

    async fn narrowed(
        &self,
        select: &str,
        conditions: Conditions,
        before: Option<Uuid>,
    ) -> Result<StoreQuery, StoreError> {
        let select = select.to_owned();
        self.run(move |connection| {
            let lead = query::lead(connection, &conditions, before)?;
            Ok(query::narrowed(&select, &conditions, before, &lead))
        })
        .await
    }
}

impl SqliteReader {
    /// Reads a file; nothing is opened yet.
    pub(super) fn new(path: &Path, missing: Missing) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(MOST_QUERIES)),
            idle: Arc::new(IdleReaders {
                path: path.to_owned(),
                missing,
                connections: Mutex::default(),
            }),
        }
    }

    /// Reads something. All that one question reads is of one moment.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.on_thread(|idle| idle.answer(work)).await
    }

    /// Does something on a thread that may wait for the disk.
    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&IdleReaders) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let slot = tokio::time::timeout(SLOT_WAIT, Arc::clone(&self.slots).acquire_owned());
        let Ok(Ok(slot)) = slot.await else {
            return Err(StoreError::Unavailable(
                "The activity log is busy with other questions. Try again, or ask for less at once"
                    .to_owned(),
            ));
        };
        let idle = Arc::clone(&self.idle);
        let answer = tokio::task::spawn_blocking(move || {
            // The slot is given back when the work ends, also when nobody waits for it any more.
            let _slot = slot;
            work(&idle)
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

    fn lock(&self) -> MutexGuard<'_, Vec<Attached>> {
        // A list of idle connections cannot be left half changed.
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }
}
