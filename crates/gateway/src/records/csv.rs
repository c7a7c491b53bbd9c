//! Records as CSV, safe to open in a spreadsheet.
//!
//! RFC 4180, with a header. A cell that a spreadsheet would take for a formula gets an apostrophe
//! in front, because what agents and servers send ends up in these cells.

use mcpproxy_activity::record::{Payload, Record};
use mcpproxy_policy::{Operation, Sensitivity};
use serde_json::Value;

/// The columns, in the order of the header.
pub const COLUMNS: [&str; 32] = [
    "id",
    "request_id",
    "parent_id",
    "session_id",
    "trace_id",
    "type",
    "timestamp",
    "duration_ms",
    "server_name",
    "tool_name",
    "tool_variant",
    "intent_type",
    "intent_operation_type",
    "intent_reason",
    "data_sensitivity",
    "agent",
    "status",
    "error_code",
    "error_message",
    "arguments",
    "arguments_size",
    "arguments_truncated",
    "response",
    "response_size",
    "response_truncated",
    "warnings",
    "metadata",
    "chain",
    "seq",
    "prev_hash",
    "hash",
    "opened_seq",
];

/// The first line.
pub(super) fn header() -> String {
    COLUMNS.join(",") + "\r\n"
}

/// The line of a record.
pub(super) fn line(record: &Record) -> String {
    let cells: Vec<String> = cells(record).iter().map(|cell| written(cell)).collect();
    cells.join(",") + "\r\n"
}

fn cells(record: &Record) -> [String; COLUMNS.len()] {
    let link = record.link();
    let declared = |name: &str| {
        let value = record.intent().and_then(|intent| intent.get(name));
        text(value.and_then(Value::as_str))
    };
    [
        record.id.to_string(),
        record.request_id.to_string(),
        shown(record.parent_id),
        text(record.session_id.as_deref()),
        text(record.trace_id.as_deref()),
        record.kind.as_str().to_owned(),
        format!("{:.3}", record.timestamp),
        shown(record.duration_ms()),
        text(record.server_name.as_deref()),
        text(record.tool_name.as_deref()),
        text(record.tool_variant.as_deref()),
        text(record.intent_type.map(Operation::as_str)),
        declared("operation_type"),
        declared("reason"),
        text(record.sensitivity.map(Sensitivity::as_str)),
        text(record.agent.as_deref()),
        record.status.as_str().to_owned(),
        text(record.error.as_ref().map(|error| error.code.as_str())),
        text(record.error.as_ref().map(|error| error.message.as_str())),
        content(record.arguments.as_ref()),
        size(record.arguments.as_ref()),
        is_cut(record.arguments.as_ref()),
        content(record.response.as_ref()),
        size(record.response.as_ref()),
        is_cut(record.response.as_ref()),
        record.warnings.to_string(),
        Value::Object(record.metadata.clone()).to_string(),
        record.chain.to_string(),
        shown(link.map(|link| link.seq)),
        shown(link.map(|link| link.prev_hash)),
        shown(link.map(|link| link.hash)),
        shown(record.closed.and(record.opened).map(|link| link.seq)),
    ]
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

fn shown(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn content(payload: Option<&Payload>) -> String {
    text(payload.map(|payload| payload.text.as_str()))
}

fn size(payload: Option<&Payload>) -> String {
    shown(payload.map(|payload| payload.size))
}

fn is_cut(payload: Option<&Payload>) -> String {
    payload.is_some_and(|payload| payload.is_cut).to_string()
}

/// A cell as it stands in the file.
fn written(cell: &str) -> String {
    let guard = if is_formula(cell) { "'" } else { "" };
    // Programs set to another country split at semicolons or tabs; quotes keep those together.
    if cell.contains([',', '"', '\r', '\n', ';', '\t']) {
        format!("\"{guard}{}\"", cell.replace('"', "\"\""))
    } else {
        format!("{guard}{cell}")
    }
}

/// Whether a spreadsheet may take the cell for something to compute. The wide forms of the signs
/// count as the signs in programs set to Japanese or Chinese.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_page_has_the_header() {
        let page = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/activity.md"
        );
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains(&format!("\n{}\n", header().trim_end())));
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        for (cell, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("a;=1+1", "\"a;=1+1\""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("＝1", "'＝1"),
            ("=cmd|' /C calc'!A0,\"", "\"'=cmd|' /C calc'!A0,\"\"\""),
        ] {
            assert_eq!(written(cell), expected, "{cell:?}");
        }
    }
}
