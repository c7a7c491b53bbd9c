//! Cells of rows to and from SQLite, cell by cell, each as it is stored.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use uuid::Uuid;

use crate::record::Hash;
use crate::row::{Cell, Row};

/// Cell as a parameter, without a copy.
pub(super) struct SqliteParameter<'a>(pub(super) &'a Cell);

impl ToSql for SqliteParameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Integer(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Reads a row whose columns begin at `from`.
pub(super) fn read_row(row: &rusqlite::Row<'_>, from: usize) -> rusqlite::Result<Row> {
    let mut indexes = from..;
    Row::read(|| row.get_ref(indexes.next().unwrap_or(from)).map(cell))
}

/// UUID in a value, where there is one.
pub(super) fn uuid(value: ValueRef<'_>) -> Option<Uuid> {
    match value {
        ValueRef::Blob(bytes) => Uuid::from_slice(bytes).ok(),
        _ => None,
    }
}

/// Hash in a value; one that no link has where there is none.
pub(super) fn hash(value: ValueRef<'_>) -> Hash {
    cell(value).hash()
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
