//! Lines of a program's output, of bounded length.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest message accepted from a server.
pub(crate) const MESSAGE_LIMIT: usize = 16 * 1024 * 1024;
/// Bytes that are stored of both ends of a line that is too long.
const STORED_ENDS: usize = 128;
/// Room made for each read.
const READ_BYTES: usize = 16 * 1024;

/// Splits a stream into lines.
pub(crate) struct OutputLines<R> {
    stream: R,
    limit: usize,
    buffer: BytesMut,
    /// Number of bytes of the buffer without a line break.
    scanned: usize,
    skipped: Option<SkippedLine>,
}

/// One line, without its line break.
#[derive(Debug)]
pub(crate) enum OutputLine {
    Whole(Bytes),
    TooLong(SkippedLine),
}

/// Line that was skipped. The connection goes on, so that one oversized answer does not fail the calls beside it.
#[derive(Debug)]
pub(crate) struct SkippedLine {
    head: Vec<u8>,
    tail: Vec<u8>,
}

// === impl OutputLines ===

impl<R: AsyncRead + Unpin> OutputLines<R> {
    pub(crate) fn new(stream: R, limit: usize) -> Self {
        Self {
            stream,
            limit,
            buffer: BytesMut::new(),
            scanned: 0,
            skipped: None,
        }
    }

    /// Next line; nothing at the end of the stream or when it breaks.
    pub(crate) async fn next(&mut self) -> Option<OutputLine> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
                let mut line = self.buffer.split_to(self.scanned + end + 1);
                line.truncate(line.len() - 1);
                self.scanned = 0;
                return Some(match self.skipped.take() {
                    Some(mut skipped) => {
                        skipped.keep(&line);
                        OutputLine::TooLong(skipped)
                    }
                    None => OutputLine::Whole(line.freeze()),
                });
            }
            self.scanned = self.buffer.len();
            self.skip_excess();
            self.buffer.reserve(READ_BYTES);
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(1..) => {}
                Ok(0) | Err(_) if self.buffer.is_empty() || self.skipped.is_some() => return None,
                Ok(0) | Err(_) => {
                    // The last line of a stream may lack its line break.
                    self.scanned = 0;
                    return Some(OutputLine::Whole(self.buffer.split().freeze()));
                }
            }
        }
    }

    /// Lets go of a line that has grown too long, but for its ends.
    fn skip_excess(&mut self) {
        if self.skipped.is_none() && self.buffer.len() <= self.limit {
            return;
        }
        self.skipped
            .get_or_insert_with(|| SkippedLine {
                head: self.buffer[..self.buffer.len().min(STORED_ENDS)].to_vec(),
                tail: Vec::new(),
            })
            .keep(&self.buffer);
        if self.buffer.capacity() > self.limit {
            // A block of the size of the limit is not kept for the short lines that follow.
            self.buffer = BytesMut::new();
        }
        self.buffer.clear();
        self.scanned = 0;
    }
}

// === impl SkippedLine ===

impl SkippedLine {
    fn keep(&mut self, piece: &[u8]) {
        self.tail
            .extend_from_slice(&piece[piece.len().saturating_sub(STORED_ENDS)..]);
        let excess = self.tail.len().saturating_sub(STORED_ENDS);
        self.tail.drain(..excess);
    }

    /// Id of the request it answers, where it stands first or last, as SDKs write it.
    pub(crate) fn id(&self) -> Option<u64> {
        let head: String = compact(&self.head);
        let after = [r#"{"jsonrpc":"2.0","id":"#, r#"{"id":"#]
            .iter()
            .find_map(|opening| head.strip_prefix(opening));
        if let Some(after) = after {
            return after.split_once(',')?.0.parse().ok();
        }
        let tail = compact(&self.tail);
        // What the last brace closes is the message itself.
        let (_, last) = tail.strip_suffix('}')?.rsplit_once(r#""id":"#)?;
        last.parse().ok()
    }
}

fn compact(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .split_ascii_whitespace()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(input: &str, limit: usize) -> Vec<Result<String, Option<u64>>> {
        let mut lines = OutputLines::new(input.as_bytes(), limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await {
            found.push(match line {
                OutputLine::Whole(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
                OutputLine::TooLong(line) => Err(line.id()),
            });
        }
        found
    }

    #[tokio::test]
    async fn lines_are_split_and_the_last_may_be_open() {
        let found = read("one\n\ntwo\r\nthree", 100).await;
        let expected = ["one", "", "two\r", "three"].map(|line| Ok(line.to_owned()));
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_its_id_found() {
        let long = "x".repeat(3 * READ_BYTES);
        let cases = [
            (
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{long}"}}"#),
                Some(7),
            ),
            (
                format!(r#"{{"jsonrpc": "2.0", "id": 7, "result": "{long}"}}"#),
                Some(7),
            ),
            (
                format!(r#"{{"result":"{long}","jsonrpc":"2.0","id":8}}"#),
                Some(8),
            ),
            (
                format!(r#"{{"result":"{long}","id":8,"jsonrpc":"2.0"}}"#),
                None,
            ),
            (
                format!(r#"{{"result":{{"x":"{long}","id":9}},"jsonrpc":"2.0"}}"#),
                None,
            ),
            (long.clone(), None),
        ];
        for (line, id) in cases {
            let found = read(&format!("{line}\nnext\n"), READ_BYTES).await;
            assert_eq!(found, [Err(id), Ok("next".to_owned())], "{}", &line[..30]);
        }
        assert_eq!(read(&long, READ_BYTES).await, []);
    }
}
