//! Logging: to stderr, so that results on stdout stay clean, and without secrets.

use std::io::{self, Write};

use mcpproxy_gateway::redaction;
use mcpproxy_redact::OwnSecrets;

use crate::arguments::Command;
use crate::output::stderr_has_colour;

/// The watch of the configuration would log every change in its folders. A log file in one of them would then grow by
/// itself without end, and keep the watch from anything else.
const NEVER_LOGGED: &str = "notify=info";

/// Starts to log. `RUST_LOG` changes what is logged.
pub(crate) fn start(command: &Command) {
    let default = match command {
        Command::Serve(_) => "info",
        _ => "error",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default))
        .add_directive(NEVER_LOGGED.parse().expect("it is a directive"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| RedactedLines::new(io::stderr()))
        .with_ansi(stderr_has_colour())
        .with_target(false)
        .init();
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
