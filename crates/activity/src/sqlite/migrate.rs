//! Bringing the file to the version this program writes.

use rusqlite::{Connection, TransactionBehavior};

use crate::store::StoreError;

/// Steps that were ever taken to change the tables, in order. They are only ever added to.
const STEPS: [&str; 1] = [include_str!("migrations/0001_activity.sql")];

/// How far a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaVersion {
    /// Nothing was ever written.
    Empty,
    /// Some steps are missing.
    Older,
    /// As this program writes it.
    Current,
}

/// Takes the steps that are missing. Two processes may try at once: the second finds them taken.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? == SchemaVersion::Current {
        return Ok(());
    }
    Ok(take_missing_steps(connection)?)
}

/// How far the file is. One of a newer version is refused: it may mean something else.
pub(super) fn version(connection: &Connection) -> Result<SchemaVersion, StoreError> {
    let number = number(connection)?;
    let known = STEPS.len();
    match done_steps(number) {
        0 => Ok(SchemaVersion::Empty),
        steps if steps < known => Ok(SchemaVersion::Older),
        steps if steps == known => Ok(SchemaVersion::Current),
        newer => Err(StoreError::Unusable(format!(
            "The activity log was written by a newer version of mcpproxy (its tables are at version {newer}, this program knows {known}). Install that version again, or use another data directory"
        ))),
    }
}

fn take_missing_steps(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = number(&transaction)?;
    for step in STEPS.iter().skip(done_steps(done)) {
        transaction.execute_batch(step)?;
    }
    let steps = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    transaction.pragma_update(None, "user_version", steps.max(done))?;
    transaction.commit()
}

fn number(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn done_steps(number: i64) -> usize {
    // Nobody but a foreign program writes a negative number; it is as strange as a newer one.
    usize::try_from(number).unwrap_or(usize::MAX)
}
