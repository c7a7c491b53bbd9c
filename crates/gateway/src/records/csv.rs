//! Records as CSV, safe to open in a spreadsheet.
//!
//! RFC 4180, with a header. A cell that a spreadsheet would take for a formula gets an apostrophe
//! in front, because what agents and servers send ends up in these cells. Quotes are put around more
//! than RFC 4180 asks for, which is why no library writes them.

use mcpproxy_activity::record::{Payload, Record};
use mcpproxy_policy::{Operation, Sensitivity};
use serde_json::Value;

/// Text of a record's cell in one column.
type CellText = fn(&Record) -> String;

/// The columns, in the order of the header: each with what a record has there.
const COLUMNS: [(&str, CellText); 32] = [
    ("id", |record| record.id.to_string()),
    ("request_id", |record| record.request_id.to_string()),
    ("parent_id", |record| shown(record.parent_id)),
    ("session_id", |record| text(record.session_id.as_deref())),
    ("trace_id", |record| text(record.trace_id.as_deref())),
    ("type", |record| record.kind.as_str().to_owned()),
    ("timestamp", |record| format!("{:.3}", record.timestamp)),
    ("duration_ms", |record| shown(record.duration_ms())),
    ("server_name", |record| text(record.server_name.as_deref())),
    ("tool_name", |record| text(record.tool_name.as_deref())),
    ("tool_variant", |record| {
        text(record.tool_variant.as_deref())
    }),
    ("intent_type", |record| {
        text(record.intent_type.map(Operation::as_str))
    }),
    ("intent_operation_type", |record| {
        declared(record, "operation_type")
    }),
    ("intent_reason", |record| declared(record, "reason")),
    ("data_sensitivity", |record| {
        text(record.sensitivity.map(Sensitivity::as_str))
    }),
    ("agent", |record| text(record.agent.as_deref())),
    ("status", |record| record.status.as_str().to_owned()),
    ("error_code", |record| {
        text(record.error.as_ref().map(|error| error.code.as_str()))
    }),
    ("error_message", |record| {
        text(record.error.as_ref().map(|error| error.message.as_str()))
    }),
    ("arguments", |record| content(record.arguments.as_ref())),
    ("arguments_size", |record| size(record.arguments.as_ref())),
    ("arguments_truncated", |record| {
        is_cut(record.arguments.as_ref())
    }),
    ("response", |record| content(record.response.as_ref())),
    ("response_size", |record| size(record.response.as_ref())),
    ("response_truncated", |record| {
        is_cut(record.response.as_ref())
    }),
    ("warnings", |record| record.warnings.to_string()),
    ("metadata", |record| {
        Value::Object(record.metadata.clone()).to_string()
    }),
    ("chain", |record| record.chain.to_string()),
    ("seq", |record| shown(record.link().map(|link| link.seq))),
    ("prev_hash", |record| {
        shown(record.link().map(|link| link.prev_hash))
    }),
    ("hash", |record| shown(record.link().map(|link| link.hash))),
    ("opened_seq", |record| {
        shown(record.closed.and(record.opened).map(|link| link.seq))
    }),
];

/// The first line.
pub(super) fn header() -> String {
    COLUMNS.map(|(name, _)| name).join(",") + "\r\n"
}

/// The line of a record.
pub(super) fn line(record: &Record) -> String {
    COLUMNS.map(|(_, cell)| written(&cell(record))).join(",") + "\r\n"
}

fn declared(record: &Record, name: &str) -> String {
    let value = record.intent().and_then(|intent| intent.get(name));
    text(value.and_then(Value::as_str))
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
