//! The activity log over REST. What is answered is made by [`records`]; this is its HTTP.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use mcpproxy_gateway::records::{self, ExportFormat, ExportPiece, Pair, RecordExport};
use mcpproxy_gateway::tokens::Admission;
use mcpproxy_gateway::{Caller, Code, Failure};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "openapi")]
use super::described::parameters::{ExportParameters, FilterParameters, PageParameters};
#[cfg(feature = "openapi")]
use super::described::refusals::{AccessRefusals, InvalidRefusals, MissingRefusals, StoreRefusals};
use crate::app::App;
use crate::respond::{RestResult, json_response};

/// Parameters of a query as name and value, repeated names included.
pub(crate) type Pairs = Result<Query<Vec<Pair>>, QueryRejection>;

/// List records, newest first
///
/// All filters have to hold. A page after this one begins at `next_cursor`.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/activity", tag = "activity", operation_id = "list_activity",
    params(FilterParameters, PageParameters),
    responses((status = 200, description = "A page of records", body = records::RecordList<'_>), InvalidRefusals, AccessRefusals, StoreRefusals),
))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    query: Pairs,
) -> RestResult {
    let (pairs, scope) = (read_pairs(query)?, caller.record_scope());
    answered(records::list(app.gateway().records().archive(), &pairs, scope).await)
}

/// Show one record
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/activity/{id}", tag = "activity", operation_id = "show_activity",
    params(("id" = Uuid, Path, description = "The record's id")),
    responses((status = 200, description = "The record", body = mcpproxy_activity::record::ShownRecord<'_>), InvalidRefusals, AccessRefusals, MissingRefusals, StoreRefusals),
))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(id) = path.map_err(|_| unreadable_path())?;
    let scope = caller.record_scope();
    answered(records::show(app.gateway().records().archive(), &id, &scope).await)
}

/// Count records
///
/// By status, intent, type, server and tool.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/activity/summary", tag = "activity", operation_id = "summarize_activity",
    params(FilterParameters),
    responses((status = 200, description = "The counts", body = mcpproxy_activity::RecordSummary), InvalidRefusals, AccessRefusals, StoreRefusals),
))]
pub(crate) async fn summary(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    query: Pairs,
) -> RestResult {
    let (pairs, scope) = (read_pairs(query)?, caller.record_scope());
    answered(records::summary(app.gateway().records().archive(), &pairs, scope).await)
}

/// Check that no record was altered
///
/// Goes through every chain. What was altered, removed or inserted is an answer, not an error:
/// see `ok`.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/activity/verify", tag = "activity", operation_id = "verify_activity",
    responses((status = 200, description = "What was found", body = mcpproxy_activity::LogVerdict), AccessRefusals, StoreRefusals),
))]
pub(crate) async fn verify(State(app): State<Arc<App>>) -> RestResult {
    answered(records::verify(app.gateway().records().archive(), |_, _| {}).await)
}

/// Export records, newest first
///
/// A stream of all records that are asked for. A connection that ends in the middle of it was
/// broken off by an error.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/activity/export", tag = "activity", operation_id = "export_activity",
    params(ExportParameters, FilterParameters),
    responses(
        (status = 200, description = "A record per line; CSV begins with a header and is safe to open in a spreadsheet", content(
            (mcpproxy_activity::record::ShownRecord<'_> = "application/x-ndjson"),
            (String = "text/csv; charset=utf-8"),
        )),
        InvalidRefusals, AccessRefusals, StoreRefusals,
    ),
))]
pub(crate) async fn export(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Extension(admission): Extension<Admission>,
    query: Pairs,
) -> RestResult {
    let (filter, format) = RecordExport::parse(&read_pairs(query)?, caller.record_scope())?;
    let mut export = RecordExport::new(app.gateway().records().archive().clone(), filter, format);
    // What goes wrong before the first byte is still an answer with a status.
    let first = export.next().await?;
    Ok(exported(export, first, format, admission.ended))
}

/// The parameters of a request; those that are no text are refused.
pub(crate) fn read_pairs(query: Pairs) -> Result<Vec<Pair>, Failure> {
    query.map(|Query(pairs)| pairs).map_err(|error| {
        let message = format!("The query cannot be read: {}", error.body_text());
        Failure::new(Code::InvalidArguments, message)
    })
}

/// The answer that streams an export whose first piece is there, for as long as the credential is good.
fn exported(
    export: RecordExport,
    first: Option<ExportPiece>,
    format: ExportFormat,
    ended: CancellationToken,
) -> Response {
    let pieces = stream::try_unfold((export, first), move |(mut export, ready)| {
        let ended = ended.clone();
        async move {
            if ended.is_cancelled() {
                let message = "The credential is not valid any more";
                return Err(broken_off(&Failure::new(Code::Unauthorized, message)));
            }
            let piece = match ready {
                Some(piece) => Ok(Some(piece)),
                None => export.next().await,
            };
            let piece = piece.map_err(|failure| broken_off(&failure))?;
            Ok::<_, std::io::Error>(piece.map(|piece| (Bytes::from(piece.text), (export, None))))
        }
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    let media_type = HeaderValue::from_static(format.media_type());
    headers.insert(header::CONTENT_TYPE, media_type);
    let file = match format {
        ExportFormat::JsonLines => "attachment; filename=\"mcpproxy-activity.jsonl\"",
        ExportFormat::Csv => "attachment; filename=\"mcpproxy-activity.csv\"",
    };
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(file));
    response
}

/// Ends the connection in the middle: whoever reads must not take this for the whole.
fn broken_off(failure: &Failure) -> std::io::Error {
    tracing::error!(reason = %failure.message, "an export broke off");
    std::io::Error::other("the export broke off")
}

/// Failure of a path that is no text.
pub(crate) fn unreadable_path() -> Failure {
    Failure::new(Code::InvalidArguments, "The path is not UTF-8")
}

fn answered(result: Result<String, Failure>) -> RestResult {
    Ok(json_response(StatusCode::OK, result?))
}
