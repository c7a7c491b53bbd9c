//! Parameter and output types that most tools need, so that no author writes them a second time.
//!
//! Each type publishes exactly the limits it enforces: the schema and the checks come from the same
//! attributes. All of them can be flattened into the parameters of a tool, as the guide for authors shows. Nothing here
//! panics on what a caller sent, and nothing here knows a store.

mod id;
mod metadata;
mod pages;
#[doc(hidden)]
pub mod private;
mod range;
mod sorting;

pub use id::UserId;
pub use metadata::CommonMetadata;
pub use pages::{Cursor, Page, Pagination};
pub use private::InvalidId;
pub use range::DateRange;
pub use sorting::{SortOrder, Sorting};

use serde::de::{Deserialize, Deserializer, Error};

/// Reads a field and puts its name before what is wrong with it.
///
/// In a flattened struct serde reads the fields from a buffer and no longer knows where they came
/// from: without the name, a caller would be told that some number is not a number.
fn named<'de, T, D>(name: &str, deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map_err(|error| D::Error::custom(format!("{name}: {error}")))
}
