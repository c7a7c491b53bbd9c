//! `mcpproxy upstream logs`: what a server wrote for people, with a gateway and without.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use mcpproxy_gateway::log_files;
use mcpproxy_gateway::servers::unlisted_server;
use mcpproxy_gateway::settings::{self, Sources, edit};
use serde_json::{Value, json};

use crate::CommandResult;
use crate::arguments::{Common, LogArguments};
use crate::commands::serve::interrupted;
use crate::error::CliError;
use crate::output::{elements, note, printable, text};

/// Most bytes of a file that are looked through: a little more than a log has before another is begun.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// Most bytes that are shown at once of what is added.
const MOST_AT_ONCE: u64 = 256 * 1024;

/// Pause before the file is looked at again.
const STEP: Duration = Duration::from_millis(200);

pub(super) async fn run(common: &Common, arguments: &LogArguments) -> CommandResult {
    let [path, older] = log_paths(&common.sources(), &arguments.server)?;
    let unreadable = |error: io::Error| {
        CliError::refused(format!(
            "the log {} cannot be read: {error}",
            path.display()
        ))
    };
    let mut tail = Tail::open(&path).map_err(unreadable)?;
    let last = last_lines(&older, &mut tail, arguments.lines as usize).map_err(unreadable)?;
    if last.is_empty() && !arguments.follow {
        note(&printable(&format!(
            "server '{}' has written nothing yet",
            arguments.server
        )));
    }
    if !arguments.follow {
        let shown = json!({ "server": arguments.server, "file": path, "lines": last });
        return Ok(common.output.result(&shown.to_string(), page));
    }
    let show = |line: &str| {
        let item = json!({ "server": arguments.server, "line": line });
        common
            .output
            .item(&item.to_string(), |item| text(&item["line"]))
    };
    if !last.iter().all(|line| show(line)) {
        return Ok(ExitCode::SUCCESS);
    }
    note("following; Ctrl-C ends it");
    let following = async {
        loop {
            match tail.next_lines() {
                Ok(lines) if lines.is_empty() => tokio::time::sleep(STEP).await,
                Ok(lines) if lines.iter().all(|line| show(line)) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(unreadable(error)),
            }
        }
    };
    tokio::select! {
        followed = following => followed?,
        () = interrupted() => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn page(shown: &Value) -> String {
    let lines = elements(&shown["lines"]).iter();
    lines.map(|line| text(line) + "\n").collect()
}

/// Log of a server that is configured, or was and left one, and the one before it.
fn log_paths(sources: &Sources, server: &str) -> Result<[PathBuf; 2], CliError> {
    let data_dir = settings::data_dir(sources)?;
    let paths = log_files::current(&data_dir, server).zip(log_files::older(&data_dir, server));
    let paths = paths.filter(|_| edit::check_name(server).is_ok());
    let paths = paths.map(|(current, older)| [current, older]);
    if let Some(paths) = paths.as_ref().filter(|paths| paths[0].is_file()) {
        return Ok(paths.clone());
    }
    let settings = settings::load(sources)?;
    let names: Vec<String> = settings
        .servers
        .iter()
        .map(|one| one.name.to_string())
        .collect();
    paths
        .filter(|_| names.iter().any(|name| name == server))
        .ok_or_else(|| CliError::from(unlisted_server(server, &names)))
}

/// Last lines of a log, and of the one before it where those are not enough. The tail goes on behind them.
fn last_lines(older: &Path, tail: &mut Tail, count: usize) -> io::Result<Vec<String>> {
    let mut lines = tail.lines_so_far()?;
    if lines.len() < count {
        let mut before = Tail::open(older)?;
        let mut earlier = before.lines_so_far()?;
        earlier.append(&mut lines);
        lines = earlier;
    }
    lines.drain(..lines.len().saturating_sub(count));
    Ok(lines)
}

/// End of a file that somebody writes to, and now and then begins anew.
struct Tail {
    path: PathBuf,
    file: Option<File>,
    /// Beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

impl Tail {
    /// Log at a path. It need not be there yet.
    fn open(path: &Path) -> io::Result<Self> {
        let file = match log_files::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            file => Some(file?),
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            rest: Vec::new(),
        })
    }

    /// Lines up to now, from within the part that is looked through.
    fn lines_so_far(&mut self) -> io::Result<Vec<String>> {
        let Some(file) = &mut self.file else {
            return Ok(Vec::new());
        };
        let length = file.metadata()?.len();
        let from = length.saturating_sub(MOST_BYTES);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        let mut lines = self.complete(&bytes);
        if from > 0 && !lines.is_empty() {
            // It began before that part.
            lines.remove(0);
        }
        Ok(lines)
    }

    /// Lines that were added since; none if there is nothing new. A file that took the place of the one that is read is
    /// gone on with as soon as that one is read to its end.
    fn next_lines(&mut self) -> io::Result<Vec<String>> {
        let mut bytes = Vec::new();
        if let Some(file) = &mut self.file {
            file.take(MOST_AT_ONCE).read_to_end(&mut bytes)?;
            if bytes.is_empty() && file.stream_position()? > file.metadata()?.len() {
                // It was emptied.
                file.seek(SeekFrom::Start(0))?;
            }
        }
        if bytes.is_empty() && self.is_replaced()? {
            let next = Self::open(&self.path)?;
            let last = std::mem::take(&mut self.rest);
            self.file = next.file;
            return Ok(if last.is_empty() {
                Vec::new()
            } else {
                vec![as_text(&last)]
            });
        }
        Ok(self.complete(&bytes))
    }

    fn is_replaced(&self) -> io::Result<bool> {
        let there = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            there => there?,
        };
        let Some(file) = &self.file else {
            return Ok(true);
        };
        let read = file.metadata()?;
        Ok((there.dev(), there.ino()) != (read.dev(), read.ino()))
    }

    /// Lines that are whole with these bytes; what is left waits for more.
    fn complete(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let whole = self
            .rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        // A line without an end is shown in pieces.
        let whole = if self.rest.len() as u64 > MOST_BYTES {
            self.rest.len()
        } else {
            whole
        };
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        let lines = lines.strip_suffix(b"\n").unwrap_or(&lines);
        if whole == 0 {
            return Vec::new();
        }
        lines.split(|byte| *byte == b'\n').map(as_text).collect()
    }
}

fn as_text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_log_that_is_begun_anew_is_followed() {
        let folder = std::env::temp_dir().join(format!("mcpproxy-logs-{}", uuid::Uuid::new_v4()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("a.log");
        let older = folder.join("a.log.1");
        let mut tail = Tail::open(&path).unwrap();
        assert!(last_lines(&older, &mut tail, 3).unwrap().is_empty());
        assert!(tail.next_lines().unwrap().is_empty());
        fs::write(&older, "0\n1\n").unwrap();
        let mut log = File::create(&path).unwrap();
        write!(log, "2\n3").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        assert_eq!(last_lines(&older, &mut tail, 2).unwrap(), ["1", "2"]);
        writeln!(log).unwrap();
        assert_eq!(tail.next_lines().unwrap(), ["3"]);
        assert!(tail.next_lines().unwrap().is_empty());
        write!(log, "4").unwrap();
        fs::rename(&path, &older).unwrap();
        fs::write(&path, "5\n").unwrap();
        assert!(tail.next_lines().unwrap().is_empty());
        assert_eq!(tail.next_lines().unwrap(), ["4"]);
        assert_eq!(tail.next_lines().unwrap(), ["5"]);
        let mut tail = Tail::open(&path).unwrap();
        assert!(last_lines(&older, &mut tail, 0).unwrap().is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }
}
