//! Rows to and from PostgreSQL, cell by cell.

use std::error::Error;
use std::sync::{Arc, LazyLock};

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::record::{ChainLink, Hash};
use crate::row::{Cell, Column, ColumnType, OUTCOME, REQUEST, Row};

/// The columns of a row's places in its chain, after [`REQUEST`] and [`OUTCOME`].
pub(super) const LINKS: [(&str, &str); 7] = [
    ("chain", "uuid"),
    ("opened_seq", "bigint"),
    ("opened_prev_hash", "bytea"),
    ("opened_hash", "bytea"),
    ("seq", "bigint"),
    ("prev_hash", "bytea"),
    ("hash", "bytea"),
];

/// Stands for a hash that cannot be read. No link has it: zeros would be those of a first link.
const NO_HASH: Hash = Hash([0xff; 32]);

/// All columns, in the order [`read_row`] expects.
pub(super) static COLUMNS: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = REQUEST
        .iter()
        .chain(&OUTCOME)
        .map(|column| column.name)
        .chain(LINKS.map(|(name, _)| name))
        .collect();
    names.join(", ")
});

/// The type of a column.
pub(super) const fn type_of(column: &Column) -> &'static str {
    match column.of {
        ColumnType::Uuid => "uuid",
        ColumnType::Text => "text",
        ColumnType::Int => "bigint",
    }
}

/// A cell as a parameter.
#[derive(Debug)]
pub(super) struct Bound<'a>(pub(super) &'a Cell);

impl ToSql for Bound<'_> {
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

/// A cell as it was found. Whatever the column was turned into comes back, never as an error.
struct Found(Cell);

impl<'a> FromSql<'a> for Found {
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

/// Reads one cell.
pub(super) fn cell(row: &tokio_postgres::Row, index: usize) -> Result<Cell, tokio_postgres::Error> {
    row.try_get::<_, Found>(index).map(|found| found.0)
}

/// Reads a row whose columns begin at `from`.
pub(super) fn read_row(
    row: &tokio_postgres::Row,
    from: usize,
) -> Result<Row, tokio_postgres::Error> {
    let outcome_from = from + REQUEST.len();
    let links_from = outcome_from + OUTCOME.len();
    let request: Arc<[Cell]> = (from..outcome_from)
        .map(|index| cell(row, index))
        .collect::<Result<_, _>>()?;
    let outcome = (outcome_from..links_from)
        .map(|index| cell(row, index))
        .collect::<Result<_, _>>()?;
    Ok(Row {
        request,
        outcome,
        chain: cell(row, links_from)?.uuid().unwrap_or(Uuid::max()),
        opened: link(row, links_from + 1)?,
        closed: link(row, links_from + 4)?,
    })
}

/// Reads a hash; one that nothing has where there is none.
pub(super) fn hash(row: &tokio_postgres::Row, index: usize) -> Result<Hash, tokio_postgres::Error> {
    Ok(match cell(row, index)? {
        Cell::Bytes(bytes) => Hash::from_bytes(&bytes).unwrap_or(NO_HASH),
        _ => NO_HASH,
    })
}

fn link(
    row: &tokio_postgres::Row,
    from: usize,
) -> Result<Option<ChainLink>, tokio_postgres::Error> {
    let Cell::Int(seq) = cell(row, from)? else {
        return Ok(None);
    };
    Ok(Some(ChainLink {
        seq,
        prev_hash: hash(row, from + 1)?,
        hash: hash(row, from + 2)?,
    }))
}
