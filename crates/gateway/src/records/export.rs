//! All records that are asked for, page by page.

use mcpproxy_activity::{Archive, Filter};
use uuid::Uuid;

use super::query::{Pair, parse, wrong};
use super::{csv, to_line, unreadable};
use crate::Failure;

/// How many records are read at a time; the store gives fewer where they are large.
const PAGE: usize = 500;

/// How records are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExportFormat {
    /// A JSON object per line.
    #[default]
    JsonLines,
    /// A header and a line per record.
    Csv,
}

/// Gives all records that are asked for, newest first, a page at a time: however many there are,
/// no more than a page is in memory.
pub struct RecordExport {
    archive: Archive,
    filter: Filter,
    format: ExportFormat,
    next: ExportStep,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExportStep {
    Header,
    Page(Option<Uuid>),
    Nothing,
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
    /// Every format.
    pub const ALL: [Self; 2] = [Self::JsonLines, Self::Csv];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
        }
    }

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
            Some(word) => ExportFormat::ALL
                .into_iter()
                .find(|format| format.as_str() == *word)
                .ok_or_else(|| {
                    wrong("format", word, "jsonl or csv").with(
                        "allowed",
                        ExportFormat::ALL.map(ExportFormat::as_str).to_vec(),
                    )
                })?,
        };
        Ok((filter, format))
    }

    /// An export that has given nothing yet.
    pub fn new(archive: Archive, filter: Filter, format: ExportFormat) -> Self {
        let next = match format {
            ExportFormat::JsonLines => ExportStep::Page(None),
            ExportFormat::Csv => ExportStep::Header,
        };
        Self {
            archive,
            filter,
            format,
            next,
        }
    }

    /// How many records there are to give.
    pub async fn total(&self) -> Result<u64, Failure> {
        let count = self.archive.count(&self.filter).await;
        count.map_err(|error| unreadable(&error))
    }

    /// The next lines; nothing after the last ones.
    pub async fn next(&mut self) -> Result<Option<ExportPiece>, Failure> {
        let mut text = String::new();
        let before = match self.next {
            ExportStep::Nothing => return Ok(None),
            ExportStep::Page(before) => before,
            ExportStep::Header => {
                text = csv::header();
                None
            }
        };
        let page = self.archive.page(&self.filter, before, PAGE).await;
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
        self.next = page
            .next
            .map_or(ExportStep::Nothing, |next| ExportStep::Page(Some(next)));
        Ok(Some(ExportPiece {
            text,
            records: page.records.len() as u64,
        }))
    }
}
