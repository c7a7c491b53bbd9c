//! What is answered, field by field. The tests hold real answers against it.
#![expect(dead_code, reason = "these types only say which fields an answer has")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcpproxy_activity::{RecordKind, Status};
use mcpproxy_policy::{Operation, Sensitivity};
use serde_json::Value;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Object, RefOr};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::parameters::words;

/// Makes a schema of the words that an enum of ours has.
macro_rules! word_schema {
    ($name:ident, $words:expr) => {
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let schema: Object = words($words);
                schema.into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    };
}

word_schema!(
    ActivityType,
    RecordKind::ALL.iter().map(|kind| kind.as_str())
);
word_schema!(ActivityStatus, Status::ALL.iter().map(|one| one.as_str()));
word_schema!(OperationType, Operation::ALL.map(Operation::as_str));
word_schema!(DataSensitivity, Sensitivity::ALL.map(Sensitivity::as_str));
word_schema!(Variant, Operation::ALL.map(Operation::variant));

/// The one shape of errors.
#[derive(ToSchema)]
#[schema(as = ErrorAnswer)]
pub(crate) struct ErrorAnswerSchema {
    error: ErrorObjectSchema,
}

/// What went wrong.
#[derive(ToSchema)]
#[schema(as = ErrorObject)]
pub(crate) struct ErrorObjectSchema {
    /// What programs match on.
    #[schema(example = "SERVER_MISMATCH")]
    code: String,
    /// What happened and what to do.
    message: String,
    category: ErrorCategorySchema,
    /// Whether the very same request may work later.
    retryable: bool,
    /// More for programs.
    details: BTreeMap<String, Value>,
    /// The id of the request, as the record of it has.
    request_id: Uuid,
}

/// The three groups of errors.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[schema(as = ErrorCategory)]
pub(crate) enum ErrorCategorySchema {
    Validation,
    Business,
    System,
}

