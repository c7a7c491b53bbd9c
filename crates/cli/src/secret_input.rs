//! Secrets that a person types or pipes in. They are never arguments, which other users could see, and never shown.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use mcpproxy_gateway::settings::secret_files::VALUE_LIMIT;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::error::CliError;

/// Reads a secret: a line from a terminal, where it is not shown, else all of standard input.
pub(crate) fn read_all(what: &str) -> Result<String, CliError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return read_line(what);
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().take(MOST).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(&error))?;
    checked(what, bytes)
}

/// Reads one line of standard input as a secret; on a terminal it is not shown.
pub(crate) fn read_line(what: &str) -> Result<String, CliError> {
    let stdin = io::stdin();
    let _hidden = if stdin.is_terminal() {
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "{what}: ").and_then(|()| stderr.flush());
        Some(HiddenInput::begin().map_err(|error| unreadable(&error))?)
    } else {
        None
    };
    let mut bytes = Vec::new();
    let read = stdin.lock().take(MOST).read_until(b'\n', &mut bytes);
    read.map_err(|error| unreadable(&error))?;
    checked(what, bytes)
}

/// Most bytes that are read: a value, its line break, and one more that shows that it is too long.
const MOST: u64 = VALUE_LIMIT as u64 + 3;

fn checked(what: &str, bytes: Vec<u8>) -> Result<String, CliError> {
    let wrong = |why: &str| Err(CliError::usage(format!("the value of {what} {why}")));
    let Ok(mut value) = String::from_utf8(bytes) else {
        return wrong("is not valid UTF-8");
    };
    value.truncate(value.trim_end_matches(['\n', '\r']).len());
    match value.len() {
        0 => wrong("is empty; it is read from standard input"),
        length if length > VALUE_LIMIT => wrong("is longer than the 64 KiB allowed"),
        _ => Ok(value),
    }
}

fn unreadable(error: &io::Error) -> CliError {
    CliError::refused(format!("standard input cannot be read: {error}"))
}

/// Terminal that does not show what is typed, until this is dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> io::Result<Self> {
        let usual = tcgetattr(io::stdin())?;
        let mut hidden = usual.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(usual))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_before_its_line_break_and_is_bounded() {
        let read = |bytes: &[u8]| checked("x", bytes.to_vec()).ok();
        assert_eq!(read(b"abc\r\n").as_deref(), Some("abc"));
        assert_eq!(read(b"a\nb\n").as_deref(), Some("a\nb"));
        for bytes in [&b""[..], b"\n", b"\xff", &vec![b'a'; VALUE_LIMIT + 1]] {
            assert_eq!(read(bytes), None);
        }
        assert!(read(&vec![b'a'; VALUE_LIMIT]).is_some());
    }
}
