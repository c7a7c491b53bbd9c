//! The measurements of the pipeline as a table for people and as JSON for programs, with the same numbers in both.
//!
//! Must never judge: a number is printed, whether it is good is for the reader.

use serde_json::{Value, json};

use super::{Case, Row, Section};
use crate::report::rounded;
use crate::stats::{P50, P99, microseconds};

/// The report as text: a section for each kind of tracing, one row to a line.
pub(super) fn table(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line(section.tracing, "median", "p99 batch", ""));
        for row in &section.rows {
            let remark = overhead(section, row)
                .map(|added| format!("pipeline overhead {added:.1} µs"))
                .unwrap_or_default();
            let [median, p99] = [P50, P99].map(|permille| format!("{:.1} µs", at(row, permille)));
            text.push_str(&line(row.case.name(), &median, &p99, &remark));
        }
    }
    text
}

/// The report as JSON: a member for each kind of tracing.
pub(super) fn json(sections: &[Section]) -> Value {
    let members = sections.iter().map(|section| {
        let rows = section.rows.iter().map(|row| {
            let numbers = json!({
                "median_us": rounded(at(row, P50)),
                "p99_batch_us": rounded(at(row, P99)),
                "overhead_us": overhead(section, row).map(rounded),
            });
            (row.case.name().to_owned(), numbers)
        });
        (section.tracing.to_owned(), Value::Object(rows.collect()))
    });
    Value::Object(members.collect())
}

fn line(name: &str, median: &str, p99: &str, remark: &str) -> String {
    let line = format!("{name:<40}{median:>12}{p99:>12}  {remark}");
    format!("{}\n", line.trim_end())
}

/// What the pipeline adds to the handler's own time; nothing where there is no pipeline.
fn overhead(section: &Section, row: &Row) -> Option<f64> {
    let direct = section.rows.iter().find(|row| row.case == Case::Direct)?;
    row.case.tool()?;
    Some(at(row, P50) - at(direct, P50))
}

fn at(row: &Row, permille: usize) -> f64 {
    microseconds(row.times.percentile(permille).unwrap_or_default())
}
