//! Text of a result on its way to a client.

use std::ops::Range;

use bytestring::ByteString;

use crate::json::Json;

/// Text of a result in pieces, some of them shared with the result as it came. They are joined once,
/// when the response is written around them.
#[derive(Debug, Clone, Default)]
pub struct ResultText {
    front: String,
    before: ByteString,
    inserted: String,
    behind: ByteString,
}

impl ResultText {
    /// Result with something in front of the part that begins at `start`, and something else in the
    /// place of another part.
    pub(crate) fn spliced(
        front: String,
        result: &Json,
        start: usize,
        span: &Range<usize>,
        inserted: String,
    ) -> Self {
        Self {
            front,
            before: result.slice(start..span.start),
            inserted,
            behind: result.slice(span.end..result.text().len()),
        }
    }

    /// Pieces in their order.
    pub(crate) fn pieces(&self) -> [&str; 4] {
        [&self.front, &self.before, &self.inserted, &self.behind]
    }

    /// Whole text.
    pub fn into_string(self) -> String {
        if self.before.is_empty() && self.inserted.is_empty() && self.behind.is_empty() {
            return self.front;
        }
        self.pieces().concat()
    }
}

impl From<String> for ResultText {
    fn from(text: String) -> Self {
        Self {
            front: text,
            ..Self::default()
        }
    }
}
