//! Reading.

use std::path::Path;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::cells;
use super::connection::Missing;
use super::journal::head;
use super::query::{self, Lead};
use super::readers::Readers;
use crate::chain::ChainHead;
use crate::filter::{Conditions, Filter};
use crate::record::Record;
use crate::row::Row;
use crate::store::{
    LOOKED_AT, PAGE_BYTES, PAGE_RECORDS, RecordPage, Store, StoreError, StoredLink, bound, counted,
    readable,
};
use crate::summary::Tally;

/// The records in a file.
pub(super) struct SqliteStore {
    readers: Readers,
}

impl SqliteStore {
    /// Reads a file; nothing is opened yet.
    pub(super) fn new(path: &Path, missing: Missing) -> Self {
        Self {
            readers: Readers::new(path, missing),
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn page(
        &self,
        filter: &Filter,
        before: Option<Uuid>,
        limit: usize,
    ) -> Result<RecordPage, StoreError> {
        let conditions = filter.conditions();
        let ask = move |connection: &Connection| page(connection, &conditions, before, limit);
        self.readers.ask(ask).await
    }

    async fn find(&self, id: Uuid) -> Result<Option<Record>, StoreError> {
        let ask = move |connection: &Connection| {
            connection
                .prepare_cached(&query::find(Row::column_names()))?
                .query_row([id.as_bytes()], |row| cells::read_row(row, 0))
                .optional()
        };
        let row = self.readers.ask(ask).await?;
        Ok(row.as_ref().and_then(readable))
    }

    async fn tally(&self, filter: &Filter) -> Result<Vec<Tally>, StoreError> {
        let conditions = filter.conditions();
        let ask = move |connection: &Connection| tally(connection, &conditions);
        self.readers.ask(ask).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let conditions = filter.conditions();
        let ask = move |connection: &Connection| {
            let lead = query::lead(connection, &conditions, None)?;
            let mut statement = query::count(&conditions, &lead).prepare(connection)?;
            let mut rows = statement.raw_query();
            rows.next()?.map(|row| row.get(0)).transpose()
        };
        Ok(self.readers.ask(ask).await?.map_or(0, counted))
    }

    async fn chains(&self) -> Result<Vec<(Uuid, ChainHead)>, StoreError> {
        self.readers.ask(chains).await
    }

    async fn links(
        &self,
        chain: Uuid,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredLink>, StoreError> {
        let ask = move |connection: &Connection| {
            let values = params![chain.as_bytes(), after, i64::MAX, bound(limit)];
            let mut statement = connection.prepare_cached(&query::links(Row::column_names()))?;
            let links = statement.query_map(values, |row| {
                Ok(StoredLink {
                    seq: row.get(0)?,
                    is_opening: row.get(1)?,
                    row: cells::read_row(row, 2)?,
                })
            })?;
            links.collect()
        };
        self.readers.ask(ask).await
    }

    async fn stray(&self) -> Result<Option<Row>, StoreError> {
        let ask = |connection: &Connection| {
            connection
                .prepare_cached(&query::stray(Row::column_names()))?
                .query_row([], |row| cells::read_row(row, 0))
                .optional()
        };
        self.readers.ask(ask).await
    }

    async fn nth_newest(&self, newer: u64) -> Result<Option<Uuid>, StoreError> {
        let ask = move |connection: &Connection| {
            connection
                .prepare_cached(query::NTH_NEWEST)?
                .query_row([bound(newer)], |row| row.get_ref(0).map(cells::uuid))
                .optional()
        };
        Ok(self.readers.ask(ask).await?.flatten())
    }

    async fn first_since(&self, chain: Uuid, id: Uuid) -> Result<Option<i64>, StoreError> {
        let ask = move |connection: &Connection| {
            let values = params![chain.as_bytes(), id.as_bytes(), LOOKED_AT];
            let mut statement = connection.prepare_cached(query::FIRST_SINCE)?;
            statement.query_row(values, |row| row.get(0))
        };
        self.readers.ask(ask).await
    }
}

fn page(
    connection: &Connection,
    conditions: &Conditions,
    before: Option<Uuid>,
    limit: usize,
) -> rusqlite::Result<RecordPage> {
    let limit = limit.clamp(1, PAGE_RECORDS);
    let mut before = before;
    loop {
        let lead = query::lead(connection, conditions, before)?;
        let found = newest(connection, conditions, before, &lead, limit + 1)?;
        let page = records(connection, &found, limit)?;
        // Where a whole page cannot be read, the next one may: an empty one would look like the end.
        if !page.records.is_empty() || page.next.is_none() {
            return Ok(page);
        }
        before = page.next;
    }
}

/// The ids and places of the newest records, no more than `most`.
fn newest(
    connection: &Connection,
    conditions: &Conditions,
    before: Option<Uuid>,
    lead: &Lead,
    most: usize,
) -> rusqlite::Result<Vec<(Uuid, i64)>> {
    let is_sorted = !matches!(lead, Lead::Places(_));
    let mut statement = query::newest(conditions, before, lead).prepare(connection)?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if is_sorted && found.len() == most {
            break;
        }
        // What has no id any more cannot be paged over; the check of the chain names it.
        if let Some(id) = cells::uuid(row.get_ref(0)?) {
            found.push((id, row.get(1)?));
        }
    }
    if !is_sorted {
        found.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        found.truncate(most);
    }
    Ok(found)
}

/// The records of these rows, up to `limit` and to what a page may hold.
fn records(
    connection: &Connection,
    found: &[(Uuid, i64)],
    limit: usize,
) -> rusqlite::Result<RecordPage> {
    let mut statement = connection.prepare_cached(&query::at_place(Row::column_names()))?;
    let mut page = RecordPage::default();
    let mut bytes = 0;
    for (index, (_, place)) in found.iter().enumerate() {
        if index == limit || bytes >= PAGE_BYTES {
            page.next = index.checked_sub(1).map(|last| found[last].0);
            break;
        }
        let row = statement.query_row([place], |row| cells::read_row(row, 0))?;
        bytes += size(&row);
        page.records.extend(readable(&row));
    }
    Ok(page)
}

fn tally(connection: &Connection, conditions: &Conditions) -> rusqlite::Result<Vec<Tally>> {
    let lead = query::lead(connection, conditions, None)?;
    let mut statement = query::tally(conditions, &lead).prepare(connection)?;
    let mut rows = statement.raw_query();
    let mut tallies = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |index| -> rusqlite::Result<Option<String>> {
            Ok(row.get_ref(index)?.as_str().ok().map(str::to_owned))
        };
        tallies.push(Tally {
            kind: text(0)?.unwrap_or_default(),
            server: text(1)?,
            tool: text(2)?,
            intent: text(3)?,
            status: text(4)?.unwrap_or_default(),
            count: counted(row.get(5)?),
        });
    }
    Ok(tallies)
}

/// Every chain there is, each found by one step in an index of the numbers.
fn chains(connection: &Connection) -> rusqlite::Result<Vec<(Uuid, ChainHead)>> {
    let mut found = Vec::new();
    let mut last = Vec::new();
    let mut next = connection.prepare_cached(query::NEXT_CHAIN)?;
    loop {
        let chain = next.query_row([&last], |row| {
            let chain = row.get_ref(0)?.as_blob_or_null();
            Ok(chain.ok().flatten().map(<[u8]>::to_vec))
        })?;
        let Some(chain) = chain else {
            return Ok(found);
        };
        if let Ok(id) = Uuid::from_slice(&chain) {
            found.push((id, head(connection, id)?));
        }
        last = chain;
    }
}

fn size(row: &Row) -> usize {
    let cells = row.request.cells().into_iter();
    cells
        .chain(row.outcome.cells())
        .map(|cell| cell.text().map_or(0, str::len))
        .sum()
}
