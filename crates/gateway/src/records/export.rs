//! All records that are asked for, page by page.

use mcpproxy_activity::{Archive, Filter};
use mcpproxy_policy::words;
use uuid::Uuid;

use super::query::{Pair, parse, wrong};
use super::{csv, to_line, unreadable};
use crate::Failure;

/// How many records are read at a time; the store gives fewer where they are large.
const PAGE: usize = 500;

words! {
    /// How records are written.
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
    /// The last record that was given.
    before: Option<Uuid>,
    is_done: bool,
}

/// Some of the text of an export: whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportPiece {
    /// The text.
    pub text: String,
    /// How many records are in it.
    pub records: u64,
}

impl ExportFormat {
    /// What the text is, as HTTP says it.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::JsonLines => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
        }
    }
}

impl RecordExport {
    /// Reads the parameters of an export: filters, and `format`.
    pub fn parse(pairs: &[Pair]) -> Result<(Filter, ExportFormat), Failure> {
        let (filter, others) = parse(pairs, &["format"])?;
        let format = match others.get("format") {
            None => ExportFormat::default(),
            Some(word) => ExportFormat::parse(word).ok_or_else(|| {
                let wrong = wrong("format", word, "jsonl or csv");
                wrong.with(
                    "allowed",
                    ExportFormat::ALL.map(ExportFormat::as_str).to_vec(),
                )
            })?,
        };
        Ok((filter, format))
    }

    /// An export that has given nothing yet.
    pub fn new(archive: Archive, filter: Filter, format: ExportFormat) -> Self {
        Self {
            archive,
            filter,
            format,
            before: None,
            is_done: false,
        }
    }

    /// How many records there are to give.
    pub async fn total(&self) -> Result<u64, Failure> {
        let count = self.archive.count(&self.filter).await;
        count.map_err(|error| unreadable(&error))
    }

    /// The next lines; nothing after the last ones.
    pub async fn next(&mut self) -> Result<Option<ExportPiece>, Failure> {
        if self.is_done {
            return Ok(None);
        }
        let mut text = match (self.format, self.before) {
            (ExportFormat::Csv, None) => csv::header(),
            _ => String::new(),
        };
        let page = self.archive.page(&self.filter, self.before, PAGE).await;
        let page = page.map_err(|error| unreadable(&error))?;
        for record in &page.records {
            match self.format {
                ExportFormat::JsonLines => {
                    text.push_str(&to_line(record));
                    text.push('\n');
                }
                ExportFormat::Csv => text.push_str(&csv::line(record)),
            }
        }
        self.before = page.next;
        self.is_done = page.next.is_none();
        Ok(Some(ExportPiece {
            text,
            records: page.records.len() as u64,
        }))
    }
}
