//! Stores of records: what each has to do, in the words of the log.
//!
//! There are two of them: SQLite and PostgreSQL. One [`Journal`] writes, on the one thread of the
//! writer; a [`Store`] reads, from anywhere, and asks either database alike.

pub mod published_tools;

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mcpproxy_policy::RecordScope;
use uuid::Uuid;

use crate::chain::ChainHead;
use crate::filter::{Conditions, Filter};
use crate::query::{self, Dialect, IdAndSize, StoreQuery, TallyColumns};
use crate::record::{Hash, Record};
use crate::row::{Cell, Row};
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

/// Database that records are read from, and that tokens and published tools are in.
#[async_trait]
pub(crate) trait DatabaseReader: Send + Sync {
    /// SQL in its words.
    fn dialect(&self) -> &'static Dialect;

    /// Answers a query with the cells of each row.
    async fn ask(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError>;

    /// Runs a statement that changes something other than records, in a transaction that waits for those before it;
    /// answers with the cells that it returns. What it did is on disk then.
    async fn change(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError>;

    /// Query of what is selected from the records that conditions admit, before the id `before`;
    /// put so that it can be answered from an index.
    async fn narrowed(
        &self,
        select: &str,
        conditions: Conditions,
        before: Option<Uuid>,
    ) -> Result<StoreQuery, StoreError>;
}

/// Reads records. A clone reads from the same database.
#[derive(Clone)]
pub struct Store(Arc<dyn DatabaseReader>);

impl Store {
    pub(crate) fn new(reader: impl DatabaseReader + 'static) -> Self {
        Self(Arc::new(reader))
    }

    /// Records from the newest to the oldest, beginning after the one with the id `before`. Ends
    /// early when the records are large; it then still has one at least.
    pub async fn page(
        &self,
        filter: &Filter,
        mut before: Option<Uuid>,
        limit: usize,
    ) -> Result<RecordPage, StoreError> {
        let limit = limit.clamp(1, PAGE_RECORDS);
        loop {
            let mut query = self.narrowed(IdAndSize::SELECT, filter, before).await?;
            query.sql.push_str(self.0.dialect().has_readable_id);
            query.push(" ORDER BY id DESC LIMIT {}", bound(limit + 1));
            let (ids, next) = fitting(&self.0.ask(query).await?, limit);
            let records = self.records(&ids).await?;
            // Where a whole page cannot be read, the next one may: an empty one would look like
            // the end.
            if !records.is_empty() || next.is_none() {
                return Ok(RecordPage { records, next });
            }
            before = next;
        }
    }

    /// One record, for somebody who may see these: another one is as absent as one that never was.
    pub async fn find(&self, id: Uuid, scope: &RecordScope) -> Result<Option<Record>, StoreError> {
        let found = self.records(&[id]).await?.pop();
        Ok(found.filter(|record| record.is_within(scope)))
    }

    /// Id of the oldest record.
    pub async fn oldest(&self, filter: &Filter) -> Result<Option<Uuid>, StoreError> {
        let mut query = self.narrowed("SELECT id", filter, None).await?;
        query.sql.push_str(self.0.dialect().has_readable_id);
        query.sql.push_str(" ORDER BY id LIMIT 1");
        Ok(self.first(query).await?.and_then(|id| id.uuid()))
    }

    /// Tallies of the records of each sort.
    pub async fn tally(&self, filter: &Filter) -> Result<Vec<Tally>, StoreError> {
        let mut query = if *filter == Filter::default() {
            // Where every row counts, an index would only be a detour.
            StoreQuery::new(format!("{} FROM activity", TallyColumns::SELECT), [])
        } else {
            self.narrowed(TallyColumns::SELECT, filter, None).await?
        };
        query.sql.push_str(" GROUP BY 1, 2, 3, 4, 5");
        let found = self.0.ask(query).await?;
        Ok(found.iter().filter_map(|cells| tally(cells)).collect())
    }

    /// Number of records.
    pub async fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let query = self.narrowed("SELECT count(*)", filter, None).await?;
        let count = self.first(query).await?;
        Ok(count.and_then(|count| count.int()).map_or(0, counted))
    }

    /// The chains that have records, with how many links each ever had.
    pub async fn chains(&self) -> Result<Vec<(Uuid, ChainHead)>, StoreError> {
        let dialect = self.0.dialect();
        let found = self.0.ask(StoreQuery::new(dialect.chains, [])).await?;
        let mut chains = Vec::with_capacity(found.len());
        for chain in found.iter().flatten().filter_map(Cell::uuid) {
            let heads = StoreQuery::new(dialect.heads, [chain.into()]);
            chains.push((chain, query::head(&self.0.ask(heads).await?)));
        }
        Ok(chains)
    }

    /// Links of a chain in their order, from the first one after `after`.
    pub async fn links(
        &self,
        chain: Uuid,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredLink>, StoreError> {
        let sql = (self.0.dialect().links)(Row::column_names());
        let values = [chain.into(), after.into(), bound(limit).into()];
        let found = self.0.ask(StoreQuery::new(sql, values)).await?;
        let links = found.into_iter().filter_map(|cells| {
            let mut cells = cells.into_iter();
            Some(StoredLink {
                seq: cells.next()?.int()?,
                is_opening: cells.next()?.int()? == 1,
                row: Row::read(cells),
            })
        });
        Ok(links.collect())
    }

    /// A record that has no place in any chain. The log never writes one.
    pub async fn stray(&self) -> Result<Option<Row>, StoreError> {
        let query = StoreQuery::new(self.0.dialect().stray(), []);
        Ok(self.0.ask(query).await?.pop().map(Row::read))
    }

    /// The id of the record that so many newer ones precede.
    pub async fn nth_newest(&self, newer: u64) -> Result<Option<Uuid>, StoreError> {
        let sql = self.0.dialect().nth_newest();
        let query = StoreQuery::new(sql, [bound(newer).into()]);
        Ok(self.first(query).await?.and_then(|id| id.uuid()))
    }

    /// The first links of a chain whose records are not older than an id: its lowest number.
    pub async fn first_since(&self, chain: Uuid, id: Uuid) -> Result<Option<i64>, StoreError> {
        let values = [chain.into(), id.into(), LOOKED_AT.into()];
        let query = StoreQuery::new(self.0.dialect().first_since(), values);
        Ok(self.first(query).await?.and_then(|seq| seq.int()))
    }

    /// Answers a query about something other than records.
    pub(crate) async fn ask(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError> {
        self.0.ask(query).await
    }

    /// Changes something other than records, in a transaction of its own.
    pub(crate) async fn change(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError> {
        self.0.change(query).await
    }

    async fn narrowed(
        &self,
        select: &str,
        filter: &Filter,
        before: Option<Uuid>,
    ) -> Result<StoreQuery, StoreError> {
        let conditions = filter.conditions();
        // No text of ours has a zero character, and PostgreSQL does not even take one.
        let has_zero =
            |(_, value): &(_, Cell)| value.text().is_some_and(|text| text.contains('\0'));
        if conditions.equal.iter().any(has_zero) {
            return Ok(StoreQuery::new(
                format!("{select} FROM activity WHERE FALSE"),
                [],
            ));
        }
        self.0.narrowed(select, conditions, before).await
    }

    /// Records with these ids, newest first.
    async fn records(&self, ids: &[Uuid]) -> Result<Vec<Record>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<String> = ids.iter().map(|id| id.simple().to_string()).collect();
        let query = StoreQuery::new(self.0.dialect().rows(), [ids.join(",").into()]);
        let rows = self.0.ask(query).await?.into_iter().map(Row::read);
        let mut records: Vec<Record> = rows.filter_map(|row| readable(&row)).collect();
        records.sort_unstable_by_key(|record| Reverse(record.id));
        Ok(records)
    }

    async fn first(&self, query: StoreQuery) -> Result<Option<Cell>, StoreError> {
        let found = self.0.ask(query).await?;
        Ok(found.into_iter().flatten().next())
    }
}

/// Ids of as many records as fit into a page, and where the next one begins.
fn fitting(found: &[Vec<Cell>], limit: usize) -> (Vec<Uuid>, Option<Uuid>) {
    let mut ids = Vec::new();
    let mut bytes = 0;
    for (index, cells) in found.iter().enumerate() {
        if index == limit || bytes >= bound(PAGE_BYTES) {
            let next = ids.last().copied();
            return (ids, next);
        }
        if let Some(found) = IdAndSize::read(cells) {
            ids.extend(found.id.uuid());
            bytes += found.size.int().unwrap_or(0);
        }
    }
    (ids, None)
}

fn tally(cells: &[Cell]) -> Option<Tally> {
    let cells = TallyColumns::read(cells)?;
    Some(Tally {
        kind: cells.kind.owned().unwrap_or_default(),
        server: cells.server.owned(),
        tool: cells.tool.owned(),
        intent: cells.intent.owned(),
        status: cells.status.owned().unwrap_or_default(),
        count: counted(cells.count.int()?),
    })
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
    pub store: Store,
}

/// Queries of one process that are answered at once. More would only wait for each other.
pub(crate) const MOST_QUERIES: usize = 4;

/// Time that a query waits for its connection.
pub(crate) const SLOT_WAIT: Duration = Duration::from_secs(30);

/// A page ends when its records have this much text: it is held in memory as a whole.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The most records of one page.
const PAGE_RECORDS: usize = 10_000;

/// Most records since a moment that are looked at for the lowest number.
const LOOKED_AT: i64 = 10_000;

/// Record of a row, unless somebody made the row unreadable.
fn readable(row: &Row) -> Option<Record> {
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

/// Number of steps that tables have taken. Those of a newer version are refused: they may mean
/// something else. A negative number is as strange as a newer one.
pub(crate) fn known_steps(done: i64, known: usize, place: &str) -> Result<usize, StoreError> {
    let steps = usize::try_from(done).unwrap_or(usize::MAX);
    if steps > known {
        return Err(StoreError::Unusable(format!(
            "The activity log was written by a newer version of mcpproxy (its tables are at version {steps}, this program knows {known}). Install that version again, or use another {place}"
        )));
    }
    Ok(steps)
}
