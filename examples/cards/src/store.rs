//! Cards, decks and reviews in SQLite.
//!
//! There is one connection. Whoever wants it waits without holding a thread, and the work itself
//! runs on a thread for blocking work: a commit waits for the disk, which no task of the runtime
//! should. So at most one such thread is busy with a store, however many calls wait, and a call
//! that gave up waiting has changed nothing.
//!
//! What reads gets a [`Reading`], what writes a [`Writing`]. Tools that read hold a [`StoreReader`], which has no way to
//! a [`Writing`]: a query that writes does not compile.

mod cards;
mod decks;
mod reviews;
mod rows;
mod schema;
mod seed;
#[cfg(test)]
mod tests;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::Mutex;

pub(crate) use cards::{CardChanges, CardKey, NewCard, Search};
pub(crate) use decks::NewDeck;
pub(crate) use reviews::{Grading, History, Reviewed, Tally};

use crate::model::{CardId, DeckId};

/// The most cards a store takes.
pub(crate) const MOST_CARDS: u64 = 10_000;
/// The most decks a store takes.
pub(crate) const MOST_DECKS: u64 = 1_000;
/// The reviews that are kept of each card; older ones are forgotten, though still counted.
pub(crate) const MOST_REVIEWS_OF_A_CARD: u32 = 100;
/// The most characters of one side of a card.
pub(crate) const LONGEST_TEXT: usize = 2_000;

/// How long to wait for another process that writes the same file: less than the deadline of a
/// fast tool, so that the caller is told what is wrong.
const WAIT_FOR_OTHERS: Duration = Duration::from_millis(300);

/// Where cards, decks and reviews are kept. Clones share the same store.
#[derive(Debug, Clone)]
pub struct Store {
    connection: Arc<Mutex<Connection>>,
}

/// The store as tools that read have it.
#[derive(Debug, Clone)]
pub(crate) struct StoreReader(Store);

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such card.
    #[error("there is no card '{0}'")]
    NoCard(CardId),
    /// There is no such deck.
    #[error("there is no deck '{0}'")]
    NoDeck(DeckId),
    /// Another deck has the name already.
    #[error("the deck '{taken_by}' has the name '{name}' already")]
    NameTaken {
        /// The name.
        name: String,
        /// The deck that has it.
        taken_by: DeckId,
    },
    /// The card has been changed since it was read.
    #[error("the card '{card}' has version {found}, not {expected}")]
    Changed {
        /// The card.
        card: CardId,
        /// The version that was to be changed.
        expected: u64,
        /// The version it has.
        found: u64,
    },
    /// There is no room for another one.
    #[error("the store is full: it takes {most} {what}")]
    Full {
        /// What it is full of.
        what: &'static str,
        /// How many it takes.
        most: u64,
    },
    /// A later version of this program made the file.
    #[error(
        "the file was written by a later version (format {found}, known up to {known}), use that version"
    )]
    TooNew {
        /// The format of the file.
        found: u32,
        /// The last format that is known here.
        known: u32,
    },
    /// The database does not work.
    #[error("the database failed")]
    Database(#[from] rusqlite::Error),
    /// The work was stopped, as when the program ends.
    #[error("the work on the store was not finished")]
    Stopped(#[from] tokio::task::JoinError),
}

/// What a query may do.
pub(crate) struct Reading<'a> {
    connection: &'a Connection,
}

/// What a mutation may do: everything a query may, and more.
pub(crate) struct Writing<'a> {
    reading: Reading<'a>,
    /// When it is done.
    now: Timestamp,
}

// === impl Store ===

impl Store {
    /// Opens the store in a file. A new one begins with some decks and cards to try things with.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(path)?;
        // Readers of other processes are not kept waiting by one that writes.
        connection.pragma_update(None, "journal_mode", "wal")?;
        Self::prepare(connection, Timestamp::now())
    }

    /// A new store that is gone with the process.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::in_memory_at(Timestamp::now())
    }

    /// The same as if it had been made at another moment, on which the dates of its first cards
    /// depend.
    pub fn in_memory_at(now: Timestamp) -> Result<Self, StoreError> {
        Self::prepare(Connection::open_in_memory()?, now)
    }

    fn prepare(mut connection: Connection, now: Timestamp) -> Result<Self, StoreError> {
        connection.busy_timeout(WAIT_FOR_OTHERS)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        schema::bring_up_to_date(&mut connection, now)?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
        })
    }

    /// The store for a tool that reads.
    pub(crate) fn reader(self) -> StoreReader {
        StoreReader(self)
    }

    /// Does something that changes nothing, all of it on the same state.
    async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Reading<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let mut connection = Arc::clone(&self.connection).lock_owned().await;
        tokio::task::spawn_blocking(move || {
            let transaction = connection.transaction()?;
            work(&Reading {
                connection: &transaction,
            })
        })
        .await?
    }

    /// Does something that changes the store at a moment: all of it or nothing.
    pub(crate) async fn write<T, W>(&self, now: Timestamp, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Writing<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let mut connection = Arc::clone(&self.connection).lock_owned().await;
        tokio::task::spawn_blocking(move || {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&Writing::new(&transaction, now))?;
            transaction.commit()?;
            Ok(done)
        })
        .await?
    }
}

// === impl StoreReader ===

impl StoreReader {
    /// Does something that changes nothing, all of it on the same state.
    pub(crate) async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Reading<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.0.read(work).await
    }
}

// === impl StoreError ===

impl StoreError {
    /// Whether the same may work in a moment: somebody else holds the file.
    pub(crate) fn is_busy(&self) -> bool {
        let Self::Database(error) = self else {
            return false;
        };
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }
}

// === impl Writing ===

impl<'a> Writing<'a> {
    fn new(connection: &'a Connection, now: Timestamp) -> Self {
        Self {
            reading: Reading { connection },
            now,
        }
    }
}

impl<'a> Deref for Writing<'a> {
    type Target = Reading<'a>;

    fn deref(&self) -> &Reading<'a> {
        &self.reading
    }
}
