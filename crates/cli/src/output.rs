//! Output: results on stdout, all else on stderr.
//!
//! Text of servers and agents is in both. Whatever is written here passes [`printable`], so that nothing of it steers
//! a terminal; JSON says the same with escapes of its own, and loses nothing.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use mcpproxy_wire::json::decode_for_display;
use mcpproxy_wire::meta;
use serde_json::Value;

/// Output of a command, in the format that was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
    /// For both
    Yaml,
}

impl Output {
    /// Shows the result of a command that did what was asked: as `table` draws it, or as the value.
    pub(crate) fn result(self, text: &str, table: impl FnOnce(&Value) -> String) -> ExitCode {
        // A pipe that nobody reads any more is no failure.
        let _ = write_out(&self.shown(text, table));
        ExitCode::SUCCESS
    }

    /// Shows one of many results that come one after the other; false if nobody reads them.
    pub(crate) fn item(self, text: &str, line: impl FnOnce(&Value) -> String) -> bool {
        // Each is a document of its own.
        let mark = if self == Self::Yaml { "---\n" } else { "" };
        write_out(&format!("{mark}{}", self.shown(text, line)))
    }

    fn shown(self, text: &str, table: impl FnOnce(&Value) -> String) -> String {
        match self {
            // Decoding and writing again could change a number; programs get what was sent.
            Self::Json => safe_json(text),
            Self::Yaml => as_yaml(decode_for_display(text)),
            Self::Table => table(&decode_for_display(text)),
        }
    }

    /// Tells of an error, which the answer holds, and of what else the answer warns.
    pub(crate) fn error(self, answer: &Value) {
        if self == Self::Table {
            warn(answer);
        }
        let shown = match self {
            Self::Json => safe_json(&answer.to_string()),
            Self::Yaml => as_yaml(answer.clone()),
            Self::Table => {
                let message = answer["error"]["message"]
                    .as_str()
                    .unwrap_or("unknown error");
                format!("error: {message}")
            }
        };
        note(shown.trim_end());
    }
}

/// Writes a result; false if it could not be written: whoever closed the pipe has seen enough.
fn write_out(text: &str) -> bool {
    let text = printable(text);
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = write!(stdout, "{text}{end}");
    written.and_then(|()| stdout.flush()).is_ok()
}

/// Tells the person what an answer warns of.
pub(crate) fn warn(answer: &Value) {
    for warning in elements(&answer["_meta"][meta::WARNINGS]) {
        let (code, message) = (text(&warning["code"]), text(&warning["message"]));
        note(&on_one_line(&format!("warning: {code}: {message}")));
    }
}

/// Tells the person something that is not the result.
pub(crate) fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{}", printable(text));
}

/// Writer of what comes in pieces, for a terminal. A character that is cut in two is written whole.
pub(crate) struct TerminalText<W> {
    to: W,
    rest: Vec<u8>,
}

impl<W> TerminalText<W> {
    pub(crate) fn new(to: W) -> Self {
        let rest = Vec::new();
        Self { to, rest }
    }
}

impl<W: Write> Write for TerminalText<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let text = String::from_utf8_lossy(&self.rest[..whole]);
        // Lines of CSV end with it.
        let text = text.replace('\r', "");
        self.to.write_all(printable(&text).as_bytes())?;
        self.rest.drain(..whole);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Whether messages may have colour.
pub(crate) fn stderr_has_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && io::stderr().is_terminal()
}

/// A table with a header, without lines around it.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    if table.is_tty() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    drawn(table, header, rows)
}

/// A table whose cells are never broken into lines, so that they can be copied.
pub(crate) fn wide_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows = rows
        .into_iter()
        .map(|row| row.iter().map(|cell| on_one_line(cell)).collect());
    drawn(Table::new(), header, rows)
}

fn drawn(mut table: Table, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table.load_style(NOTHING);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)).collect::<Vec<_>>());
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// Text of a server without what would steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    mcpproxy_support::printable::printable(text).into_owned()
}

/// Text of a server that cannot look like a line of ours.
pub(crate) fn on_one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// The elements of a list in an answer; none where it is no list.
pub(crate) fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a field; nothing where it has none.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// JSON that means the same and cannot steer the terminal: all that could stands in strings, and is escaped there.
fn safe_json(json: &str) -> String {
    // Between values, where JSON has no escapes, this is a space like any other.
    printable(&json.replace('\r', " "))
}

/// YAML of a value. Its plain strings have no escapes, so those of JSON stand in them as text.
fn as_yaml(value: Value) -> String {
    let value = printable_value(value);
    serde_norway::to_string(&value).unwrap_or_else(|_| value.to_string())
}

fn printable_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable(&text)),
        Value::Array(items) => items.into_iter().map(printable_value).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(name, value)| (printable(&name), printable_value(value)))
                .collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_looks_like_a_row() {
        let shown = wide_table(&["A", "B"], [vec!["1\n2".to_owned(), "x\ty".to_owned()]]);
        assert_eq!(shown, "A    B\n1 2  x y\n");
    }

    #[test]
    fn text_of_a_server_cannot_steer_the_terminal() {
        assert_eq!(
            printable("a\u{1b}[31mb\n\tc\u{202e}d"),
            "a\\u001b[31mb\n\tc\\u202ed"
        );
    }

    #[test]
    fn an_export_on_a_terminal_is_text_wherever_it_is_cut() {
        let sent = "1,größe\u{1b}[2J\r\n2,\u{202e}😀\r\n";
        for step in 1..sent.len() {
            let mut terminal = TerminalText::new(Vec::new());
            for piece in sent.as_bytes().chunks(step) {
                terminal.write_all(piece).unwrap();
            }
            let shown = String::from_utf8(terminal.to).unwrap();
            assert_eq!(shown, "1,größe\\u001b[2J\n2,\\u202e😀\n");
        }
    }

    #[test]
    fn bidirectional_marks_reached_the_terminal_in_yaml_and_json() {
        let text = "{\"a\u{202e}\":[\"\u{9b}2J \u{e0041}\"],\r\n\t\"n\":1.10}";
        let json = Output::Json.shown(text, |_| unreachable!());
        assert_eq!(
            json,
            "{\"a\\u202e\":[\"\\u009b2J \\udb40\\udc41\"], \n\t\"n\":1.10}"
        );
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(&json), read(text));
        let yaml = Output::Yaml.shown(text, |_| unreachable!());
        assert_eq!(yaml, "a\\u202e:\n- \\u009b2J \\udb40\\udc41\nn: 1.1\n");
    }
}
