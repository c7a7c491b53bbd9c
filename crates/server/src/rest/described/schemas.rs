//! Tools and calls, field by field: what servers send and clients ask for. The tests hold real answers against it.
#![expect(dead_code, reason = "these types only say which fields there are")]

use std::collections::BTreeMap;

use mcpproxy_gateway::servers::FailedServer;
use mcpproxy_policy::{Operation, Sensitivity};
use serde_json::Value;
use utoipa::ToSchema;

/// The tools of the menu that call others.
#[derive(ToSchema)]
#[expect(
    clippy::enum_variant_names,
    reason = "the names are those of the tools"
)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Variant {
    CallToolRead,
    CallToolWrite,
    CallToolDestructive,
}

/// Tools; a search gives the best match first and at most 50.
#[derive(ToSchema)]
#[schema(as = ToolList)]
pub(crate) struct ToolListSchema {
    /// What was searched for.
    query: Option<String>,
    /// How many there are, or match.
    total: u64,
    /// `hybrid`: by words and by meaning; `lexical`: by words alone. Only of a search.
    search: Option<String>,
    /// Servers that are still starting: what they have is not listed, or not searched. Absent if there are none.
    starting: Option<Vec<String>>,
    /// Servers that failed, also those that are being tried again. Absent if there are none.
    failed: Option<Vec<FailedServer>>,
    /// Advice, where a search finds nothing.
    notice: Option<String>,
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
    deprecated: Option<DeprecatedSchema>,
    /// How well it matches, from 0 to 1; only of a search.
    score: Option<f64>,
    /// Why it was found; only of a search that asks for it.
    explanation: Option<ExplanationSchema>,
}

/// Reasons for the score of a tool.
#[derive(ToSchema)]
#[schema(as = Explanation)]
pub(crate) struct ExplanationSchema {
    /// The words of the query that it has.
    words: Vec<MatchedWordSchema>,
    /// The share of the query that they cover, from 0 to 1.
    coverage: f64,
    /// How alike the meanings are; absent where meaning did not count.
    similarity: Option<f64>,
    /// Why it stands higher or lower than words and meaning alone have it.
    moved: Option<String>,
}

/// A word of a query that a tool has.
#[derive(ToSchema)]
#[schema(as = MatchedWord)]
pub(crate) struct MatchedWordSchema {
    /// As it was written.
    word: String,
    /// The word that was taken for it, where no tool has what was written.
    meant: Option<String>,
    /// Parts of the tool that have it: name, server, title, description, parameters, values.
    fields: Vec<String>,
    /// The share of the query that it covers here.
    points: f64,
}

/// A tool that is going to be removed, as its definition says; any part may be missing.
#[derive(ToSchema)]
#[schema(as = Deprecated, rename_all = "camelCase")]
pub(crate) struct DeprecatedSchema {
    /// The version of the tool since which it is deprecated.
    since: Option<String>,
    /// The tool to use instead, as `server:tool`.
    replacement: Option<String>,
    /// The day from which on it is gone.
    removal_date: Option<String>,
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
    deprecated: Option<DeprecatedSchema>,
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
    operation_type: Option<Operation>,
    data_sensitivity: Option<Sensitivity>,
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
