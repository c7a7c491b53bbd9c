//! Cells of rows to and from SQLite, cell by cell, each as it is stored.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};

use crate::query::StoreQuery;
use crate::row::Cell;

/// Cell as a parameter, without a copy.
struct SqliteParameter<'a>(&'a Cell);

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

/// Answers a query with the cells of each row.
pub(super) fn ask(connection: &Connection, query: &StoreQuery) -> rusqlite::Result<Vec<Vec<Cell>>> {
    let mut statement = connection.prepare_cached(&query.sql)?;
    bind(&mut statement, &query.values)?;
    let width = statement.column_count();
    let rows = statement.raw_query().mapped(|row| {
        let cells = (0..width).map(|index| row.get_ref(index).map(cell));
        cells.collect()
    });
    rows.collect()
}

/// Binds cells to the parameters of a statement, in their order.
pub(super) fn bind<'a>(
    statement: &mut Statement<'_>,
    cells: impl IntoIterator<Item = &'a Cell>,
) -> rusqlite::Result<()> {
    (1..)
        .zip(cells)
        .try_for_each(|(index, cell)| statement.raw_bind_parameter(index, SqliteParameter(cell)))
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
