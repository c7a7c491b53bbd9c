//! The record of what agents did.
//!
//! Every call opens an [`Entry`] before anything is sent and closes it with what came of
//! it, refusals included. An entry that is dropped without being closed, because its caller
//! went away, is recorded as in doubt: no call leaves without a trace.
//!
//! In this version the newest records are kept in memory and nothing is written to disk.
//! Arguments and responses are not kept at all, so no secret can be.
//! Start reading at [`Log::open`].

mod log;
mod record;

pub use log::{Counts, Entry, Log};
pub use record::{Caller, Kind, Record, Status};
