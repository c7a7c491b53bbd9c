//! Answers of the activity log, made in one place for every face.
//!
//! The command line without a running gateway, the REST interface and its events all give the
//! texts made here, so they cannot differ. Whoever asks says which records it may see, and what is outside that scope
//! is neither shown nor counted. Nothing here writes to the log.

mod change_records;
mod client_requests;
mod csv;
mod event_ids;
mod export;
mod passed_on;
mod query;
mod recorder;

use mcpproxy_activity::{Archive, Record, RecordKind, RecordPage};
use mcpproxy_policy::RecordScope;
use mcpproxy_wire::json::to_text;
use serde::Serialize;
use uuid::Uuid;

pub use event_ids::EventIds;
pub use export::{ExportFormat, ExportPiece, RecordExport};
pub use query::{
    DEFAULT_LIMIT, Following, MOST_RECORDS, Pair, RecordQuery, parse_filter, parse_id,
};
pub use recorder::Records;
use recorder::engine;

use crate::failure::{Code, Failure};
use crate::settings::Settings;

/// Opens the log of a gateway that does not run.
pub fn open(settings: &Settings) -> Result<Archive, Failure> {
    Ok(Archive::open(&settings.data_dir, &engine(settings))?)
}

/// `{ "activities": […], "next_cursor": … }`: a page of records, newest first.
pub async fn list(
    archive: &Archive,
    pairs: &[Pair],
    scope: RecordScope,
) -> Result<String, Failure> {
    let (_, page) = page(archive, pairs, scope).await?;
    Ok(to_text(&RecordList {
        activities: &page.records,
        next_cursor: page.next,
    }))
}

/// Page of records before it becomes text, with the query that it answers.
pub async fn page(
    archive: &Archive,
    pairs: &[Pair],
    scope: RecordScope,
) -> Result<(RecordQuery, RecordPage), Failure> {
    let query = RecordQuery::parse(pairs, scope)?;
    let page = archive.page(&query.filter, query.cursor, query.limit);
    let mut page = page.await?;
    for record in &mut page.records {
        hide_place(record, &query.filter.scope);
    }
    Ok((query, page))
}

/// One record, if it is within the scope.
pub async fn show(archive: &Archive, id: &str, scope: &RecordScope) -> Result<String, Failure> {
    let id = parse_id(id)?;
    let mut found = archive.find(id, scope).await?;
    if let Some(record) = &mut found {
        hide_place(record, scope);
    }
    found.map(|record| to_text(&record)).ok_or_else(|| {
        let message =
            format!("There is no record '{id}'; `mcpproxy activity list` shows what there is");
        Failure::new(Code::NotFound, message)
    })
}

/// Counts of the records that there are, by what people ask for.
pub async fn summary(
    archive: &Archive,
    pairs: &[Pair],
    scope: RecordScope,
) -> Result<String, Failure> {
    let filter = parse_filter(pairs, scope)?;
    Ok(to_text(&archive.summary(&filter).await?))
}

/// Verdict on whether everything is as it was written. `progress` is told how many links of how many were
/// checked.
pub async fn verify(
    archive: &Archive,
    progress: impl FnMut(u64, u64) + Send,
) -> Result<String, Failure> {
    Ok(to_text(&archive.verify(progress).await?))
}

/// Takes the place in its chain from a record that is shown to somebody who may not see all: from the gaps between its
/// own records it would know how many others there are.
pub fn hide_place(record: &mut Record, scope: &RecordScope) {
    if *scope != RecordScope::All {
        record.chain = Uuid::nil();
        (record.opened, record.closed) = (None, None);
    }
}

/// Stream of events that a record belongs to.
pub fn topic(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::ServerChange => "server",
        RecordKind::ToolChange => "catalog",
        _ => "activity",
    }
}

/// A page of records, newest first.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ActivityList))]
pub struct RecordList<'a> {
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<mcpproxy_activity::record::ShownRecord<'_>>))]
    activities: &'a [Record],
    /// Where the next page begins; null after the last one.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    next_cursor: Option<Uuid>,
}
