//! Order that a list is wanted in.

use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::named;

/// In which order a list is wanted. `K` is an enum of the tool's own keys, so that a key the tool
/// does not have is refused with the list of those it has; its default is the order that callers
/// get who do not ask for one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Validate,
)]
#[serde(rename_all = "camelCase")]
#[serde(bound(deserialize = "K: Deserialize<'de> + Default"))]
#[schemars(bound = "K: JsonSchema + Serialize + Default")]
pub struct Sorting<K> {
    /// What to sort by.
    #[serde(default, deserialize_with = "read_sort_by")]
    #[garde(skip)]
    pub sort_by: K,
    /// Ascending or descending.
    #[serde(default, deserialize_with = "read_sort_order")]
    #[garde(skip)]
    pub sort_order: SortOrder,
}

/// Ascending or descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SortOrder {
    // Without documentation lines on the variants the schema is one short list of words.
    #[default]
    #[expect(missing_docs, reason = "the name says it, and the schema stays a list")]
    Asc,
    #[expect(missing_docs, reason = "the name says it, and the schema stays a list")]
    Desc,
}

fn read_sort_by<'de, K, D>(deserializer: D) -> Result<K, D::Error>
where
    K: Deserialize<'de>,
    D: Deserializer<'de>,
{
    named("sortBy", deserializer)
}

fn read_sort_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SortOrder, D::Error> {
    named("sortOrder", deserializer)
}
