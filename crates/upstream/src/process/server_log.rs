//! Log of what one server prints beside its messages, in a file of bounded size.
//!
//! Who reads the server's streams puts lines into a bounded queue and goes on; a task of its own hides secrets and writes.
//! So neither a slow disk nor a flood holds up the server, its streams or other servers: what has no room is counted.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use mcpproxy_redact::Mask;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::lock;
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
#[derive(Debug, Default)]
struct LogQueue {
    lines: Vec<LogLine>,
    bytes: usize,
    /// Lines that had no room since the last write.
    dropped: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct LogLine {
    time: SystemTime,
    source: LogSource,
    text: Vec<u8>,
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
            queue: Mutex::default(),
            wake: Notify::new(),
            hurry: Notify::new(),
            is_ended: watch::Sender::new(false),
        });
        tokio::spawn(Arc::clone(&log).write_all());
        Some(log)
    }

    /// Adds a line, if there is room for it.
    pub(crate) fn line(&self, source: LogSource, text: &[u8]) {
        let text = &text[..text.len().min(LINE_BYTES)];
        let mut queue = lock(&self.queue);
        let bytes = queue.bytes + text.len() + LINE_OVERHEAD;
        if bytes > QUEUE_LIMIT {
            queue.dropped += 1;
            return;
        }
        queue.bytes = bytes;
        queue.lines.push(LogLine {
            time: SystemTime::now(),
            source,
            text: text.to_vec(),
        });
        drop(queue);
        self.wake.notify_one();
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
        loop {
            self.wake.notified().await;
            let (lines, dropped, is_closed) = {
                let mut queue = lock(&self.queue);
                queue.bytes = 0;
                let lines = std::mem::take(&mut queue.lines);
                (lines, std::mem::take(&mut queue.dropped), queue.is_closed)
            };
            let lost = u64::try_from(lines.len()).unwrap_or(u64::MAX) + dropped;
            if lost > 0 {
                let log = Arc::clone(&self);
                let write = move || log.append(&text_of(&lines, dropped, &log.mask));
                let written = tokio::task::spawn_blocking(write).await;
                if let Err(error) = written.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())) {
                    lock(&self.queue).dropped += lost;
                    if !std::mem::replace(&mut has_failed, true) {
                        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
                        tracing::warn!(%file, kind = %error.kind(), "what a server prints could not be kept");
                    }
                }
            }
            if is_closed {
                self.is_ended.send_replace(true);
                return;
            }
            let _ = timeout(PAUSE, self.hurry.notified()).await;
        }
    }

    /// Writes to the end of the file, which makes room first if it is full. Opened each time, so that it may be removed,
    /// and another process of ours may write to it as well.
    fn append(&self, text: &str) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        make_private_folder(folder)?;
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        match fs::symlink_metadata(&self.file) {
            // To open something else, such as a pipe, could take for ever.
            Ok(data) if !data.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
            Ok(data) if data.len().saturating_add(bytes) > FILE_LIMIT => {
                fs::rename(&self.file, &self.older)?;
            }
            Ok(_) | Err(_) => {}
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let mut file = private(&mut options).open(&self.file)?;
        make_private(&file)?;
        file.write_all(text.as_bytes())
    }
}

/// Lines as the file has them, secrets hidden and control characters escaped.
fn text_of(lines: &[LogLine], dropped: u64, mask: &Mask) -> String {
    let mut text = String::new();
    for line in lines {
        let shown = PrintedLine::read(&line.text, LINE_BYTES, mask).escaped();
        let cut = shown.char_indices().nth(LINE_CHARACTERS);
        let shown = cut.map_or(&*shown, |(at, _)| &shown[..at]);
        push(&mut text, line.time, line.source, shown);
    }
    if dropped > 0 {
        let shown = format!("{dropped} lines are not here: there was no room for them");
        push(&mut text, SystemTime::now(), LogSource::Gateway, &shown);
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
            self.end_line();
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

    fn end_line(&mut self) {
        self.log.line(LogSource::Stderr, &self.open_line);
        self.open_line.clear();
        self.has_open_line = false;
    }
}

impl Drop for LogStream {
    fn drop(&mut self) {
        // The last line of a stream may lack its line break.
        if self.has_open_line {
            self.end_line();
        }
    }
}

// === files for nobody else ===

#[cfg(unix)]
fn make_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let made = fs::DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(folder);
    made?;
    if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(unix)]
fn make_private(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o177 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &OpenOptions {
    options
}

#[cfg(not(unix))]
fn make_private(_file: &fs::File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
