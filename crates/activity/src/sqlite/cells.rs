//! Rows to and from SQLite, cell by cell, each as it is stored.

use std::sync::{Arc, LazyLock};

use rusqlite::Statement;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use uuid::Uuid;

use crate::record::{ChainLink, Hash};
use crate::row::{Cell, OUTCOME, REQUEST, Row};

/// The columns of a row's places in its chain, after [`REQUEST`] and [`OUTCOME`].
pub(super) const LINKS: [&str; 7] = [
    "chain",
    "opened_seq",
    "opened_prev_hash",
    "opened_hash",
    "seq",
    "prev_hash",
    "hash",
];

/// Stands for a hash that cannot be read. No link has it: zeros would be those of a first link.
const NO_HASH: Hash = Hash([0xff; 32]);

/// All columns, in the order [`read_row`] expects.
pub(super) static COLUMNS: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = REQUEST
        .iter()
        .chain(&OUTCOME)
        .map(|column| column.name)
        .chain(LINKS)
        .collect();
    names.join(", ")
});

/// A cell as a parameter, without a copy.
pub(super) struct Bound<'a>(pub(super) &'a Cell);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Integer(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Binds the three columns of a link from a parameter on.
pub(super) fn bind_link(
    statement: &mut Statement<'_>,
    from: usize,
    link: Option<&ChainLink>,
) -> rusqlite::Result<()> {
    statement.raw_bind_parameter(from, link.map(|link| link.seq))?;
    statement.raw_bind_parameter(from + 1, link.map(|link| link.prev_hash.0))?;
    statement.raw_bind_parameter(from + 2, link.map(|link| link.hash.0))
}

/// Reads a row whose columns begin at `from`.
///
/// Whatever somebody put into it comes back as something that was never written there, and not as
/// an error, so that the check of the chain can name the record.
pub(super) fn read_row(row: &rusqlite::Row<'_>, from: usize) -> rusqlite::Result<Row> {
    let outcome_from = from + REQUEST.len();
    let links_from = outcome_from + OUTCOME.len();
    let request: Arc<[Cell]> = (from..outcome_from)
        .map(|index| row.get_ref(index).map(cell))
        .collect::<rusqlite::Result<_>>()?;
    let outcome = (outcome_from..links_from)
        .map(|index| row.get_ref(index).map(cell))
        .collect::<rusqlite::Result<_>>()?;
    Ok(Row {
        request,
        outcome,
        chain: uuid(row.get_ref(links_from)?).unwrap_or(Uuid::max()),
        opened: link(row, links_from + 1)?,
        closed: link(row, links_from + 4)?,
    })
}

fn link(row: &rusqlite::Row<'_>, from: usize) -> rusqlite::Result<Option<ChainLink>> {
    let ValueRef::Integer(seq) = row.get_ref(from)? else {
        return Ok(None);
    };
    Ok(Some(ChainLink {
        seq,
        prev_hash: hash(row.get_ref(from + 1)?),
        hash: hash(row.get_ref(from + 2)?),
    }))
}

/// A UUID, where there is one.
pub(super) fn uuid(value: ValueRef<'_>) -> Option<Uuid> {
    match value {
        ValueRef::Blob(bytes) => Uuid::from_slice(bytes).ok(),
        _ => None,
    }
}

/// A hash; one that nothing has where there is none.
pub(super) fn hash(value: ValueRef<'_>) -> Hash {
    match value {
        ValueRef::Blob(bytes) => Hash::from_bytes(bytes).unwrap_or(NO_HASH),
        _ => NO_HASH,
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        // No column holds such numbers, and none of them holds this as text either.
        ValueRef::Real(number) => Cell::Text(format!("{number:?}")),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cell::from(text),
            Err(_) => Cell::Bytes(bytes.to_vec()),
        },
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}
