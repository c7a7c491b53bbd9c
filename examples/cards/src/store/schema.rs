//! The tables. Migrations are only ever added: a file of any age is brought up to date.

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior};

use super::{StoreError, Writing, seed};

/// Each brings the file from the format before it to its own; the first one to format 1. Never
/// change one that was released.
const MIGRATIONS: &[&str] = &[
    // `AUTOINCREMENT`: the id of something that was deleted never comes to mean something else.
    // `searchable` is everything that can be found of a card, in lower case of every script, which
    // SQLite itself knows for ASCII only. `planned_minutes` is the interval before the review.
    "CREATE TABLE decks (
        number      INTEGER PRIMARY KEY AUTOINCREMENT,
        name        TEXT NOT NULL,
        name_folded TEXT NOT NULL UNIQUE,
        description TEXT,
        created_at  INTEGER NOT NULL,
        created_by  TEXT,
        updated_at  INTEGER NOT NULL,
        updated_by  TEXT,
        version     INTEGER NOT NULL
    );
    CREATE TABLE cards (
        number           INTEGER PRIMARY KEY AUTOINCREMENT,
        deck             INTEGER NOT NULL REFERENCES decks (number),
        front            TEXT NOT NULL,
        front_folded     TEXT NOT NULL,
        back             TEXT NOT NULL,
        explanation      TEXT,
        tags             TEXT NOT NULL,
        searchable       TEXT NOT NULL,
        difficulty       INTEGER NOT NULL,
        due_at           INTEGER NOT NULL,
        interval_minutes INTEGER NOT NULL,
        last_review_at   INTEGER,
        reviews          INTEGER NOT NULL,
        created_at       INTEGER NOT NULL,
        created_by       TEXT,
        updated_at       INTEGER NOT NULL,
        updated_by       TEXT,
        version          INTEGER NOT NULL
    );
    CREATE INDEX cards_by_deck ON cards (deck, due_at);
    CREATE INDEX cards_by_due ON cards (due_at);
    CREATE INDEX cards_by_front ON cards (deck, front_folded);
    CREATE TABLE reviews (
        number           INTEGER PRIMARY KEY AUTOINCREMENT,
        card             INTEGER NOT NULL REFERENCES cards (number) ON DELETE CASCADE,
        grade            INTEGER NOT NULL,
        answer_time_ms   INTEGER,
        reviewed_at      INTEGER NOT NULL,
        planned_minutes  INTEGER NOT NULL,
        interval_minutes INTEGER NOT NULL
    );
    CREATE INDEX reviews_by_card ON reviews (card, reviewed_at);
    CREATE INDEX reviews_by_time ON reviews (reviewed_at);",
];

/// Brings a file to the newest format; a new one gets its first decks and cards.
pub(super) fn bring_up_to_date(
    connection: &mut Connection,
    now: Timestamp,
) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    for (format, migration) in (1_u32..).zip(MIGRATIONS) {
        if format > found {
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "user_version", format)?;
        }
    }
    if found == 0 {
        seed::plant(&Writing::new(&transaction, now))?;
    }
    transaction.commit()?;
    Ok(())
}
