//! Which part of a list is asked for.

use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::Cursor;
use super::field::named;
use crate::ToolError;

/// The most items of a page. More would fill an agent's context with what it has not asked about.
pub const LARGEST_LIMIT: u32 = 100;

/// The items of a page where no limit is sent.
const DEFAULT_LIMIT: u32 = 20;

/// The largest offset: fits the integers of every store, and nobody turns that many pages.
const LARGEST_OFFSET: u64 = 1_000_000_000;

/// Which part of a list is asked for.
///
/// That offset and cursor exclude each other is enforced, and said in the descriptions rather than
/// in the schema: several clients refuse a schema with a combination at its top.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
#[garde(custom(|pagination: &Pagination, _context| one_beginning(pagination)))]
pub struct Pagination {
    /// The most items to return, 1 to 100.
    #[serde(default = "default_limit", deserialize_with = "read_limit")]
    #[garde(range(min = 1, max = LARGEST_LIMIT))]
    pub limit: u32,
    /// How many items to skip. Send either this or cursor, not both.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_offset"
    )]
    #[garde(range(max = LARGEST_OFFSET))]
    pub offset: Option<u64>,
    /// nextCursor of the previous page, unchanged. Send either this or offset, not both.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_cursor"
    )]
    #[garde(dive)]
    pub cursor: Option<Cursor>,
}

// === impl Pagination ===

impl Pagination {
    /// How many items to skip, for lists that are read by counting: from the offset, or from a
    /// cursor of [`Page::counted`](super::Page::counted).
    pub fn skip(&self) -> Result<u64, ToolError> {
        match &self.cursor {
            Some(cursor) => cursor.decode(),
            None => Ok(self.offset.unwrap_or(0)),
        }
    }
}

impl Default for Pagination {
    fn default() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
            offset: None,
            cursor: None,
        }
    }
}

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

fn read_limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    named("limit", deserializer)
}

fn read_offset<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    named("offset", deserializer)
}

fn read_cursor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cursor>, D::Error> {
    named("cursor", deserializer)
}

fn one_beginning(pagination: &Pagination) -> garde::Result {
    if pagination.offset.is_some() && pagination.cursor.is_some() {
        return Err(garde::Error::new(
            "offset and cursor exclude each other; send cursor to continue a list, or offset to \
             jump into it",
        ));
    }
    Ok(())
}
