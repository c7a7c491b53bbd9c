//! The record of what agents did.
//!
//! Every call opens an entry before anything is sent and closes it with what came of it, refusals
//! included. Records are hashed into a chain and kept in one of two stores.

pub mod chain;
pub mod filter;
mod log;
pub mod postgres;
pub mod record;
pub mod row;
pub mod sqlite;
pub mod store;
pub mod summary;
pub mod words;

pub use log::{Counts, Entry, Log};
pub use record::{Caller, Kind, Status};
