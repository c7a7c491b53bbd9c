//! The record of what agents did: nothing is lost, altered unseen, or secret.
//!
//! Every call opens an [`Entry`] before anything is sent and closes it with what came of it,
//! refusals included. An entry that is dropped without being closed, because its caller went
//! away, is recorded as in doubt: no call leaves without a trace. One thread writes what is
//! recorded, many records in one commit, each with its place in a hash chain; a full queue makes
//! callers wait, it never drops. What is kept is read through an [`Archive`].
//!
//! Start reading at [`Log::open`] and follow a record: `entry`, `queue`, `writer`, `store`.

mod archive;
pub mod chain;
mod draft;
mod entry;
pub mod filter;
mod heads;
mod log;
pub mod postgres;
mod prune;
mod queue;
pub mod record;
pub mod row;
pub mod sqlite;
pub mod store;
pub mod summary;
mod tail;
mod verify;
pub mod words;
mod writer;

pub use archive::{Archive, Engine};
pub use entry::{End, Entry};
pub use filter::{Filter, FilterError};
pub use heads::Role;
pub use log::{Counts, Health, Keeping, Log, Note, Options};
pub use record::{Caller, Kind, Record, Status};
pub use store::{Page, StoreError};
pub use summary::Summary;
pub use tail::{Followed, Position, Tail};
pub use verify::{Problem, Tampering, Verdict};
