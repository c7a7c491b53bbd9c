//! Activity log, the record of what agents did: nothing is lost, altered unseen, or secret.
//!
//! Every call opens an [`OpenRecord`] before anything is sent and closes it with what came of it,
//! refusals included. A record that is dropped without being closed, because its caller went
//! away, is recorded as in doubt: no call leaves without a trace. One thread writes what is
//! recorded, many of them in one commit, each with its place in a hash chain; a full queue makes
//! callers wait, it never drops. What is kept is read through an [`Archive`]. Beside the records are the tokens of
//! agents, in a [`TokenStore`], and the tools that servers published, in a [`PublishedStore`].
//!
//! Start reading at [`Log::open`] and follow a record: `open_record`, `queue`, `writer`, `store`.

mod archive;
pub mod chain;
mod draft;
pub mod filter;
mod log;
mod open_record;
pub mod postgres;
mod prune;
mod query;
mod queue;
pub mod record;
pub mod row;
pub mod search_terms;
pub mod sqlite;
pub mod store;
pub mod summary;
mod tail;
pub mod tokens;
mod verify;
mod writer;

pub use archive::{Archive, Engine};
pub use chain::files::LogRole;
pub use filter::{Filter, FilterError};
pub use log::{Counts, Log, LogEvent, LogHealth, LogOptions, RecordingPolicy};
pub use open_record::{OpenRecord, RecordOutcome};
pub use record::{Record, RecordKind, Status};
pub use store::published_tools::{PublishedStore, StoredDefinition};
pub use store::{RecordPage, StoreError};
pub use summary::RecordSummary;
pub use tail::{Followed, LogPosition, LogTail};
pub use tokens::{Inserted, StoredToken, TokenStore};
pub use verify::{ChainProblem, LogVerdict, Tampering};
