//! Stores of records: what each has to do, in the words of the log.
//!
//! There are two of them: SQLite and PostgreSQL. One [`Journal`] writes, on the one thread of the
//! writer; a [`Store`] reads, from anywhere.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::chain::ChainHead;
use crate::filter::Filter;
use crate::record::{Hash, Record};
use crate::row::Row;
use crate::summary::Tally;

/// Error of a store that did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store may work later: the disk is full, the database does not answer.
    #[error("{0}")]
    Unavailable(String),
    /// The store will not work until a person does something: the file is no database, or of a newer
    /// version.
    #[error("{0}")]
    Unusable(String),
}

/// Writes records. Every method is one transaction that is on disk when it returns.
pub trait Journal: Send {
    /// The last link of a chain.
    fn head(&mut self, chain: Uuid) -> Result<ChainHead, StoreError>;

    /// The hash of one link of a chain, if it is there.
    fn hash_at(&mut self, chain: Uuid, seq: i64) -> Result<Option<Hash>, StoreError>;

    /// Writes all of the rows, or none. A row that [completes](Row::is_completion) one that is
    /// there replaces its outcome; every other is new.
    fn append(&mut self, rows: &[Row]) -> Result<(), StoreError>;

    /// Removes up to `limit` records that lie wholly at or before a link; tells how many.
    fn prune(&mut self, chain: Uuid, through: i64, limit: usize) -> Result<usize, StoreError>;
}

/// Reads records.
pub trait Store: Send + Sync {
    /// Records from the newest to the oldest, beginning after the one with the id `before`. Ends
    /// early when the records are large; it then still has one at least.
    fn page<'a>(
        &'a self,
        filter: &'a Filter,
        before: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'a, Result<RecordPage, StoreError>>;

    /// One record.
    fn find(&self, id: Uuid) -> BoxFuture<'_, Result<Option<Record>, StoreError>>;

    /// How many records there are of each sort.
    fn tally<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<Vec<Tally>, StoreError>>;

    /// How many records there are.
    fn count<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// The chains that have records, with how many links each ever had.
    fn chains(&self) -> BoxFuture<'_, Result<Vec<(Uuid, ChainHead)>, StoreError>>;

    /// Links of a chain in their order, from the first one after `after`.
    fn links(
        &self,
        chain: Uuid,
        after: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredLink>, StoreError>>;

    /// A record that has no place in any chain. The log never writes one.
    fn stray(&self) -> BoxFuture<'_, Result<Option<Row>, StoreError>>;

    /// The id of the record that so many newer ones precede.
    fn nth_newest(&self, newer: u64) -> BoxFuture<'_, Result<Option<Uuid>, StoreError>>;

    /// The first links of a chain whose records are not older than an id: its lowest number.
    fn first_since(&self, chain: Uuid, id: Uuid) -> BoxFuture<'_, Result<Option<i64>, StoreError>>;
}

/// Page of records.
#[derive(Debug, Clone, Default)]
pub struct RecordPage {
    /// The records, newest first.
    pub records: Vec<Record>,
    /// Start of the next page; nothing after the last one.
    pub next: Option<Uuid>,
}

/// Link as it was found, with the row it is of.
#[derive(Debug, Clone)]
pub struct StoredLink {
    /// Number of the link.
    pub seq: i64,
    /// Whether it is the one from before the call.
    pub is_opening: bool,
    /// The row.
    pub row: Row,
}

/// Store that is open for reading and writing.
pub struct OpenStore {
    /// Writes.
    pub journal: Box<dyn Journal>,
    /// Reads.
    pub store: Arc<dyn Store>,
}
