//! What the activity log answers, made in one place for every face.
//!
//! The command line without a running gateway, the REST interface and its events all give the
//! texts made here, so they cannot differ. Nothing here writes to the log.

mod change_records;
mod csv;
mod export;
mod query;
mod recorder;

use mcpproxy_activity::record::ShownRecord;
use mcpproxy_activity::{Archive, Record, RecordKind, RecordPage, StoreError};
use mcpproxy_wire::json::to_text;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

pub(crate) use change_records::Definitions;
pub use export::{ExportFormat, ExportPiece, RecordExport};
pub use query::{DEFAULT_LIMIT, Following, MOST_RECORDS, Pair, RecordQuery, parse_filter};
pub use recorder::Records;
use recorder::engine;

use crate::failure::{Code, Failure};
use crate::settings::Settings;

/// Opens the log of a gateway that does not run.
pub fn open(settings: &Settings) -> Result<Archive, Failure> {
    Archive::open(&settings.data_dir, &engine(settings)).map_err(|error| unreadable(&error))
}

/// `{ "activities": […], "next_cursor": … }`: a page of records, newest first.
pub async fn list(archive: &Archive, pairs: &[Pair]) -> Result<String, Failure> {
    let (_, page) = page(archive, pairs).await?;
    Ok(to_text(&RecordList {
        activities: &page.records,
        next_cursor: page.next,
    }))
}

/// Page of records before it becomes text, with the query that it answers.
pub async fn page(archive: &Archive, pairs: &[Pair]) -> Result<(RecordQuery, RecordPage), Failure> {
    let query = RecordQuery::parse(pairs)?;
    let page = archive
        .page(&query.filter, query.cursor, query.limit)
        .await
        .map_err(|error| unreadable(&error))?;
    Ok((query, page))
}

/// One record.
pub async fn show(archive: &Archive, id: &str) -> Result<String, Failure> {
    let known = query::parse_id(id)?;
    let found = archive.find(known).await;
    match found.map_err(|error| unreadable(&error))? {
        Some(record) => Ok(to_text(&record)),
        None => Err(Failure::new(
            Code::NotFound,
            format!("There is no record '{known}'; `mcpproxy activity list` shows what there is"),
        )),
    }
}

/// Whether an id is one that a record can have.
pub fn check_id(id: &str) -> Result<(), Failure> {
    query::parse_id(id).map(drop)
}

/// How many records there are, by what people ask for.
pub async fn summary(archive: &Archive, pairs: &[Pair]) -> Result<String, Failure> {
    let filter = parse_filter(pairs)?;
    let summary = archive.summary(&filter).await;
    Ok(to_text(&summary.map_err(|error| unreadable(&error))?))
}

/// Whether everything is as it was written. `progress` is told how many links of how many were
/// checked.
pub async fn verify(
    archive: &Archive,
    progress: impl FnMut(u64, u64) + Send,
) -> Result<String, Failure> {
    let verdict = archive.verify(progress).await;
    Ok(to_text(&verdict.map_err(|error| unreadable(&error))?))
}

/// A record as every face shows it, on one line.
pub fn to_line(record: &Record) -> String {
    to_text(record)
}

/// The stream of events that a record belongs to.
pub fn topic(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::ServerChange => "server",
        RecordKind::ToolChange => "catalog",
        _ => "activity",
    }
}

/// What a store that cannot be read means for who asks.
pub fn unreadable(error: &StoreError) -> Failure {
    let failure = Failure::new(
        Code::StoreUnavailable,
        format!("The activity log cannot be read: {error}"),
    );
    match error {
        // Asking again changes nothing until a person does something.
        StoreError::Unusable(_) => failure.not_retryable(),
        _ => failure,
    }
}

/// A page of records, newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = ActivityList)]
pub struct RecordList<'a> {
    #[schema(value_type = Vec<ShownRecord<'_>>)]
    activities: &'a [Record],
    /// Where the next page begins; null after the last one.
    #[schema(required, value_type = Option<String>)]
    next_cursor: Option<Uuid>,
}
