//! Bringing the file to the version this program writes.

use rusqlite::{Connection, TransactionBehavior};

use crate::store::{StoreError, bound, known_steps};

/// Steps that were ever taken to change the tables, in order. They are only ever added to.
const STEPS: [&str; 3] = [
    include_str!("migrations/0001_activity.sql"),
    include_str!("migrations/0002_tokens.sql"),
    include_str!("migrations/0003_published_tools.sql"),
];

/// Number of steps that a current file has taken.
pub(super) const CURRENT: usize = STEPS.len();

/// Takes the steps that are missing. Two processes may try at once: the second finds them taken.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? == CURRENT {
        return Ok(());
    }
    Ok(take_missing_steps(connection)?)
}

/// Number of steps that the file has taken. One of a newer version is refused.
pub(super) fn version(connection: &Connection) -> Result<usize, StoreError> {
    known_steps(number(connection)?, CURRENT, "data directory")
}

fn take_missing_steps(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = number(&transaction)?;
    for step in STEPS.iter().skip(usize::try_from(done).unwrap_or(CURRENT)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", bound(CURRENT).max(done))?;
    transaction.commit()
}

fn number(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
