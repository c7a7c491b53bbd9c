//! `mcpproxy activity export`

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use futures_util::TryStreamExt;
use mcpproxy_gateway::records::{self, ExportFormat};
use mcpproxy_policy::RecordScope;
use serde_json::{Value, json};

use super::source::{Pieces, Source};
use crate::CommandResult;
use crate::arguments::{Common, ExportArguments, pairs};
use crate::commands::serve::interrupted;
use crate::error::CliError;
use crate::output::TerminalText;
use crate::progress_bar::TerminalProgress;

pub(super) async fn run(common: &Common, export: &ExportArguments) -> CommandResult {
    let given = pairs(export);
    records::RecordExport::parse(&given, RecordScope::All).map_err(CliError::wrong)?;
    let source = Source::find(common).await?;
    let is_file = export.file.as_os_str() != "-";
    // A bar between the lines of the export would help nobody.
    let progress = if is_file || !io::stdout().is_terminal() {
        TerminalProgress::start("exporting")
    } else {
        TerminalProgress::hidden()
    };
    let total = if progress.is_seen() {
        source.count(&pairs(&export.filters)).await?
    } else {
        0
    };
    let mut pieces = source.export(&given).await?;
    let mut counter = Counter::new(&export.format);
    let mut seen = |piece: &[u8]| {
        counter.count(piece);
        // More may come in than there was to export at first.
        progress.at(counter.records(), total.max(counter.records()));
    };
    let written = if is_file {
        to_file(&export.file, &mut pieces, &mut seen).await
    } else {
        to_stdout(&mut pieces, &mut seen).await
    };
    progress.end();
    written?;
    if is_file {
        let report =
            json!({ "file": export.file, "format": export.format, "records": counter.records() });
        common.output.result(&report.to_string(), sentence);
    }
    Ok(ExitCode::SUCCESS)
}

fn sentence(report: &Value) -> String {
    let file = report["file"].as_str().unwrap_or_default();
    format!("{} records in {file}\n", report["records"])
}

async fn to_stdout(pieces: &mut Pieces, seen: &mut impl FnMut(&[u8])) -> Result<(), CliError> {
    let mut stdout = io::stdout();
    let copied = if stdout.is_terminal() {
        copy(pieces, &mut TerminalText::new(stdout), seen).await?
    } else {
        copy(pieces, &mut stdout, seen).await?
    };
    match copied {
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::refused(format!(
            "the export cannot be written: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Writes a new file. One that is not whole is removed, so that nobody takes it for the export.
async fn to_file(
    path: &Path,
    pieces: &mut Pieces,
    seen: &mut impl FnMut(&[u8]),
) -> Result<(), CliError> {
    let mut file = create(path)?;
    let copied = tokio::select! {
        copied = copy(pieces, &mut file, seen) => copied,
        () = interrupted() => Err(CliError::refused("the export was interrupted; the file is removed")),
    };
    let written = copied.and_then(|copied| {
        let synced = copied.and_then(|()| file.sync_all());
        synced.map_err(|error| unwritable(path, &error))
    });
    if written.is_err() {
        // What cannot be removed has at least been reported.
        let _ = std::fs::remove_file(path);
    }
    written
}

/// Writes every piece; the inner error is one of the writer.
async fn copy(
    pieces: &mut Pieces,
    to: &mut impl Write,
    seen: &mut impl FnMut(&[u8]),
) -> Result<io::Result<()>, CliError> {
    while let Some(piece) = pieces.try_next().await? {
        if let Err(error) = to.write_all(&piece).and_then(|()| to.flush()) {
            return Ok(Err(error));
        }
        seen(&piece);
    }
    Ok(Ok(()))
}

/// Creates a file that only its owner can read: records hold what agents sent.
fn create(path: &Path) -> Result<File, CliError> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CliError::usage(format!(
            "{} exists already; name a new file, or remove it first",
            path.display()
        )),
        _ => unwritable(path, &error),
    })
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::refused(format!("{} cannot be written: {error}", path.display()))
}

/// Counts records by the lines they end with.
struct Counter {
    is_csv: bool,
    is_quoted: bool,
    lines: u64,
}

impl Counter {
    fn new(format: &str) -> Self {
        Self {
            is_csv: format == ExportFormat::Csv.as_str(),
            is_quoted: false,
            lines: 0,
        }
    }

    fn count(&mut self, piece: &[u8]) {
        for byte in piece {
            match byte {
                // A quote inside of quotes comes twice, which changes nothing.
                b'"' if self.is_csv => self.is_quoted = !self.is_quoted,
                b'\n' if !self.is_quoted => self.lines += 1,
                _ => {}
            }
        }
    }

    fn records(&self) -> u64 {
        self.lines.saturating_sub(u64::from(self.is_csv))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_wherever_the_text_is_cut() {
        let csv = b"id,text\r\n1,\"a\nb\"\"\n\"\r\n2,c\r\n";
        let json = b"{\"a\":\"\\\"\"}\n{}\n";
        for (format, text) in [("csv", &csv[..]), ("jsonl", &json[..])] {
            for step in 1..text.len() {
                let mut counter = Counter::new(format);
                text.chunks(step).for_each(|piece| counter.count(piece));
                assert_eq!(counter.records(), 2, "{format} cut every {step} bytes");
            }
        }
        assert_eq!(Counter::new("csv").records(), 0);
    }
}
