//! Log of what one server prints beside its messages, in a file of bounded size.
//!
//! Who reads the server's streams puts lines into a bounded queue and goes on; a task of its own hides secrets and writes.
//! So neither a slow disk nor a flood holds up the server, its streams or other servers: what has no room is counted. Nor
//! does a flood write for ever: each log has a budget of bytes, and what is beyond it is not even looked at.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use mcpproxy_redact::Mask;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::lock;
use crate::process::byte_budget::ByteBudget;
use crate::process::log_files;
use crate::process::printed::PrintedLine;

/// Size that a file may have. There are two of them for each server.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;
/// Most bytes that wait to be written, with what each line takes beside its text: a second of a talkative server.
const QUEUE_LIMIT: usize = 256 * 1024;
const LINE_OVERHEAD: usize = 64;
/// Most characters that are kept of a line, and bytes that are read of it. The rest is hidden where it is part of a
/// secret that the line breaks off with.
const LINE_CHARACTERS: usize = 4096;
const LINE_BYTES: usize = LINE_CHARACTERS + 512;
/// Pause between two writes: lines that come together are written together, and a flood costs little.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest that the end of a server waits for its last lines to be written.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// Log of one server.
#[derive(Debug)]
pub(crate) struct ServerLog {
    file: PathBuf,
    older: PathBuf,
    mask: Mask,
    queue: Mutex<LogQueue>,
    /// Wakes the task that writes.
    wake: Notify,
    /// Ends the pause of that task.
    hurry: Notify,
    is_ended: watch::Sender<bool>,
}

/// Lines that wait to be written.
#[derive(Debug)]
struct LogQueue {
    lines: Vec<LogLine>,
    bytes: usize,
    budget: ByteBudget,
    /// Lines that had no room since this was last told.
    dropped: u64,
    /// Time at which that is told, when the budget is spent: once in each of its minutes.
    told_at: Option<Instant>,
    is_closed: bool,
}

/// Lines that are to be written now.
struct LogBatch {
    lines: Vec<LogLine>,
    bytes: usize,
    dropped: u64,
    told_at: Option<Instant>,
    is_last: bool,
}

#[derive(Debug)]
struct LogLine {
    time: SystemTime,
    source: LogSource,
    text: Vec<u8>,
    /// Whether its end was never read.
    is_open: bool,
}

/// Origin of a line, which every line of the file names: no server can write one that looks like ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogSource {
    /// The gateway.
    Gateway,
    /// Standard error.
    Stderr,
    /// Standard output, where it is no message.
    Stdout,
}

/// Lines of a stream that comes in pieces.
#[derive(Debug)]
pub(crate) struct LogStream {
    log: Arc<ServerLog>,
    open_line: Vec<u8>,
    has_open_line: bool,
}

// === impl ServerLog ===

impl ServerLog {
    /// Log of a server in the folder of the state, written by a task of its own until it is closed; nothing for a server
    /// whose name is no name of a file. Needs a Tokio runtime.
    pub(crate) fn start(data_dir: &Path, server: &str, mask: Mask) -> Option<Arc<Self>> {
        let log = Arc::new(Self {
            file: log_files::current(data_dir, server)?,
            older: log_files::older(data_dir, server)?,
            mask,
            queue: Mutex::new(LogQueue::new(Instant::now())),
            wake: Notify::new(),
            hurry: Notify::new(),
            is_ended: watch::Sender::new(false),
        });
        tokio::spawn(Arc::clone(&log).write_all());
        Some(log)
    }

    /// Adds a line, if there is room for it.
    pub(crate) fn line(&self, source: LogSource, text: &[u8]) {
        self.add(source, text, false);
    }

    /// Adds a line, which may be the beginning of one.
    fn add(&self, source: LogSource, text: &[u8], is_open: bool) {
        let text = &text[..text.len().min(LINE_BYTES)];
        if lock(&self.queue).add(source, text, is_open, Instant::now()) {
            self.wake.notify_one();
        }
    }

    /// Adds the lines of a stream.
    pub(crate) fn stderr(self: &Arc<Self>) -> LogStream {
        LogStream {
            log: Arc::clone(self),
            open_line: Vec::new(),
            has_open_line: false,
        }
    }

    /// Ends the log; waits a moment for the last lines to be written.
    pub(crate) async fn close(&self) {
        lock(&self.queue).is_closed = true;
        self.wake.notify_one();
        self.hurry.notify_one();
        let mut ended = self.is_ended.subscribe();
        let _ = timeout(LAST_WRITE, ended.wait_for(|is_ended| *is_ended)).await;
    }

