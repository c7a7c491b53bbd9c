//! Writing.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rusqlite::{Transaction, TransactionBehavior, params};
use uuid::Uuid;

use super::cells::{self, bind};
use super::connection::{self, Attached};
use super::fault::needs_new_connection;
use super::query;
use crate::chain::ChainHead;
use crate::query::{HASH_AT, StoreQuery, head};
use crate::record::Hash;
use crate::row::{Cell, OutcomeColumns, Row};
use crate::search_terms;
use crate::store::{Journal, StoreError, bound};

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let marks = vec!["?"; Row::columns().count()].join(", ");
    format!(
        "INSERT INTO activity ({}) VALUES ({marks})",
        Row::column_names()
    )
});

static COMPLETE: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<String> = OutcomeColumns::COLUMNS
        .iter()
        .map(|column| column.name)
        .chain(["seq", "prev_hash", "hash"])
        .map(|name| format!("{name} = ?"))
        .collect();
    format!(
        "UPDATE activity SET {} WHERE id = ? RETURNING place",
        names.join(", ")
    )
});

/// The journal of one process. Its connection is made anew after the disk was in trouble.
pub(super) struct SqliteJournal {
    path: PathBuf,
    attached: Option<Attached>,
}

impl SqliteJournal {
    /// Opens the file, and makes it where it is not there.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        connection::make_private(path);
        Ok(Self {
            path: path.to_owned(),
            attached: Some(connection::for_writing(path)?),
        })
    }

    /// Does something in one transaction. Nothing of it stays unless all of it worked.
    fn transact<T>(
        &mut self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let attached = self.attach()?;
        let run = || {
            let transaction = attached.connection.transaction_with_behavior(behavior)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        run().map_err(|error: rusqlite::Error| {
            if needs_new_connection(&error) {
                self.attached = None;
            }
            error.into()
        })
    }

    fn ask(&mut self, query: &StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError> {
        self.transact(TransactionBehavior::Deferred, |transaction| {
            cells::ask(transaction, query)
        })
    }

    fn attach(&mut self) -> Result<&mut Attached, StoreError> {
        // SQLite would go on writing to a file that was deleted, and all of it would be lost.
        let is_current = |attached: &Attached| attached.is_current(&self.path);
        let attached = match self.attached.take().filter(is_current) {
            Some(attached) => attached,
            None => connection::for_writing(&self.path)?,
        };
        Ok(self.attached.insert(attached))
    }
}

impl Journal for SqliteJournal {
    fn head(&mut self, chain: Uuid) -> Result<ChainHead, StoreError> {
        let heads = StoreQuery::new(query::DIALECT.heads, [chain.into()]);
        Ok(head(&self.ask(&heads)?))
    }

    fn hash_at(&mut self, chain: Uuid, seq: i64) -> Result<Option<Hash>, StoreError> {
        let hash = StoreQuery::new(HASH_AT, [chain.into(), seq.into()]);
        let found = self.ask(&hash)?;
        Ok(found.iter().flatten().next().map(Cell::hash))
    }

    fn append(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        self.transact(TransactionBehavior::Immediate, |transaction| {
            for row in rows {
                // A row that somebody removed in the meantime is written anew: all of it is here.
                if !row.is_completion() || !complete(transaction, row)? {
                    insert(transaction, row)?;
                }
            }
            Ok(())
        })
    }

    fn prune(&mut self, chain: Uuid, through: i64, limit: usize) -> Result<usize, StoreError> {
        self.transact(TransactionBehavior::Immediate, |transaction| {
            let places = places_through(transaction, chain, through, limit)?;
            let mut rows = transaction.prepare_cached("DELETE FROM activity WHERE place = ?")?;
            let mut words =
                transaction.prepare_cached("DELETE FROM activity_words WHERE rowid = ?")?;
            for place in &places {
                rows.execute([place])?;
                words.execute([place])?;
            }
            Ok(places.len())
        })
    }
}

fn insert(transaction: &Transaction<'_>, row: &Row) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(&INSERT)?;
    let chain = row.chain_columns();
    let cells = row.request.cells().into_iter();
    let cells = cells.chain(row.outcome.cells()).chain(chain.cells());
    bind(&mut statement, cells)?;
    statement.raw_execute()?;
    let place = transaction.last_insert_rowid();
    let terms = search_terms::of_row(row);
    if !terms.is_empty() {
        transaction
            .prepare_cached("INSERT INTO activity_words (rowid, words) VALUES (?, ?)")?
            .execute(params![place, terms])?;
    }
    Ok(())
}

/// Gives a row that is there its outcome. Tells whether it is there.
fn complete(transaction: &Transaction<'_>, row: &Row) -> rusqlite::Result<bool> {
    let mut statement = transaction.prepare_cached(&COMPLETE)?;
    let chain = row.chain_columns();
    let link = [&chain.seq, &chain.prev_hash, &chain.hash, &row.request.id];
    let cells = row.outcome.cells().into_iter();
    bind(&mut statement, cells.chain(link))?;
    let place: Option<i64> = {
        let mut rows = statement.raw_query();
        rows.next()?.map(|row| row.get(0)).transpose()?
    };
    // An outcome adds nothing to search for but an error.
    if let Some(place) = place
        && row.outcome.error_code != Cell::Null
    {
        transaction
            .prepare_cached("INSERT OR REPLACE INTO activity_words (rowid, words) VALUES (?, ?)")?
            .execute(params![place, search_terms::of_row(row)])?;
    }
    Ok(place.is_some())
}

/// Places of rows that lie wholly at or before a link, oldest first.
fn places_through(
    transaction: &Transaction<'_>,
    chain: Uuid,
    through: i64,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let mut places = Vec::new();
    // Those without an outcome come last: by then next to no others are in the way.
    for sql in [query::CLOSED_THROUGH, query::OPEN_THROUGH] {
        let rest = bound(limit.saturating_sub(places.len()));
        let values = [chain.into(), through.into(), rest.into()];
        let found = cells::ask(transaction, &StoreQuery::new(sql, values))?;
        places.extend(found.iter().flatten().filter_map(Cell::int));
    }
    Ok(places)
}
