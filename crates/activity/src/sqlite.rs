//! The store of one machine: SQLite.