/// A page of records, newest first.
#[derive(ToSchema)]
#[schema(as = ActivityList)]
pub(crate) struct ActivityListSchema {
    activities: Vec<ActivitySchema>,
    /// Where the next page begins; null after the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// One thing that happened.
#[derive(ToSchema)]
#[schema(as = Activity)]
pub(crate) struct ActivitySchema {
    /// A UUIDv7: ordered by time.
    id: Uuid,
    /// The request it answers.
    request_id: Uuid,
    /// The record this one belongs to.
    #[schema(required)]
    parent_id: Option<Uuid>,
    /// The session the request came in.
    #[schema(required)]
    session_id: Option<String>,
    /// The W3C trace the request belongs to.
    #[schema(required)]
    trace_id: Option<String>,
    /// What kind of thing happened.
    r#type: ActivityType,
    /// When it began: UTC, with milliseconds.
    #[schema(format = DateTime, example = "2026-01-31T12:00:00.000Z")]
    timestamp: String,
    /// How long it took; null of what is in doubt.
    #[schema(required)]
    duration_ms: Option<f64>,
    /// The server it was about.
    #[schema(required)]
    server_name: Option<String>,
    /// The tool it was about.
    #[schema(required)]
    tool_name: Option<String>,
    /// The tool of the menu it came through.
    #[schema(required)]
    tool_variant: Option<String>,
    /// The operation of that variant.
    #[schema(required)]
    intent_type: Option<OperationType>,
    /// What the agent declared, as it declared it; also in `metadata`.
    #[schema(required, value_type = Value)]
    intent: Option<Value>,
    /// How sensitive the data is; `unknown` where a call does not say.
    #[schema(required)]
    data_sensitivity: Option<DataSensitivity>,
    /// Who asked: the token's name, else the client's.
    #[schema(required)]
    agent: Option<String>,
    /// What came of it. Of what is `in_doubt` nobody saw the outcome.
    status: ActivityStatus,
    /// What was sent, secrets hidden; text where it was cut.
    #[schema(required)]
    arguments: Value,
    /// How many bytes there were.
    #[schema(required)]
    arguments_size: Option<u64>,
    /// Whether only the beginning was kept.
    arguments_truncated: bool,
    /// What came back, secrets hidden; text where it was cut.
    #[schema(required)]
    response: Value,
    /// How many bytes there were.
    #[schema(required)]
    response_size: Option<u64>,
    /// Whether only the beginning was kept.
    response_truncated: bool,
    /// Why it did not work.
    #[schema(required)]
    error: Option<ActivityErrorSchema>,
    /// What the caller was warned about.
    warnings: Vec<ActivityWarningSchema>,
    /// The intent, the variant, the client, and what else there is to say.
    metadata: BTreeMap<String, Value>,
    /// The chain it is in: each writer has its own.
    chain: Uuid,
    /// Its number in the chain.
    #[schema(required)]
    seq: Option<i64>,
    /// The hash of the link before it, in hexadecimal.
    #[schema(required)]
    prev_hash: Option<String>,
    /// The hash over its content and the link before it, in hexadecimal.
    #[schema(required)]
    hash: Option<String>,
    /// Its number from before the call was sent, where it was written then.
    #[schema(required)]
    opened_seq: Option<i64>,
}

/// Why something did not work.
#[derive(ToSchema)]
#[schema(as = ActivityError)]
pub(crate) struct ActivityErrorSchema {
    code: String,
    message: String,
}

/// What a caller was warned about.
#[derive(ToSchema)]
#[schema(as = ActivityWarning)]
pub(crate) struct ActivityWarningSchema {
    code: String,
    message: String,
}

/// How many records there are; each list begins with the most frequent.
#[derive(ToSchema)]
#[schema(as = Summary)]
pub(crate) struct SummarySchema {
    total: u64,
    by_status: Vec<CountedSchema>,
    by_intent: Vec<CountedSchema>,
    by_type: Vec<CountedSchema>,
    by_server: Vec<CountedSchema>,
    /// As `server:tool`.
    by_tool: Vec<CountedSchema>,
}

/// How many records have a word, and how they went.
#[derive(ToSchema)]
#[schema(as = Counted)]
pub(crate) struct CountedSchema {
    name: String,
    count: u64,
    success: u64,
    error: u64,
    blocked: u64,
    in_doubt: u64,
}

/// Whether everything is as it was written.
#[derive(ToSchema)]
#[schema(as = Verdict)]
pub(crate) struct VerdictSchema {
    ok: bool,
    /// How many records were checked.
    records: u64,
    /// How many links were checked: two for a call that was recorded before it was sent.
    links: u64,
    chains: Vec<ChainVerdictSchema>,
    /// What is wrong, first of all.
    #[schema(required)]
    problem: Option<ProblemSchema>,
    /// What is wrong first in each chain.
    problems: Vec<ProblemSchema>,
}

/// What was found in one chain.
#[derive(ToSchema)]
#[schema(as = ChainVerdict)]
pub(crate) struct ChainVerdictSchema {
    chain: Uuid,
    records: u64,
    /// The last link that retention removed; 0 if it removed none.
    pruned_through: i64,
    last_seq: i64,
    /// The hash of the last link, in hexadecimal.
    head: String,
}

/// Something that is not as it was written.
#[derive(ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemSchema {
    kind: TamperingSchema,
    #[schema(required)]
    chain: Option<Uuid>,
    #[schema(required)]
    seq: Option<i64>,
    #[schema(required)]
    id: Option<Uuid>,
    /// All of that in a sentence.
    message: String,
}

/// What was done to a record.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[schema(as = Tampering)]
pub(crate) enum TamperingSchema {
    Changed,
    Removed,
    Inserted,
}

/// Tools; a search gives the best match first and at most 50.
#[derive(ToSchema)]
#[schema(as = ToolList)]
pub(crate) struct ToolListSchema {
    /// What was searched for.
    query: Option<String>,
    /// How many there are, or match.
    total: u64,
    tools: Vec<ToolRowSchema>,
}

/// A tool in a list.
#[derive(ToSchema)]
#[schema(as = ToolRow)]
pub(crate) struct ToolRowSchema {
    /// As `server:tool`.
    name: String,
    server: String,
    class: ClassSchema,
    call_with: Variant,
    /// Whether it can be called.
    status: String,
    summary: String,
    /// How well it matches, from 0 to 1; only of a search.
    score: Option<f64>,
}

/// What a tool does, by its annotations.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[schema(as = Class)]
pub(crate) enum ClassSchema {
    Read,
    Write,
    Destructive,
    Unknown,
}

