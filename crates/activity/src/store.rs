//! Stores of records: what each has to do, in the words of the log.
//!
//! There are two of them: SQLite and PostgreSQL. One [`Journal`] writes, on the one thread of the
//! writer; a [`Store`] reads, from anywhere.

use std::sync::Arc;

use async_trait::async_trait;
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
#[async_trait]
pub trait Store: Send + Sync {
    /// Records from the newest to the oldest, beginning after the one with the id `before`. Ends
    /// early when the records are large; it then still has one at least.
    async fn page(
        &self,
        filter: &Filter,
        before: Option<Uuid>,
        limit: usize,
    ) -> Result<RecordPage, StoreError>;

    /// One record.
    async fn find(&self, id: Uuid) -> Result<Option<Record>, StoreError>;

    /// How many records there are of each sort.
    async fn tally(&self, filter: &Filter) -> Result<Vec<Tally>, StoreError>;

    /// How many records there are.
    async fn count(&self, filter: &Filter) -> Result<u64, StoreError>;

    /// The chains that have records, with how many links each ever had.
    async fn chains(&self) -> Result<Vec<(Uuid, ChainHead)>, StoreError>;

    /// Links of a chain in their order, from the first one after `after`.
    async fn links(
        &self,
        chain: Uuid,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredLink>, StoreError>;

    /// A record that has no place in any chain. The log never writes one.
    async fn stray(&self) -> Result<Option<Row>, StoreError>;

    /// The id of the record that so many newer ones precede.
    async fn nth_newest(&self, newer: u64) -> Result<Option<Uuid>, StoreError>;

    /// The first links of a chain whose records are not older than an id: its lowest number.
    async fn first_since(&self, chain: Uuid, id: Uuid) -> Result<Option<i64>, StoreError>;
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

/// A page ends when its records have this much text: it is held in memory as a whole.
pub(crate) const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The most records of one page.
pub(crate) const PAGE_RECORDS: usize = 10_000;

/// Most records since a moment that are looked at for the lowest number.
pub(crate) const LOOKED_AT: i64 = 10_000;

/// Record of a row, unless somebody made the row unreadable.
pub(crate) fn readable(row: &Row) -> Option<Record> {
    let record = row.to_record();
    if record.is_none() {
        let id = row.id().unwrap_or_default();
        tracing::warn!(%id, "a record of the activity log cannot be read and is left out; `mcpproxy activity verify` tells more");
    }
    record
}

/// Bound of a statement, as a database takes it.
pub(crate) fn bound(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// Count of a database, which is never negative.
pub(crate) fn counted(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
