//! One part of a list, with the way to the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cursor;
use crate::{Data, ToolError};

/// One part of a list. Whether there is more follows from how it was made, so that it agrees with
/// the cursor and the total.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
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
    /// the total. Read the number to skip with [`Pagination::skip`](super::Pagination::skip).
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
    #[must_use]
    pub fn out_of(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// What to send as cursor to get the next page.
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.next_cursor.as_ref()
    }
}

impl<T: Data> Data for Page<T> {}
