//! Parameters of requests to the log, described from the very lists that are enforced.

use mcpproxy_activity::{Filter, RecordKind, Status};
use mcpproxy_gateway::records::{DEFAULT_LIMIT, ExportFormat, MOST_RECORDS};
use mcpproxy_policy::{Operation, Sensitivity};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, Required};

/// The filters of the log.
pub(crate) struct FilterParameters;

/// The part of the list that is asked for.
pub(crate) struct PageParameters;

/// The format of an export.
pub(crate) struct ExportParameters;

/// The place at which a stream of events begins.
pub(crate) struct EventParameters;

impl IntoParams for FilterParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let described = Filter::NAMES.iter().map(|name| {
            let (about, schema) = filter(name);
            in_query(name, about, schema)
        });
        described.collect()
    }
}

impl IntoParams for PageParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let limit = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MOST_RECORDS))
            .default(Some(DEFAULT_LIMIT.into()));
        let cursor = "The `next_cursor` of the page before";
        vec![
            in_query("limit", "How many records", limit.build()),
            in_query("cursor", cursor, text()),
        ]
    }
}

impl IntoParams for ExportParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut schema = words(ExportFormat::ALL.map(ExportFormat::as_str));
        schema.default = Some(ExportFormat::default().as_str().into());
        vec![in_query("format", "JSON lines or CSV", schema)]
    }
}

impl IntoParams for EventParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let header = "The id of the last event that was seen; it wins over `last_event_id`";
        let query = "The same, for clients that cannot set headers";
        let mut header = in_query("Last-Event-ID", header, text());
        header.parameter_in = ParameterIn::Header;
        vec![header, in_query("last_event_id", query, text())]
    }
}

/// Text that is one of these words.
fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
        .build()
}

/// Description of a filter, and the schema of what it admits.
fn filter(name: &str) -> (&'static str, Object) {
    let (mut time, mut id) = (text(), text());
    let moment = "a time (RFC 3339), a date (UTC), or so long ago, such as `24h` or `7d`";
    time.description = Some(moment.to_owned());
    id.format = Some(SchemaFormat::KnownFormat(KnownFormat::Uuid));
    match name {
        "type" => (
            "What kind of thing happened",
            words(RecordKind::ALL.map(RecordKind::as_str)),
        ),
        "server" => ("The server it was about", text()),
        "tool" => ("The tool it was about, without its server", text()),
        "status" => ("What came of it", words(Status::ALL.map(Status::as_str))),
        "intent_type" => (
            "The operation of the variant it came through",
            words(Operation::ALL.map(Operation::as_str)),
        ),
        "request_id" => ("The request it answers", id),
        "session_id" => ("The session it came in", text()),
        "sensitivity" => (
            "How sensitive the data is; `unknown` where a call does not say",
            words(Sensitivity::ALL.map(Sensitivity::as_str)),
        ),
        "agent" => ("Who asked: the token's name, else the client's", text()),
        "from" => ("Not before this", time),
        "to" => ("Before this", time),
        "text" => (
            "Words that server, tool, reason, error or arguments have, each by how it begins",
            text(),
        ),
        // Every name is above; the tests look at each of them.
        _ => ("", text()),
    }
}

fn in_query(name: &str, about: &str, schema: Object) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(schema))
        .build()
}

fn text() -> Object {
    Object::with_type(Type::String)
}
