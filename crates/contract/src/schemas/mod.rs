//! Parameter and output types that most tools need, so that no author writes them a second time.
//!
//! Each type publishes exactly the limits it enforces: the schema and the checks come from the same
//! attributes. All of them can be flattened into the parameters of a tool:
//!
//! ```
//! use mcpproxy_contract::prelude::*;
//! use mcpproxy_contract::schemas::{DateRange, Pagination, Sorting};
//!
//! /// What cards can be sorted by.
//! #[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
//! #[serde(rename_all = "camelCase")]
//! enum CardKey {
//!     #[default]
//!     Title,
//!     DueAt,
//! }
//!
//! #[derive(Serialize, Deserialize, JsonSchema, Validate)]
//! struct ListCardsParams {
//!     #[serde(flatten)]
//!     #[garde(dive)]
//!     pagination: Pagination,
//!     #[serde(flatten)]
//!     #[garde(dive)]
//!     sorting: Sorting<CardKey>,
//!     /// When the cards are due.
//!     #[serde(default)]
//!     #[garde(dive)]
//!     due: DateRange,
//! }
//! ```
//!
//! Nothing here panics on what a caller sent, and nothing here knows a store.

mod cursor;
mod field;
mod id;
mod metadata;
mod page;
mod pagination;
#[doc(hidden)]
pub mod private;
mod range;
mod sorting;

pub use cursor::Cursor;
pub use id::{InvalidId, UserId};
pub use metadata::CommonMetadata;
pub use page::Page;
pub use pagination::{LARGEST_LIMIT, Pagination};
pub use range::DateRange;
pub use sorting::{SortOrder, Sorting};
