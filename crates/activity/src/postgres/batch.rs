//! Many changes in two statements: a batch costs as many round trips as one record.

use std::collections::HashSet;
use std::sync::LazyLock;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::cells::{self, Bound, COLUMNS, LINKS, type_of};
use crate::record::ChainLink;
use crate::row::{Cell, OUTCOME, REQUEST, Row};
use crate::search_terms;
use crate::store::{Change, What};

/// The words of a row travel in one text: their characters are never a space.
const WORDS: &str = "array_to_tsvector(string_to_array(new.words, ' '))";

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let types = REQUEST
        .iter()
        .chain(&OUTCOME)
        .map(type_of)
        .chain(LINKS.map(|(_, of)| of))
        .chain(["text"]);
    format!(
        "INSERT INTO activity ({columns}, words) SELECT {columns}, {WORDS} FROM unnest({arrays}) AS new ({columns}, words)",
        columns = *COLUMNS,
        arrays = arrays(types),
    )
});

static COMPLETE: LazyLock<String> = LazyLock::new(|| {
    let mut names: Vec<&str> = OUTCOME.iter().map(|column| column.name).collect();
    names.extend(["seq", "prev_hash", "hash"]);
    let sets: Vec<String> = names
        .iter()
        .map(|name| format!("{name} = new.{name}"))
        .collect();
    let types = OUTCOME
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

/// The two statements, known to one connection.
pub(super) struct Statements {
    insert: Statement,
    complete: Statement,
}

impl Statements {
    /// Makes them known to a connection whose tables are there.
    pub(super) async fn prepare(client: &Client) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            insert: client.prepare(&INSERT).await?,
            complete: client.prepare(&COMPLETE).await?,
        })
    }
}

/// Makes the changes. What is completed and no longer there is inserted.
pub(super) async fn apply(
    client: &Client,
    statements: &Statements,
    changes: &[Change],
) -> Result<(), tokio_postgres::Error> {
    let of = |what: What| changes.iter().filter(move |change| change.what == what);
    let new: Vec<&Change> = of(What::Insert).collect();
    insert(client, statements, &new).await?;
    let ended: Vec<&Change> = of(What::Complete).collect();
    let there = complete(client, statements, &ended).await?;
    let gone: Vec<Change> = ended
        .into_iter()
        .filter(|change| change.row.id().is_none_or(|id| !there.contains(&id)))
        .map(with_words)
        .collect();
    insert(client, statements, &gone.iter().collect::<Vec<_>>()).await
}

async fn insert(
    client: &Client,
    statements: &Statements,
    changes: &[&Change],
) -> Result<(), tokio_postgres::Error> {
    if changes.is_empty() {
        return Ok(());
    }
    let rows: Vec<Vec<Cell>> = changes.iter().map(|change| tail(&change.row)).collect();
    let words: Vec<Option<String>> = changes.iter().map(|change| joined(change)).collect();
    let width = REQUEST.len() + OUTCOME.len() + LINKS.len();
    let columns: Vec<Vec<Bound<'_>>> = (0..width)
        .map(|index| {
            changes
                .iter()
                .zip(&rows)
                .map(|(change, tail)| {
                    let row = &change.row;
                    Bound(nth(index, &[&row.request, &row.outcome, tail]))
                })
                .collect()
        })
        .collect();
    client
        .execute(&statements.insert, &parameters(&columns, &words))
        .await?;
    Ok(())
}

async fn complete(
    client: &Client,
    statements: &Statements,
    changes: &[&Change],
) -> Result<HashSet<Uuid>, tokio_postgres::Error> {
    if changes.is_empty() {
        return Ok(HashSet::new());
    }
    let rows: Vec<Vec<Cell>> = changes
        .iter()
        .map(|change| {
            let mut cells = link(change.row.closed.as_ref());
            cells.extend(change.row.request.first().cloned());
            cells
        })
        .collect();
    let words: Vec<Option<String>> = changes.iter().map(|change| joined(change)).collect();
    let columns: Vec<Vec<Bound<'_>>> = (0..OUTCOME.len() + 4)
        .map(|index| {
            changes
                .iter()
                .zip(&rows)
                .map(|(change, tail)| Bound(nth(index, &[&change.row.outcome, tail])))
                .collect()
        })
        .collect();
    let found = client
        .query(&statements.complete, &parameters(&columns, &words))
        .await?;
    let ids = found.iter().map(|row| cells::cell(row, 0));
    let ids: Vec<Cell> = ids.collect::<Result<_, _>>()?;
    Ok(ids.iter().filter_map(Cell::uuid).collect())
}

fn parameters<'a>(
    columns: &'a [Vec<Bound<'a>>],
    words: &'a Vec<Option<String>>,
) -> Vec<&'a (dyn ToSql + Sync)> {
    let columns = columns.iter().map(|column| column as &(dyn ToSql + Sync));
    columns.chain([words as &(dyn ToSql + Sync)]).collect()
}

fn arrays(types: impl Iterator<Item = &'static str>) -> String {
    let arrays: Vec<String> = (1..)
        .zip(types)
        .map(|(number, of)| format!("${number}::{of}[]"))
        .collect();
    arrays.join(", ")
}

/// The cells of a row's places in its chain.
fn tail(row: &Row) -> Vec<Cell> {
    let mut cells = vec![Cell::from(row.chain)];
    cells.extend(link(row.opened.as_ref()));
    cells.extend(link(row.closed.as_ref()));
    cells
}

fn link(link: Option<&ChainLink>) -> Vec<Cell> {
    match link {
        Some(link) => vec![
            Cell::Int(link.seq),
            Cell::Bytes(link.prev_hash.0.to_vec()),
            Cell::Bytes(link.hash.0.to_vec()),
        ],
        None => vec![Cell::Null; 3],
    }
}

fn nth<'a>(index: usize, parts: &[&'a [Cell]]) -> &'a Cell {
    let mut index = index;
    for part in parts {
        match part.get(index) {
            Some(cell) => return cell,
            None => index -= part.len(),
        }
    }
    &Cell::Null
}

fn with_words(change: &Change) -> Change {
    let mut change = change.clone();
    if change.words.is_none() {
        change.words = change
            .row
            .to_record()
            .map(|record| search_terms::of_record(&record));
    }
    change
}

fn joined(change: &Change) -> Option<String> {
    Some(change.words.as_ref()?.as_str().to_owned())
}
