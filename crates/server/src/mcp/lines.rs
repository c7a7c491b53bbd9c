//! Lines of an input, within bounds.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use crate::body::BODY_LIMIT;

/// One line of input.
pub(super) enum InputLine {
    /// A message, without its line break.
    Message(Vec<u8>),
    /// A line too long to be a message; it was skipped.
    TooLong,
}

/// Reader of lines within bounds; empty ones are passed over.
pub(super) struct InputLines<R> {
    input: R,
}

impl<R: AsyncBufRead + Unpin> InputLines<R> {
    /// Lines of the given input.
    pub(super) fn new(input: R) -> Self {
        Self { input }
    }

    /// The next line; nothing at the end of the input.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<InputLine>> {
        let mut line = Vec::new();
        let mut too_long = false;
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(ended(line, too_long));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            too_long |= line.len() + piece.len() > BODY_LIMIT;
            if too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                if let Some(done) = ended(std::mem::take(&mut line), too_long) {
                    return Ok(Some(done));
                }
                too_long = false;
            }
        }
    }
}

fn ended(line: Vec<u8>, too_long: bool) -> Option<InputLine> {
    if too_long {
        return Some(InputLine::TooLong);
    }
    let is_blank = line.iter().all(u8::is_ascii_whitespace);
    (!is_blank).then_some(InputLine::Message(line))
}
