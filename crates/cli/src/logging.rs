//! Logging: to stderr, so that results on stdout stay clean, one line for each event, and without secrets.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::io::{self, Write};
use std::panic::PanicHookInfo;

use mcpproxy_gateway::redaction;
use mcpproxy_redact::OwnSecrets;
use mcpproxy_support::printable::printable_line;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::arguments::Command;
use crate::output::stderr_has_colour;

/// The watch of the configuration would log every change in its folders. A log file in one of them would then grow by
/// itself without end, and keep the watch from anything else.
const NEVER_LOGGED: (&str, LevelFilter) = ("notify", LevelFilter::INFO);

/// Starts to log. `RUST_LOG` changes what is logged: a level, or levels of crates (`warn,mcpproxy_upstream=debug`).
pub(crate) fn start(command: &Command) {
    let default = match command {
        Command::Serve(_) => LevelFilter::INFO,
        _ => LevelFilter::ERROR,
    };
    let asked = std::env::var("RUST_LOG").ok();
    let asked = asked.and_then(|levels| levels.parse::<Targets>().ok());
    let levels = asked.unwrap_or_else(|| Targets::new().with_default(default));
    let (target, level) = NEVER_LOGGED;
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(|| RedactedLines::new(io::stderr()))
        .fmt_fields(PrintableFields)
        .with_ansi(stderr_has_colour())
        .with_target(false)
        .finish()
        .with(levels.with_target(target, level))
        .init();
}

/// Logs a panic as the error it is: what it says may quote servers, agents and secrets.
pub(crate) fn log_panic(panic: &PanicHookInfo<'_>) {
    let said = panic.payload();
    let said = said
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| said.downcast_ref::<&str>().copied())
        .unwrap_or("it does not say why");
    let place = panic.location().map(ToString::to_string);
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
    let backtrace = backtrace.as_ref().map(tracing::field::display);
    let thread = std::thread::current();
    let (place, thread) = (place.unwrap_or_default(), thread.name().unwrap_or_default());
    tracing::error!(place, thread, backtrace, "a panic: {said}");
}

/// Message and fields of an event, on one line and without anything that steers a terminal: they quote servers and
/// agents. All else of a line is ours.
struct PrintableFields;

impl<'writer> FormatFields<'writer> for PrintableFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        // First of all, because a secret with a line break is not recognised once the break is escaped.
        let hidden = redaction::current();
        let hidden = hidden.text(&text, &OwnSecrets::none());
        writer.write_str(&printable_line(&hidden))
    }
}

/// Writer that passes on line by line, each without its secrets: a secret that came in
/// two pieces would not be recognised.
struct RedactedLines<W: Write> {
    to: W,
    line: Vec<u8>,
}

impl<W: Write> RedactedLines<W> {
    fn new(to: W) -> Self {
        let line = Vec::new();
        Self { to, line }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let hidden = redaction::current();
        let hidden = hidden.text(&line, &OwnSecrets::none());
        self.to.write_all(hidden.as_bytes())
    }
}

impl<W: Write> Write for RedactedLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.pass_on()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Drop for RedactedLines<W> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            // The log has nowhere to say that it cannot be written.
            let _ = self.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reason_with_a_line_break_was_a_line_of_its_own() {
        redaction::set(["secret of\ntwo lines".to_owned()]);
        let written = SharedBuffer::default();
        let to = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || RedactedLines::new(to.clone()))
            .fmt_fields(PrintableFields)
            .without_time()
            .with_target(false)
            .with_ansi(false)
            .finish();
        let reason =
            "gone\n2026-01-01T00:00:00Z  INFO ready server=github\r\n\u{9b}31m\u{202e}\u{e0041}";
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(%reason, code = 7, "not\navailable");
            let _span = tracing::error_span!("call", tool = %"a\nb").entered();
            tracing::error!("secret of\ntwo lines");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            text,
            " WARN not\\navailable reason=gone\\n2026-01-01T00:00:00Z  INFO ready server=github\\r\\n\\u009b31m\\u202e\\udb40\\udc41 code=7\n\
             ERROR call{tool=a\\nb}: ***\n"
        );
    }

    #[test]
    fn a_panic_wrote_raw_text_and_secrets_to_the_terminal() {
        redaction::set(["panicking-secret".to_owned()]);
        let written = SharedBuffer::default();
        let to = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || RedactedLines::new(to.clone()))
            .fmt_fields(PrintableFields)
            .without_time()
            .with_target(false)
            .with_ansi(false)
            .finish();
        std::panic::set_hook(Box::new(log_panic));
        let caught = tracing::subscriber::with_default(subscriber, || {
            std::panic::catch_unwind(|| panic!("a panicking-secret\nin \u{1b}[31mred"))
        });
        drop(std::panic::take_hook());
        assert!(caught.is_err());
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with(r"ERROR a panic: a ***\nin \"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("logging.rs:"), "{text}");
        assert_eq!(text.matches('\n').count(), 1, "{text}");
    }

    #[test]
    fn no_line_shows_a_secret_however_it_is_written() {
        redaction::set(["log-line-secret".to_owned()]);
        let written = SharedBuffer::default();
        let to = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || RedactedLines::new(to.clone()))
            .with_ansi(false)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::error!(value = "a log-line-secret b", "with log-line-secret in it");
        });
        let mut lines = RedactedLines::new(written.clone());
        lines.write_all(b"broken log-line").unwrap();
        lines
            .write_all(b"-secret off\nand an end log-line-secret")
            .unwrap();
        drop(lines);
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains("log-line-secret"), "{text}");
        assert_eq!(text.matches("***").count(), 4, "{text}");
        assert!(text.contains("and an end ***"), "{text}");
    }
}
