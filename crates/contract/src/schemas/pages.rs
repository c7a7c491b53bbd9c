//! Pages of a list: which one is asked for, the page itself, and the way to the next.

use data_encoding::HEXLOWER;
use garde::Validate;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::named;
use crate::{Data, ToolError};

/// The most items of a page. More would fill an agent's context with what it has not asked about.
const LARGEST_LIMIT: u32 = 100;

/// The items of a page where no limit is sent.
const DEFAULT_LIMIT: u32 = 20;

/// The largest offset: fits the integers of every store, and nobody turns that many pages.
const LARGEST_OFFSET: u64 = 1_000_000_000;

/// Which part of a list is asked for.
///
/// That offset and cursor exclude each other is enforced, and said in the descriptions rather than
/// in the schema: several clients refuse a schema with a combination at its top.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase", default)]
#[garde(custom(|pagination: &Pagination, _context| one_beginning(pagination)))]
pub struct Pagination {
    /// The most items to return, 1 to 100.
    #[serde(deserialize_with = "read_limit")]
    #[garde(range(min = 1, max = LARGEST_LIMIT))]
    pub limit: u32,
    /// How many items to skip. Send either this or cursor, not both.
    #[serde(deserialize_with = "read_offset")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[garde(range(max = LARGEST_OFFSET))]
    pub offset: Option<u64>,
    /// nextCursor of the previous page, unchanged. Send either this or offset, not both.
    #[serde(deserialize_with = "read_cursor")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    pub cursor: Option<Cursor>,
}

// === impl Pagination ===

impl Pagination {
    /// Number of items to skip, for lists that are read by counting: from the offset, or from a
    /// cursor of [`Page::counted`].
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

/// One part of a list. Whether there is more follows from how it was made, so that it agrees with
/// the cursor and the total.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// How many items the whole list has, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Send it as cursor to get the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    /// Whether there is another page.
    has_more: bool,
}

// === impl Page ===

impl<T> Page<T> {
    /// The last page, or the only one.
    pub fn last(items: Vec<T>) -> Self {
        Self {
            items,
            total: None,
            next_cursor: None,
            has_more: false,
        }
    }

    /// A page that is followed by another, which begins at the cursor.
    pub fn continued(items: Vec<T>, next: Cursor) -> Self {
        Self {
            next_cursor: Some(next),
            has_more: true,
            ..Self::last(items)
        }
    }

    /// A page of a list that is read by counting: these items were found after skipping so many of
    /// the total. Read the number to skip with [`Pagination::skip`].
    ///
    /// A page without items is the last one, whatever the total says, so that nobody turns pages
    /// for ever.
    pub fn counted(items: Vec<T>, skipped: u64, total: u64) -> Result<Self, ToolError> {
        let shown = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let reached = skipped.saturating_add(shown);
        let page = if shown > 0 && reached < total {
            Self::continued(items, Cursor::encode(&reached)?)
        } else {
            Self::last(items)
        };
        Ok(page.out_of(total))
    }

    /// Page with the number of items of the whole list.
    pub fn out_of(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Cursor to send to get the next page.
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.next_cursor.as_ref()
    }
}

impl<T: Data> Data for Page<T> {}

/// The most characters of a cursor.
const LONGEST_CURSOR: usize = 512;

/// The form of the cursors made here. A later form gets another digit, so that old cursors are
/// refused instead of misread.
const VERSION: &str = "1";

/// The checksum's length in the text.
const CHECKSUM_DIGITS: usize = 8;

/// An opaque position in a list.
///
/// A tool that reads its list by a key puts the last key of a page into the cursor and gets it back
/// with the next call. The text carries a checksum, because agents copy cursors letter by letter and
/// a slip would otherwise begin the page somewhere else.
///
/// ```
/// use mcpproxy_contract::schemas::Cursor;
///
/// let cursor = Cursor::encode(&("2026-01-31", 17))?;
/// let (day, row): (String, u64) = cursor.decode()?;
/// assert_eq!((day.as_str(), row), ("2026-01-31", 17));
/// # Ok::<(), mcpproxy_contract::ToolError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(transparent)]
#[garde(transparent)]
#[schemars(inline)]
pub struct Cursor(#[garde(length(chars, min = 1, max = LONGEST_CURSOR))] String);

/// A position that does not fit into a cursor.
#[derive(Debug, thiserror::Error)]
#[error("a cursor takes {MOST_BYTES} bytes of JSON, not {0}: put ids and short keys into it")]
struct CursorTooLong(usize);

/// Every byte becomes two hexadecimal digits.
const MOST_BYTES: usize = (LONGEST_CURSOR - VERSION.len() - CHECKSUM_DIGITS) / 2;

// === impl Cursor ===

impl Cursor {
    /// A cursor that holds a small value, at most 251 bytes as JSON.
    pub fn encode<P: Serialize>(position: &P) -> Result<Self, ToolError> {
        let bytes = serde_json::to_vec(position)?;
        if bytes.len() > MOST_BYTES {
            return Err(ToolError::internal(CursorTooLong(bytes.len())));
        }
        let digits = HEXLOWER.encode(&bytes);
        Ok(Self(format!("{VERSION}{:08x}{digits}", checksum(&bytes))))
    }

    /// The value that [`Cursor::encode`] put in. Anything else is the caller's mistake and told as
    /// one.
    pub fn decode<P: DeserializeOwned>(&self) -> Result<P, ToolError> {
        let position = payload(&self.0).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        position.ok_or_else(|| {
            ToolError::invalid_parameter(
                "/cursor",
                "is not a cursor of this list; send nextCursor of the previous page unchanged, or \
                 leave it out to begin at the start",
            )
        })
    }
}

/// A cursor that somebody else made and will read.
impl From<String> for Cursor {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl AsRef<str> for Cursor {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The bytes in a cursor, if all of it is as it was made.
fn payload(text: &str) -> Option<Vec<u8>> {
    let rest = text.strip_prefix(VERSION)?;
    let (stated, digits) = rest.split_at_checked(CHECKSUM_DIGITS)?;
    if digits.len() > 2 * MOST_BYTES {
        return None;
    }
    let bytes = HEXLOWER.decode(digits.as_bytes()).ok()?;
    (stated == format!("{:08x}", checksum(&bytes))).then_some(bytes)
}

/// FNV-1a: finds slips, not forgers. A forged cursor reads nothing that an offset could not.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}
