//! Catalog of the tools that are known, and the search over them.
//!
//! A [`Catalog`] holds one immutable [`Snapshot`] at a time. Whoever reads takes the current
//! one without a lock and keeps it for as long as a call or a search lasts; whoever writes
//! builds the next one and swaps it in. A change of one server leaves the tools, the compiled
//! schemas and the search segments of all others as they are.
//!
//! This crate must never do network I/O, and never show a tool that is disabled or withheld:
//! [`Snapshot::search`] and the suggestions of [`nearest`] leave those out by construction.
//!
//! Start reading at [`catalog`], then [`tool`] (one tool), [`search`] (how tools are found)
//! and [`present`] (how they are shown). [`arguments`] checks what a call is given.

pub mod arguments;
pub mod catalog;
mod index;
pub mod nearest;
pub mod operator;
pub mod present;
pub mod search;
pub mod signature;
pub mod snapshot;
mod text;
mod tokens;
pub mod tool;

pub use arguments::{ArgumentSchema, Violation};
pub use catalog::{Catalog, ServerListing};
pub use operator::{Operator, ToolOverride};
pub use search::{Hit, Hits, SearchQuery};
pub use snapshot::{ServerState, Snapshot};
pub use tool::{Availability, CatalogTool};

#[cfg(test)]
mod tests;
