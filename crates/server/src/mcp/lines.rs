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

/// Reads the next line that is not empty; nothing at the end of the input.
pub(super) async fn next(
    input: &mut (impl AsyncBufRead + Unpin),
) -> std::io::Result<Option<InputLine>> {
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let available = input.fill_buf().await?;
        let is_over = available.is_empty();
        let end = available.iter().position(|byte| *byte == b'\n');
        let piece = &available[..end.unwrap_or(available.len())];
        too_long |= line.len() + piece.len() > BODY_LIMIT;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let used = piece.len() + usize::from(end.is_some());
        input.consume(used);
        if is_over || end.is_some() {
            if too_long {
                return Ok(Some(InputLine::TooLong));
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(InputLine::Message(line)));
            }
            if is_over {
                return Ok(None);
            }
            line.clear();
        }
    }
}
