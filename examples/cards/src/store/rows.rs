//! Between the numbers of a table and the types of the service.

use jiff::Timestamp;
use mcpproxy_contract::schemas::{CommonMetadata, UserId};
use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Error, Row};

use crate::model::{CardId, DeckId};

/// Tables count from one, so nothing has this number.
const NOTHING: i64 = 0;

/// The number of a card in the table. An id that no card ever had gets a number that none has.
pub(super) fn card_number(id: &CardId) -> i64 {
    number(id.as_str(), "card")
        .filter(|number| card_id(*number) == *id)
        .unwrap_or(NOTHING)
}

/// The number of a deck in the table. An id that no deck ever had gets a number that none has.
pub(super) fn deck_number(id: &DeckId) -> i64 {
    number(id.as_str(), "deck")
        .filter(|number| deck_id(*number) == *id)
        .unwrap_or(NOTHING)
}

/// The id of the card with this number.
pub(super) fn card_id(number: i64) -> CardId {
    CardId::numbered(number.unsigned_abs())
}

/// The id of the deck with this number.
pub(super) fn deck_id(number: i64) -> DeckId {
    DeckId::numbered(number.unsigned_abs())
}

/// A moment as the tables keep it: milliseconds since 1970.
pub(super) fn milliseconds(moment: Timestamp) -> i64 {
    moment.as_millisecond()
}

/// A moment from a column.
pub(super) fn moment(row: &Row<'_>, column: &str) -> Result<Timestamp, Error> {
    let kept: i64 = row.get(column)?;
    Timestamp::from_millisecond(kept)
        .map_err(|_| conversion(row, column, FromSqlError::OutOfRange(kept)))
}

/// A count from a column.
pub(super) fn count(row: &Row<'_>, column: &str) -> Result<u64, Error> {
    let kept: i64 = row.get(column)?;
    u64::try_from(kept).map_err(|_| conversion(row, column, FromSqlError::OutOfRange(kept)))
}

/// A number with a range of its own from a column.
pub(super) fn ranged<T>(
    row: &Row<'_>,
    column: &str,
    parse: impl FnOnce(u8) -> Option<T>,
) -> Result<T, Error> {
    let kept: u8 = row.get(column)?;
    parse(kept).ok_or_else(|| conversion(row, column, FromSqlError::OutOfRange(i64::from(kept))))
}

/// Who made something and when.
pub(super) fn metadata(row: &Row<'_>) -> Result<CommonMetadata, Error> {
    Ok(CommonMetadata {
        created_at: moment(row, "created_at")?,
        updated_at: moment(row, "updated_at")?,
        created_by: user(row, "created_by")?,
        updated_by: user(row, "updated_by")?,
        version: count(row, "version")?,
    })
}

fn user(row: &Row<'_>, column: &str) -> Result<Option<UserId>, Error> {
    let kept: Option<String> = row.get(column)?;
    Ok(kept.and_then(|text| UserId::parse(text).ok()))
}

fn number(id: &str, prefix: &str) -> Option<i64> {
    id.strip_prefix(prefix)?.strip_prefix('_')?.parse().ok()
}

fn conversion(row: &Row<'_>, column: &str, error: FromSqlError) -> Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    Error::FromSqlConversionFailure(index, Type::Integer, Box::new(error))
}
