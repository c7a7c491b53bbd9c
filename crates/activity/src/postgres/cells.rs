//! Cells of rows to and from PostgreSQL, cell by cell.

use bytes::{BufMut, BytesMut};
use std::error::Error;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, ToStatement};

use crate::row::{Cell, Column, ColumnType};

/// Type of a column.
pub(super) const fn type_of(column: &Column) -> &'static str {
    match column.of {
        ColumnType::Uuid => "uuid",
        ColumnType::Text => "text",
        ColumnType::Int => "bigint",
        ColumnType::Bytes => "bytea",
    }
}

/// Cell as a parameter.
#[derive(Debug)]
pub(super) struct PostgresParameter<'a>(pub(super) &'a Cell);

impl ToSql for PostgresParameter<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.0, kind) {
            (Cell::Null, _) => return Ok(IsNull::Yes),
            (Cell::Int(number), &Type::INT8) => out.put_i64(*number),
            (Cell::Text(text), &Type::TEXT) => out.put_slice(text.as_bytes()),
            (Cell::Bytes(bytes), &Type::UUID) if bytes.len() == 16 => out.put_slice(bytes),
            (Cell::Bytes(bytes), &Type::BYTEA) => out.put_slice(bytes),
            _ => return Err(format!("a cell does not fit into a column of type {kind}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::UUID, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

/// Cell as it was found. Whatever the column was turned into comes back, never as an error.
struct FoundCell(Cell);

impl<'a> FromSql<'a> for FoundCell {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let as_text = || std::str::from_utf8(raw).ok().map(Cell::from);
        let as_number = || Some(Cell::Int(i64::from_be_bytes(raw.try_into().ok()?)));
        let cell = match *kind {
            Type::INT8 => as_number(),
            Type::TEXT => as_text(),
            _ => None,
        };
        Ok(Self(cell.unwrap_or_else(|| Cell::Bytes(raw.to_vec()))))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Cell::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Answers a statement with the cells of each row.
pub(super) async fn ask(
    client: &Client,
    statement: &(impl ToStatement + ?Sized),
    values: &[Cell],
) -> Result<Vec<Vec<Cell>>, tokio_postgres::Error> {
    let values: Vec<PostgresParameter<'_>> = values.iter().map(PostgresParameter).collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    let found = client.query(statement, &values).await?;
    found.iter().map(cells).collect()
}

/// Reads the cells of a row.
pub(super) fn cells(row: &tokio_postgres::Row) -> Result<Vec<Cell>, tokio_postgres::Error> {
    let cells = (0..row.len()).map(|index| row.try_get::<_, FoundCell>(index));
    cells.map(|found| found.map(|found| found.0)).collect()
}
