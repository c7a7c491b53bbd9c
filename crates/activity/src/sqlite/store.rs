//! Reading.

use std::path::Path;

use futures_util::future::BoxFuture;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::cells::{self, COLUMNS};
use super::connection::Missing;
use super::journal::head;
use super::query::{self, Lead};
use super::readers::Readers;
use crate::chain::ChainHead;
use crate::filter::{Conditions, Filter};
use crate::record::Record;
use crate::row::Row;
use crate::store::{RecordPage, Store, StoreError, StoredLink};
use crate::summary::Tally;

/// A page ends when its records have this much text: it is held in memory as a whole.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The most records of one page.
const PAGE_RECORDS: usize = 10_000;

/// How many of the records since a moment are looked at for the lowest number.
const LOOKED_AT: i64 = 10_000;

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

impl Store for SqliteStore {
    fn page<'a>(
        &'a self,
        filter: &'a Filter,
        before: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'a, Result<RecordPage, StoreError>> {
        let conditions = filter.conditions();
        Box::pin(
            self.readers
                .ask(move |connection| page(connection, &conditions, before, limit)),
        )
    }

    fn find(&self, id: Uuid) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        Box::pin(self.readers.ask(move |connection| {
            let row = connection
                .prepare_cached(&query::find(&COLUMNS))?
                .query_row([id.as_bytes()], |row| cells::read_row(row, 0))
                .optional()?;
            Ok(row.and_then(|row| readable(id, &row)))
        }))
    }

    fn tally<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<Vec<Tally>, StoreError>> {
        let conditions = filter.conditions();
        Box::pin(
            self.readers
                .ask(move |connection| tally(connection, &conditions)),
        )
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<u64, StoreError>> {
        let conditions = filter.conditions();
        Box::pin(self.readers.ask(move |connection| {
            let lead = query::lead(connection, &conditions, None)?;
            let mut statement = query::count(&conditions, &lead).prepare(connection)?;
            let mut rows = statement.raw_query();
            let count = rows.next()?.map(|row| row.get(0)).transpose()?;
            Ok(count.map_or(0, number))
        }))
    }

    fn chains(&self) -> BoxFuture<'_, Result<Vec<(Uuid, ChainHead)>, StoreError>> {
        Box::pin(self.readers.ask(chains))
    }

    fn links(
        &self,
        chain: Uuid,
        after: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredLink>, StoreError>> {
        Box::pin(self.readers.ask(move |connection| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            connection
                .prepare_cached(&query::links(&COLUMNS))?
                .query_map(params![chain.as_bytes(), after, i64::MAX, limit], |row| {
                    Ok(StoredLink {
                        seq: row.get(0)?,
                        is_opening: row.get(1)?,
                        row: cells::read_row(row, 2)?,
                    })
                })?
                .collect()
        }))
    }

    fn stray(&self) -> BoxFuture<'_, Result<Option<Row>, StoreError>> {
        Box::pin(self.readers.ask(|connection| {
            connection
                .prepare_cached(&query::stray(&COLUMNS))?
                .query_row([], |row| cells::read_row(row, 0))
                .optional()
        }))
    }

    fn nth_newest(&self, newer: u64) -> BoxFuture<'_, Result<Option<Uuid>, StoreError>> {
        Box::pin(self.readers.ask(move |connection| {
            let id = connection
                .prepare_cached(query::NTH_NEWEST)?
                .query_row([i64::try_from(newer).unwrap_or(i64::MAX)], |row| {
                    row.get_ref(0).map(cells::uuid)
                })
                .optional()?;
            Ok(id.flatten())
        }))
    }

    fn first_since(&self, chain: Uuid, id: Uuid) -> BoxFuture<'_, Result<Option<i64>, StoreError>> {
        Box::pin(self.readers.ask(move |connection| {
            connection
                .prepare_cached(query::FIRST_SINCE)?
                .query_row(params![chain.as_bytes(), id.as_bytes(), LOOKED_AT], |row| {
                    row.get(0)
                })
        }))
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
    let mut statement = connection.prepare_cached(&query::at_place(&COLUMNS))?;
    let mut page = RecordPage::default();
    let mut bytes = 0;
    for (index, (id, place)) in found.iter().enumerate() {
        if index == limit || bytes >= PAGE_BYTES {
            page.next = index.checked_sub(1).map(|last| found[last].0);
            break;
        }
        let row = statement.query_row([place], |row| cells::read_row(row, 0))?;
        bytes += size(&row);
        page.records.extend(readable(*id, &row));
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
            count: number(row.get(5)?),
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
            Ok(row
                .get_ref(0)?
                .as_blob_or_null()
                .ok()
                .flatten()
                .map(<[u8]>::to_vec))
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

fn readable(id: Uuid, row: &Row) -> Option<Record> {
    let record = row.to_record();
    if record.is_none() {
        tracing::warn!(%id, "a record of the activity log cannot be read and is left out; `mcpproxy activity verify` tells more");
    }
    record
}

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn size(row: &Row) -> usize {
    let cells = row.request.cells().into_iter();
    cells
        .chain(row.outcome.cells())
        .map(|cell| cell.text().map_or(0, str::len))
        .sum()
}
