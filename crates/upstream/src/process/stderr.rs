//! Last lines that a program wrote to its standard error. Each program has a tail of its own, so that nobody takes the
//! lines of an attempt for those of another.
//!
//! The stream is read at full speed always, so that no program blocks on it, and only its
//! end is kept, so that no program fills our memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use mcpproxy_redact::Mask;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::printed::PrintedLine;
use super::server_log::ServerLog;
use crate::lock;

/// Most lines that are stored.
const LINES: usize = 100;
/// Most characters shown of one line.
const LINE_BYTES: usize = 1024;
/// Bytes kept of one line until its secrets are hidden.
const KEPT_BYTES: usize = LINE_BYTES + 512;
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// End of a program's standard error.
#[derive(Debug, Default)]
pub(crate) struct StderrTail {
    mask: Mask,
    lines: Mutex<VecDeque<PrintedBytes>>,
}

/// Bytes of a line.
#[derive(Debug, Default, Clone)]
struct PrintedBytes {
    bytes: Vec<u8>,
    /// Whether its end was not read yet.
    is_open: bool,
}

impl StderrTail {
    pub(crate) fn new(mask: Mask) -> Self {
        Self {
            mask,
            lines: Mutex::default(),
        }
    }

    /// The last lines for people, at most so many: oldest first, secrets hidden, control characters left out and hidden
    /// ones escaped.
    ///
    /// To hide secrets takes its time, so it is done for these lines alone, and not while the program waits to write.
    pub(crate) fn last(&self, most: usize) -> Vec<String> {
        let last: Vec<PrintedBytes> = {
            let lines = lock(&self.lines);
            let before = lines.len().saturating_sub(most);
            lines.iter().skip(before).cloned().collect()
        };
        last.iter().map(|line| self.shown(line)).collect()
    }

    fn shown(&self, line: &PrintedBytes) -> String {
        let shown = PrintedLine::read(&line.bytes, KEPT_BYTES, &self.mask);
        let shown = shown.open(line.is_open).without_controls();
        shown.chars().take(LINE_BYTES).collect()
    }

    /// Reads the stream to its end; all of it goes to the log as well.
    pub(crate) async fn drain(
        &self,
        mut stream: impl AsyncRead + Unpin,
        log: Option<&Arc<ServerLog>>,
    ) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut open_line = false;
        let mut log = log.map(ServerLog::stderr);
        while let Ok(read @ 1..) = stream.read(&mut chunk).await {
            open_line = self.take(&chunk[..read], open_line);
            if let Some(log) = &mut log {
                log.take(&chunk[..read]);
            }
        }
    }

    /// Takes a piece of the stream; gives back whether it ends within a line.
    fn take(&self, mut piece: &[u8], mut open_line: bool) -> bool {
        let mut lines = lock(&self.lines);
        while !piece.is_empty() {
            let end = memchr::memchr(b'\n', piece);
            let part = &piece[..end.unwrap_or(piece.len())];
            if !open_line {
                // The oldest line's memory is used again for the newest.
                let mut line = if lines.len() == LINES {
                    lines.pop_front().unwrap_or_default()
                } else {
                    PrintedBytes::default()
                };
                line.bytes.clear();
                lines.push_back(line);
            }
            if let Some(line) = lines.back_mut() {
                let room = KEPT_BYTES.saturating_sub(line.bytes.len());
                line.bytes.extend_from_slice(&part[..part.len().min(room)]);
                line.is_open = end.is_none();
            }
            open_line = end.is_none();
            piece = end.map_or(&[], |end| &piece[end + 1..]);
        }
        open_line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_kept_and_lines_are_cut() {
        let tail = StderrTail::new(Mask::new(["topsecret".to_owned()]));
        let mut stream = Vec::new();
        for number in 0..1000 {
            stream.extend_from_slice(format!("line {number} topsecret\u{1b}\n").as_bytes());
        }
        stream.extend_from_slice(&vec![b'x'; 5 * CHUNK_BYTES]);
        stream.extend_from_slice(b"\nend without a line break");
        tail.drain(stream.as_slice(), None).await;
        let lines = tail.last(usize::MAX);
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0], "line 902 ***");
        assert_eq!(lines[98].len(), LINE_BYTES);
        assert_eq!(lines[99], "end without a line break");
        assert_eq!(tail.last(2), lines[98..]);
        assert!(tail.last(0).is_empty());
    }

    #[tokio::test]
    async fn status_showed_the_beginning_of_a_long_secret_and_marks_of_direction() {
        let secret = "0123456789-abcdef".repeat(400);
        let tail = StderrTail::new(Mask::new([secret.clone()]));
        let printed = format!("key {secret}\n\u{202e}desrever\u{200b}\n");
        tail.drain(printed.as_bytes(), None).await;
        assert_eq!(tail.last(usize::MAX), ["key ***", r"\u202edesrever\u200b"]);
        // The rest may come with the next piece.
        tail.drain(format!("key {}", &secret[..40]).as_bytes(), None)
            .await;
        assert_eq!(tail.last(1), ["key ***"]);
    }
}
