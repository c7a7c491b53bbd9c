//! All records that are asked for, page by page.

use mcpproxy_activity::{Archive, Filter};
use mcpproxy_policy::{RecordScope, words};
use mcpproxy_wire::json::to_text;
use uuid::Uuid;

use super::query::{Pair, parse, wrong};
use super::{csv, hide_place};
use crate::Failure;

/// Number of records that are read at a time; the store gives fewer where they are large.
const PAGE: usize = 500;

words! {
    /// Format of an export.
    #[derive(Default)]
    ExportFormat {
        /// A JSON object per line.
        #[default]
        JsonLines = "jsonl",
        /// A header and a line per record.
        Csv = "csv",
    }
}

/// Gives all records that are asked for, newest first, a page at a time: however many there are,
/// no more than a page is in memory.
pub struct RecordExport {
    archive: Archive,
    filter: Filter,
    format: ExportFormat,
    /// Last record that was given.
    before: Option<Uuid>,
    is_done: bool,
}

/// Piece of the text of an export: whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportPiece {
    /// Text of the piece.
    pub text: String,
    /// Number of records in it.
    pub records: u64,
}

impl ExportFormat {
    /// Media type of the text.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::JsonLines => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
        }
    }
}

impl RecordExport {
    /// Reads the parameters of an export: filters, and `format`.
    pub fn parse(pairs: &[Pair], scope: RecordScope) -> Result<(Filter, ExportFormat), Failure> {
        let (filter, others) = parse(pairs, &["format"], scope)?;
        let format = match others.get("format") {
            None => ExportFormat::default(),
            Some(word) => ExportFormat::parse(word).ok_or_else(|| {
                let allowed = ExportFormat::ALL.map(ExportFormat::as_str);
                wrong("format", word, "jsonl or csv").with("allowed", allowed.to_vec())
            })?,
        };
        Ok((filter, format))
    }

    /// Export that has given nothing yet.
    pub fn new(archive: Archive, filter: Filter, format: ExportFormat) -> Self {
        Self {
            archive,
            filter,
            format,
            before: None,
            is_done: false,
        }
    }

    /// Counts the records that there are to give.
    pub async fn total(&self) -> Result<u64, Failure> {
        Ok(self.archive.count(&self.filter).await?)
    }

    /// Gives the next lines; nothing after the last ones.
    pub async fn next(&mut self) -> Result<Option<ExportPiece>, Failure> {
        if self.is_done {
            return Ok(None);
        }
        let mut text = match (self.format, self.before) {
            (ExportFormat::Csv, None) => csv::header(),
            _ => String::new(),
        };
        let mut page = self.archive.page(&self.filter, self.before, PAGE).await?;
        for record in &mut page.records {
            hide_place(record, &self.filter.scope);
            text += &match self.format {
                ExportFormat::JsonLines => to_text(record) + "\n",
                ExportFormat::Csv => csv::line(record),
            };
        }
        self.before = page.next;
        self.is_done = page.next.is_none();
        Ok(Some(ExportPiece {
            text,
            records: page.records.len() as u64,
        }))
    }
}
