//! The store of one machine: SQLite.
//!
//! One file, written by one thread of each process and read through a few connections. Several
//! processes may share the file; each writes a chain of its own. This module never holds a
//! transaction open between calls, and is the only one that knows SQLite.

mod cells;
mod connection;
mod fault;
mod journal;
mod migrate;
mod query;
mod store;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::connection::Missing;
use self::store::SqliteReader;
use crate::store::{OpenStore, Store, StoreError};

/// Opens the file for reading and writing; makes it where it is not there yet.
pub fn open(path: &Path) -> Result<OpenStore, StoreError> {
    Ok(OpenStore {
        journal: Box::new(journal::SqliteJournal::open(path)?),
        store: Store::new(SqliteReader::new(path, Missing::IsFault)),
    })
}

/// Opens the file for reading alone. Without a file there are no records, and none is made.
pub fn open_for_reading(path: &Path) -> Result<Store, StoreError> {
    // One connection is made at once, so that a file that cannot be used is reported here.
    connection::for_reading(path, Missing::IsEmpty)?;
    Ok(Store::new(SqliteReader::new(path, Missing::IsEmpty)))
}