    async fn write_all(self: Arc<Self>) {
        let mut has_failed = false;
        let mut told_at = None;
        loop {
            tokio::select! {
                () = self.wake.notified() => {}
                () = sleep_until_due(told_at) => {}
            }
            let batch = lock(&self.queue).take(Instant::now());
            told_at = batch.told_at;
            let is_last = batch.is_last;
            let lost = u64::try_from(batch.lines.len()).unwrap_or(u64::MAX) + batch.dropped;
            if lost > 0 {
                let log = Arc::clone(&self);
                let written = tokio::task::spawn_blocking(move || log.write(&batch)).await;
                if let Err(error) = written.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())) {
                    lock(&self.queue).dropped += lost;
                    if !std::mem::replace(&mut has_failed, true) {
                        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
                        tracing::warn!(%file, kind = %error.kind(), "what a server prints could not be kept");
                    }
                }
            }
            if is_last {
                self.is_ended.send_replace(true);
                return;
            }
            let _ = timeout(PAUSE, self.hurry.notified()).await;
        }
    }

    fn write(&self, batch: &LogBatch) -> io::Result<()> {
        let text = text_of(&batch.lines, batch.dropped, &self.mask);
        // Escaped characters take more room than they had.
        let more = text.len().saturating_sub(batch.bytes);
        lock(&self.queue).budget.charge(more);
        self.append(&text)
    }

    /// Writes to the end of the file, which makes room first if it is full. Opened each time, so that it may be removed,
    /// and another process of ours may write to it as well.
    fn append(&self, text: &str) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        log_files::make_folder(folder)?;
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let found = fs::symlink_metadata(&self.file);
        if found.is_ok_and(|found| found.is_file() && found.len() + bytes > FILE_LIMIT) {
            fs::rename(&self.file, &self.older)?;
        }
        log_files::open_to_append(&self.file)?.write_all(text.as_bytes())
    }
}

// === impl LogQueue ===

impl LogQueue {
    fn new(now: Instant) -> Self {
        Self {
            lines: Vec::new(),
            bytes: 0,
            budget: ByteBudget::new(now),
            dropped: 0,
            told_at: None,
            is_closed: false,
        }
    }

    /// Adds a line, if there is room for it; says whether there is something new to do for who writes. Lines of ours
    /// are few, and no flood keeps them out.
    fn add(&mut self, source: LogSource, text: &[u8], is_open: bool, now: Instant) -> bool {
        let bytes = text.len() + LINE_OVERHEAD;
        if self.bytes + bytes > QUEUE_LIMIT {
            self.dropped += 1;
            return false;
        }
        if source != LogSource::Gateway && !self.budget.take(bytes, now) {
            self.dropped += 1;
            let is_first = self.told_at.is_none();
            self.told_at.get_or_insert(self.budget.next_refill());
            return is_first;
        }
        if self.dropped > 0 {
            let before = missing(std::mem::take(&mut self.dropped)).into_bytes();
            self.push(LogSource::Gateway, before, false);
            self.told_at = None;
        }
        self.push(source, text.to_vec(), is_open);
        true
    }

    fn push(&mut self, source: LogSource, text: Vec<u8>, is_open: bool) {
        self.bytes += text.len() + LINE_OVERHEAD;
        self.lines.push(LogLine {
            time: SystemTime::now(),
            source,
            text,
            is_open,
        });
    }

    /// Takes what is to be written. The number of missing lines stays as long as it grows.
    fn take(&mut self, now: Instant) -> LogBatch {
        self.told_at = self.told_at.filter(|at| *at > now && !self.is_closed);
        let is_told = self.told_at.is_none();
        LogBatch {
            lines: std::mem::take(&mut self.lines),
            bytes: std::mem::take(&mut self.bytes),
            dropped: if is_told {
                std::mem::take(&mut self.dropped)
            } else {
                0
            },
            told_at: self.told_at,
            is_last: self.is_closed,
        }
    }
}

fn missing(lines: u64) -> String {
    format!("{lines} lines are not here: there was no room for them")
}

/// Lines as the file has them, secrets hidden and control characters escaped.
fn text_of(lines: &[LogLine], dropped: u64, mask: &Mask) -> String {
    let mut text = String::new();
    for line in lines {
        let shown = PrintedLine::read(&line.text, LINE_BYTES, mask);
        let shown = shown.open(line.is_open).escaped();
        let cut = shown.char_indices().nth(LINE_CHARACTERS);
        let shown = cut.map_or(&*shown, |(at, _)| &shown[..at]);
        push(&mut text, line.time, line.source, shown);
    }
    if dropped > 0 {
        push(
            &mut text,
            SystemTime::now(),
            LogSource::Gateway,
            &missing(dropped),
        );
    }
    text
}

fn push(text: &mut String, time: SystemTime, source: LogSource, shown: &str) {
    let time = Timestamp::try_from(time).unwrap_or_default();
    // Writing to a text cannot fail.
    let _ = writeln!(text, "{time:.3} {} {shown}", source.as_str());
}

impl LogSource {
    /// Word for it, which every line has after its time.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Gateway => "mcpproxy",
            Self::Stderr => "stderr",
            Self::Stdout => "stdout",
        }
    }
}

// === impl LogStream ===

impl LogStream {
    /// Takes a piece of the stream.
    pub(crate) fn take(&mut self, mut piece: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            self.extend(&piece[..end]);
            self.end_line(false);
            piece = &piece[end + 1..];
        }
        if !piece.is_empty() {
            self.extend(piece);
        }
    }

    fn extend(&mut self, part: &[u8]) {
        self.has_open_line = true;
        let room = LINE_BYTES.saturating_sub(self.open_line.len());
        self.open_line
            .extend_from_slice(&part[..part.len().min(room)]);
    }

    fn end_line(&mut self, is_open: bool) {
        self.log.add(LogSource::Stderr, &self.open_line, is_open);
        self.open_line.clear();
        self.has_open_line = false;
    }
}

impl Drop for LogStream {
    fn drop(&mut self) {
        // The last line of a stream may lack its line break.
        if self.has_open_line {
            self.end_line(true);
        }
    }
}

async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