/// One tool, whole.
#[derive(ToSchema)]
#[schema(as = Tool)]
pub(crate) struct ToolSchema {
    /// As `server:tool`.
    name: String,
    server: String,
    description: String,
    /// The JSON Schema of its arguments.
    #[schema(rename = "inputSchema")]
    input_schema: BTreeMap<String, Value>,
    /// What the server or the operator says about it.
    annotations: Option<BTreeMap<String, Value>>,
    /// What the server says where the operator says something else.
    server_annotations: Option<BTreeMap<String, Value>>,
    call_with: Variant,
    /// The tool's own, such as its definition.
    #[schema(rename = "_meta")]
    meta: Option<BTreeMap<String, Value>>,
    class: ClassSchema,
    /// Whether it can be called.
    status: String,
}

/// A call: the same checks as through MCP.
#[derive(ToSchema)]
#[schema(as = CallRequest)]
pub(crate) struct CallRequestSchema {
    variant: Variant,
    /// As `server:tool`.
    name: String,
    /// The arguments.
    args: Option<BTreeMap<String, Value>>,
    /// The arguments as the text of a JSON object, instead of `args`.
    args_json: Option<String>,
    intent: Option<IntentSchema>,
}

/// What the caller declares.
#[derive(ToSchema)]
#[schema(as = Intent)]
pub(crate) struct IntentSchema {
    /// Has to be the variant's; may be left out in the mode `inferred`.
    operation_type: Option<OperationType>,
    data_sensitivity: Option<DataSensitivity>,
    #[schema(max_length = 1000)]
    reason: Option<String>,
}

/// The server's own result, and under `_meta` what the gateway adds.
#[derive(ToSchema)]
#[schema(as = CallToolResult)]
pub(crate) struct CallToolResultSchema {
    content: Vec<BTreeMap<String, Value>>,
    #[schema(rename = "structuredContent")]
    structured_content: Option<BTreeMap<String, Value>>,
    /// Whether the tool itself failed.
    #[schema(rename = "isError")]
    is_error: Option<bool>,
    #[schema(rename = "_meta")]
    meta: BTreeMap<String, Value>,
}

/// The running gateway.
#[derive(ToSchema)]
#[schema(as = GatewayStatus)]
pub(crate) struct GatewayStatusSchema {
    version: String,
    pid: u32,
    uptime_seconds: u64,
    /// The address it listens on.
    listen: String,
    data_dir: String,
    intent_declaration: BTreeMap<String, Value>,
    /// Why the file on disk is not what runs.
    #[schema(required)]
    configuration_problem: Option<String>,
    servers: Vec<ServerStatusSchema>,
    /// How many tools are known.
    tools: u64,
    calls: CallCountsSchema,
    activity: LogStatusSchema,
}

/// A server of the gateway.
#[derive(ToSchema)]
#[schema(as = ServerStatus)]
pub(crate) struct ServerStatusSchema {
    name: String,
    state: String,
    /// The revision of MCP that is spoken with it, while it is ready.
    #[schema(required)]
    revision: Option<String>,
    /// Why it is not well.
    #[schema(required)]
    reason: Option<String>,
    /// The last lines that a server which is not well wrote.
    stderr: Vec<String>,
    tools: u64,
}

/// How many calls ended how, since the start.
#[derive(ToSchema)]
#[schema(as = CallCounts)]
pub(crate) struct CallCountsSchema {
    success: u64,
    error: u64,
    blocked: u64,
    in_doubt: u64,
}

/// How the activity log is.
#[derive(ToSchema)]
#[schema(as = LogStatus)]
pub(crate) struct LogStatusSchema {
    store: StoreNameSchema,
    /// Why it cannot be written.
    #[schema(required)]
    problem: Option<String>,
    /// Of how many calls nobody saw the outcome.
    in_doubt: u64,
    /// How many records wait to be written.
    queued: u64,
    /// How many refusals are not in the log, because it could not be written.
    unrecorded_refusals: u64,
}

/// Where records are kept.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[schema(as = StoreName)]
pub(crate) enum StoreNameSchema {
    Sqlite,
    Postgres,
}

/// Whether the gateway lives.
#[derive(ToSchema)]
#[schema(as = Health)]
pub(crate) struct HealthSchema {
    status: String,
}

/// Whether the gateway takes calls.
#[derive(ToSchema)]
#[schema(as = Readiness)]
pub(crate) struct ReadinessSchema {
    status: String,
    /// How many servers have not answered yet; a call waits for its own server only.
    servers_starting: u64,
}
