//! Catalog of what servers offer, the search over their tools, and the directory of direct endpoints.
//!
//! A [`Catalog`] holds one immutable [`Snapshot`] at a time. Whoever reads takes the current
//! one without a lock and keeps it for as long as a call or a search lasts; whoever writes
//! builds the next one and swaps it in. A change of one server leaves the tools, the compiled
//! schemas and the search segments of all others as they are.
//!
//! This crate must never do network I/O, and never show a tool that is disabled or withheld:
//! [`Snapshot::search`] and the suggestions of [`nearest`] leave those out by construction.
//!
//! Start reading at [`catalog`], then [`snapshot`] (what is known), [`tool`] (one tool), [`search`] (how
//! tools are found), [`present`] (how they are shown) and [`directory`] (names, addresses and lists where
//! servers are offered directly). [`arguments`] checks what a call is given.

pub mod arguments;
pub mod catalog;
pub mod deprecation;
pub mod directory;
mod index;
pub mod meaning;
pub mod nearest;
pub mod operator;
pub mod present;
pub mod search;
mod sentence;
pub mod signature;
pub mod snapshot;
mod tokens;
pub mod tool;

pub use arguments::{ArgumentSchema, CoercedArguments, Violation};
pub use catalog::Catalog;
pub use directory::{Directory, Scope};
pub use meaning::Meaning;
pub use operator::{Operator, ToolOverride};
pub use search::{Explanation, Hit, Hits, SearchQuery};
pub use snapshot::{ServerState, Snapshot};
pub use tool::{Availability, CatalogTool};

#[cfg(test)]
mod tests;
