//! Records as CSV, safe to open in a spreadsheet.
//!
//! RFC 4180, with a header. A cell that a spreadsheet would take for a formula gets an apostrophe
//! in front, because what agents and servers send ends up in these cells.

use mcpproxy_activity::record::{Payload, Record};
use serde_json::{Value, json};

/// Names of the columns, in their order: fields of a record's JSON, and parts of them.
const COLUMNS: &str = "id,request_id,parent_id,session_id,trace_id,type,timestamp,duration_ms,\
    server_name,tool_name,tool_variant,intent_type,intent_operation_type,intent_reason,\
    data_sensitivity,agent,status,error_code,error_message,arguments,arguments_size,\
    arguments_truncated,response,response_size,response_truncated,warnings,metadata,chain,seq,\
    prev_hash,hash,opened_seq";

/// First line.
pub(super) fn header() -> String {
    format!("{COLUMNS}\r\n")
}

/// Line of a record.
pub(super) fn line(record: &Record) -> String {
    // Without what was sent and answered, which the JSON would decode for nothing.
    let brief = |payload: &Option<Payload>| {
        payload.as_ref().map(|payload| Payload {
            text: String::new(),
            ..*payload
        })
    };
    let fields = json!(Record {
        arguments: brief(&record.arguments),
        response: brief(&record.response),
        ..record.clone()
    });
    let cells = COLUMNS.split(',');
    let cells: Vec<String> = cells
        .map(|column| written(&cell(record, &fields, column)))
        .collect();
    cells.join(",") + "\r\n"
}

fn cell(record: &Record, fields: &Value, column: &str) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let stored = |payload: Option<&Payload>| payload.map(|payload| payload.text.clone());
    match column {
        // As they are stored: JSON can be written in more than one way.
        "arguments" => stored(record.arguments.as_ref()).unwrap_or_default(),
        "response" => stored(record.response.as_ref()).unwrap_or_default(),
        // Whole milliseconds without a fraction.
        "duration_ms" => record
            .duration_ms()
            .map_or_else(String::new, |time| time.to_string()),
        "intent_operation_type" => text(&fields["intent"]["operation_type"]),
        "intent_reason" => text(&fields["intent"]["reason"]),
        "error_code" => text(&fields["error"]["code"]),
        "error_message" => text(&fields["error"]["message"]),
        _ => match &fields[column] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
    }
}

/// Cell as it stands in the file.
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
