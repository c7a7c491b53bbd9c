//! The store of several replicas: PostgreSQL.
//!
//! Each replica writes a chain of its own through one connection and reads through a few. Opening
//! does not connect: a server that is down is an error of each call, and a call after it is up
//! again works. This module never waits without a deadline, and is the only one that knows
//! PostgreSQL.

mod address;
mod batch;
mod cells;
mod fault;
mod journal;
mod migrate;
mod query;
mod session;
mod store;
#[cfg(test)]
mod tests;
mod tls;

use crate::store::{OpenStore, Store, StoreError};

/// Opens the store that a `postgres://` URL names. Nothing is connected yet.
pub fn open(url: &str) -> Result<OpenStore, StoreError> {
    let address = address::read(url)?;
    Ok(OpenStore {
        journal: Box::new(journal::PostgresJournal::new(address.clone())?),
        store: Store::new(store::PostgresReader::new(address)?),
    })
}
