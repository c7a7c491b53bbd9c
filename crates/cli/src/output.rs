//! Output: results on stdout, all else on stderr.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use mcpproxy_wire::json::decode_for_display;
use serde_json::{Value, json};

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
            Self::Json => text.to_owned(),
            Self::Yaml => as_yaml(&decode_for_display(text)),
            Self::Table => table(&decode_for_display(text)),
        }
    }

    /// Tells of an error.
    pub(crate) fn error(self, error: &Value) {
        let shown = match self {
            Self::Json => json!({ "error": error }).to_string(),
            Self::Yaml => as_yaml(&json!({ "error": error })),
            Self::Table => {
                let message = error["message"].as_str().unwrap_or("unknown error");
                format!("error: {}", printable(message))
            }
        };
        note(shown.trim_end());
    }
}

/// Writes a result; false if it could not be written: whoever closed the pipe has seen enough.
fn write_out(text: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = write!(stdout, "{text}{end}");
    written.and_then(|()| stdout.flush()).is_ok()
}

/// Tells the person something that is not the result.
pub(crate) fn note(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "{text}");
}

/// Whether messages may have colour.
pub(crate) fn stderr_has_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::io::stderr().is_terminal()
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
    text.chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            // Controls, and the marks that turn the direction of text around.
            _ if character.is_control() => '\u{fffd}',
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            _ => character,
        })
        .collect()
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

fn as_yaml(value: &Value) -> String {
    serde_norway::to_string(value).unwrap_or_else(|_| value.to_string())
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
            "a\u{fffd}[31mb\n\tc\u{fffd}d"
        );
    }
}
