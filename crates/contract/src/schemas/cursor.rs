//! Where the next page begins, in a form that callers hand back without understanding it.

use data_encoding::HEXLOWER;
use garde::Validate;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ToolError;

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

/// What was to be put into a cursor does not fit.
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

    /// A cursor that somebody else made and will read.
    pub fn opaque(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The cursor as text.
    pub fn as_str(&self) -> &str {
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
