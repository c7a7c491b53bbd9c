//! Many rows in two statements: a batch costs as many round trips as one record.

use std::collections::HashSet;
use std::sync::LazyLock;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};
use uuid::Uuid;

use super::cells::{self, PostgresParameter, type_of};
use crate::row::{Cell, ChainColumns, OutcomeColumns, Row};
use crate::search_terms;

/// The words of a row travel in one text: their characters are never a space.
const WORDS: &str = "array_to_tsvector(string_to_array(new.words, ' '))";

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let types = Row::columns().map(type_of).chain(["text"]);
    format!(
        "INSERT INTO activity ({columns}, words) SELECT {columns}, {WORDS} FROM unnest({arrays}) AS new ({columns}, words)",
        columns = Row::column_names(),
        arrays = arrays(types),
    )
});

static COMPLETE: LazyLock<String> = LazyLock::new(|| {
    let mut names: Vec<&str> = OutcomeColumns::COLUMNS
        .iter()
        .map(|column| column.name)
        .collect();
    names.extend(["seq", "prev_hash", "hash"]);
    let sets: Vec<String> = names
        .iter()
        .map(|name| format!("{name} = new.{name}"))
        .collect();
    let types = OutcomeColumns::COLUMNS
        .iter()
        .map(type_of)
        .chain(["bigint", "bytea", "bytea", "uuid", "text"]);
    format!(
        "UPDATE activity SET {sets}, words = coalesce({WORDS}, activity.words) FROM unnest({arrays}) AS new ({names}, id, words) WHERE activity.id = new.id RETURNING activity.id",
        sets = sets.join(", "),
        arrays = arrays(types),
        names = names.join(", "),
    )
});

/// Client that knows the two statements.
pub(super) struct WritingClient {
    pub(super) client: Client,
    insert: Statement,
    complete: Statement,
}

impl WritingClient {
    /// Makes the statements known to a client whose tables are there.
    pub(super) async fn prepare(client: Client) -> Result<Self, Error> {
        Ok(Self {
            insert: client.prepare(&INSERT).await?,
            complete: client.prepare(&COMPLETE).await?,
            client,
        })
    }

    /// Writes the rows. A row that completes one that is no longer there is inserted.
    pub(super) async fn write(&self, rows: &[Row]) -> Result<(), Error> {
        let (ended, new): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.is_completion());
        self.insert(&new).await?;
        // An outcome adds nothing to search for but an error.
        let terms = |row: &Row| {
            let has_error = row.outcome.error_code != Cell::Null;
            has_error.then(|| search_terms::of_row(row))
        };
        let found = self
            .run(&self.complete, &ended, outcome_cells, terms)
            .await?;
        let there: HashSet<Uuid> = found.iter().flatten().filter_map(Cell::uuid).collect();
        let is_gone = |row: &&Row| row.id().is_none_or(|id| !there.contains(&id));
        let gone: Vec<&Row> = ended.into_iter().filter(is_gone).collect();
        self.insert(&gone).await
    }

    async fn insert(&self, rows: &[&Row]) -> Result<(), Error> {
        let terms = |row: &Row| Some(search_terms::of_row(row));
        let inserted = self.run(&self.insert, rows, all_cells, terms);
        inserted.await.map(drop)
    }

    /// Runs a statement with the cells of many rows, all of one column together, and their words.
    async fn run(
        &self,
        statement: &Statement,
        rows: &[&Row],
        cells_of: for<'a> fn(&'a Row, &'a ChainColumns) -> Vec<&'a Cell>,
        terms: impl Fn(&Row) -> Option<String>,
    ) -> Result<Vec<Vec<Cell>>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let chains: Vec<_> = rows.iter().map(|row| row.chain_columns()).collect();
        let mut columns: Vec<Vec<PostgresParameter<'_>>> = Vec::new();
        for (row, chain) in rows.iter().zip(&chains) {
            let cells = cells_of(row, chain);
            columns.resize_with(cells.len(), Vec::new);
            for (column, cell) in columns.iter_mut().zip(cells) {
                column.push(PostgresParameter(cell));
            }
        }
        let terms: Vec<Option<String>> = rows.iter().map(|row| terms(row)).collect();
        let mut values: Vec<&(dyn ToSql + Sync)> = Vec::with_capacity(columns.len() + 1);
        values.extend(columns.iter().map(|column| column as &(dyn ToSql + Sync)));
        values.push(&terms);
        let found = self.client.query(statement, &values).await?;
        found.iter().map(cells::cells).collect()
    }
}

/// Cells of a whole row.
fn all_cells<'a>(row: &'a Row, chain: &'a ChainColumns) -> Vec<&'a Cell> {
    let cells = row.request.cells().into_iter();
    let cells = cells.chain(row.outcome.cells()).chain(chain.cells());
    cells.collect()
}

/// Cells that give a row its outcome, and its id.
fn outcome_cells<'a>(row: &'a Row, chain: &'a ChainColumns) -> Vec<&'a Cell> {
    let link = [&chain.seq, &chain.prev_hash, &chain.hash, &row.request.id];
    row.outcome.cells().into_iter().chain(link).collect()
}

fn arrays(types: impl Iterator<Item = &'static str>) -> String {
    let arrays: Vec<String> = (1..)
        .zip(types)
        .map(|(number, of)| format!("${number}::{of}[]"))
        .collect();
    arrays.join(", ")
}
