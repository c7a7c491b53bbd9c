//! Search of tools: `retrieve_tools` and `describe_tool` for agents, lists for people.

mod tools;

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_activity::RecordKind;
use mcpproxy_catalog::{SearchQuery, present};
use mcpproxy_policy::{AccessTo, Caller, Rights};
use mcpproxy_wire::Json;
use mcpproxy_wire::json::to_text;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Failure, record_outcome};
use crate::menu::USAGE_INSTRUCTIONS;
use crate::records::Records;
use crate::request::{ParameterReader, is_bounded};
use crate::servers::Servers;
use crate::settings::{Detail, LiveSettings};

/// Most tools that one search returns.
const MOST_RESULTS: usize = 50;

/// Most tools that are described at once.
const MOST_DESCRIBED: usize = 20;

/// Search over the tools of all servers.
pub struct Search {
    settings: Arc<LiveSettings>,
    servers: Arc<Servers>,
    records: Arc<Records>,
}

/// Parameters of `retrieve_tools`.
#[derive(Serialize)]
struct SearchRequest {
    query: String,
    limit: Option<usize>,
    detail: Option<Detail>,
    read_only_only: bool,
    exclude_destructive: bool,
    server: Option<String>,
}

/// Outcome of `retrieve_tools` or `describe_tool`.
#[derive(Debug)]
pub struct SearchOutcome {
    /// Id of the record.
    pub activity_id: Uuid,
    /// Id of the request.
    pub request_id: Uuid,
    /// Answer as JSON text, or why there is none.
    pub result: Result<String, Failure>,
}

/// Answer, and what of it goes on the record.
struct SearchAnswer {
    text: String,
    recorded: Value,
}

/// Result of `retrieve_tools`.
#[derive(Serialize)]
struct FoundTools<'a, T> {
    tools: Vec<T>,
    query: &'a str,
    total: usize,
    usage_instructions: &'a str,
}

/// Result of `describe_tool`.
#[derive(Serialize)]
struct DescribedTools<T> {
    tools: Vec<T>,
    errors: Vec<Value>,
}

impl Search {
    pub(crate) fn new(
        settings: &Arc<LiveSettings>,
        servers: &Arc<Servers>,
        records: &Arc<Records>,
    ) -> Self {
        Self {
            settings: Arc::clone(settings),
            servers: Arc::clone(servers),
            records: Arc::clone(records),
        }
    }

    /// Answers `retrieve_tools`.
    pub async fn retrieve_tools(&self, arguments: &Json, caller: &Arc<Caller>) -> SearchOutcome {
        let request = SearchRequest::parse(arguments);
        let parameters = request.as_ref().map(to_text).ok();
        self.answer("retrieve_tools", caller, parameters, |_| {
            request.and_then(|request| self.find(&request, &caller.rights))
        })
        .await
    }

    /// Answers `describe_tool`.
    pub async fn describe_tools(&self, arguments: &Json, caller: &Arc<Caller>) -> SearchOutcome {
        let names = parse_names(arguments);
        let parameters = names.as_ref().ok();
        let parameters = parameters.map(|names| json!({ "names": names }).to_string());
        self.answer("describe_tool", caller, parameters, |request_id| {
            names.map(|names| self.describe(&names, request_id, &caller.rights))
        })
        .await
    }

    /// Answers a request about tools. Like a call, it is on the record either way, with its
    /// parameters and the tools that the answer names.
    async fn answer(
        &self,
        tool: &str,
        caller: &Arc<Caller>,
        parameters: Option<String>,
        answer: impl FnOnce(Uuid) -> Result<SearchAnswer, Failure>,
    ) -> SearchOutcome {
        let mut record = self.records.log().open(RecordKind::Discovery, caller, None);
        record.set_tool_name(tool);
        if let Some(parameters) = &parameters {
            record.set_arguments(parameters);
        }
        let (activity_id, request_id) = (record.id(), record.request_id());
        let mode = self.settings.load().rules().mode;
        let result = answer(request_id).map_err(|failure| failure.with_menu_schema(tool, mode));
        let recorded = result.as_ref().map(|answer| answer.recorded.to_string());
        let outcome = record_outcome(recorded.as_deref().map_err(|failure| *failure));
        // A search reads; what the log cannot take of it is counted there.
        let _ = record.close(outcome).await;
        SearchOutcome {
            activity_id,
            request_id,
            result: result.map(|answer| answer.text),
        }
    }

    fn find(&self, request: &SearchRequest, rights: &Rights) -> Result<SearchAnswer, Failure> {
        let settings = self.settings.load();
        if let Some(server) = &request.server {
            self.servers.check_known(server, rights)?;
        }
        let snapshot = self.servers.catalog().snapshot();
        let found = snapshot.search(&SearchQuery {
            text: &request.query,
            limit: request.limit.unwrap_or(settings.discovery.limit),
            read_only_only: request.read_only_only,
            exclude_destructive: request.exclude_destructive,
            server: request.server.as_deref(),
            rights,
        });
        let hits = found.hits.iter().map(|hit| {
            let deprecation = snapshot.deprecation_for(&hit.tool, rights);
            (&hit.tool, hit.score, deprecation)
        });
        let (query, total) = (request.query.as_str(), found.total);
        let usage_instructions = &*self.usage_instructions(rights);
        let text = match request.detail.unwrap_or(settings.discovery.detail) {
            Detail::Full => to_text(&FoundTools {
                tools: hits
                    .map(|(tool, score, deprecation)| {
                        present::full(tool, score, deprecation.as_ref())
                    })
                    .collect(),
                query,
                total,
                usage_instructions,
            }),
            Detail::Compact => to_text(&FoundTools {
                tools: hits
                    .map(|(tool, score, deprecation)| {
                        present::compact(tool, score, deprecation.as_ref())
                    })
                    .collect(),
                query,
                total,
                usage_instructions,
            }),
        };
        let names: Vec<&str> = found.hits.iter().map(|hit| hit.tool.qualified()).collect();
        let recorded = json!({ "total": total, "tools": names });
        Ok(SearchAnswer { text, recorded })
    }

    /// Instructions: what the variants are for, and what an agent should know when a server is missing.
    fn usage_instructions(&self, rights: &Rights) -> Cow<'static, str> {
        let mut starting = self.servers.starting();
        starting.retain(|server| rights.allow(AccessTo::Server(server)));
        if starting.is_empty() {
            return USAGE_INSTRUCTIONS.into();
        }
        let starting = starting.join(", ");
        format!("{USAGE_INSTRUCTIONS} Still starting, so not searched yet: {starting}.").into()
    }

    fn describe(&self, names: &[String], request_id: Uuid, rights: &Rights) -> SearchAnswer {
        let mut found = Vec::new();
        let mut errors = Vec::new();
        for name in names {
            let split = self.servers.split_name(name, rights);
            match split.and_then(|(server, tool)| self.servers.tool(server, tool, rights)) {
                Ok(tool) => found.push(tool),
                Err(failure) => {
                    errors.push(json!({ "name": name, "error": failure.to_json(request_id) }));
                }
            }
        }
        let names: Vec<&str> = found.iter().map(|tool| tool.qualified()).collect();
        let snapshot = self.servers.catalog().snapshot();
        let described = found.iter().map(|tool| {
            let deprecation = snapshot.deprecation_for(tool, rights);
            present::described(tool, deprecation.as_ref())
        });
        SearchAnswer {
            text: to_text(&DescribedTools {
                tools: described.collect(),
                errors,
            }),
            recorded: json!({ "total": names.len(), "tools": names }),
        }
    }
}

// === impl SearchRequest ===

impl SearchRequest {
    /// Reads the arguments of `retrieve_tools`.
    fn parse(given: &Json) -> Result<Self, Failure> {
        const PARAMETERS: &[&str] = &[
            "query",
            "limit",
            "detail",
            "read_only_only",
            "exclude_destructive",
            "server",
        ];
        const LIMITS: &str = "must be a whole number from 1 to 50";
        let mut reader = ParameterReader::new(given, PARAMETERS, "retrieve_tools")?;
        let query: Option<String> = reader.read("query", "must be a string");
        let limit: Option<usize> = reader.read("limit", LIMITS);
        let detail = reader.read("detail", "must be full or compact");
        let read_only_only: Option<bool> = reader.read("read_only_only", "must be true or false");
        let exclude_destructive: Option<bool> =
            reader.read("exclude_destructive", "must be true or false");
        let server = reader.read("server", "must be a string");
        reader.require("query", "is required");
        if limit.is_some_and(|limit| !(1..=MOST_RESULTS).contains(&limit)) {
            reader.refuse("limit", LIMITS);
        }
        reader.finish(Self {
            query: query.unwrap_or_default(),
            limit,
            detail,
            read_only_only: read_only_only.unwrap_or_default(),
            exclude_destructive: exclude_destructive.unwrap_or_default(),
            server,
        })
    }
}

/// Reads the arguments of `describe_tool`.
fn parse_names(given: &Json) -> Result<Vec<String>, Failure> {
    let mut reader = ParameterReader::new(given, &["names"], "describe_tool")?;
    let names: Option<Vec<String>> = reader.read("names", "must be a list of names");
    reader.require("names", "is required");
    if let Some(names) = &names {
        if names.iter().any(|name| !is_bounded(name)) {
            reader.refuse("names", "holds a name that is longer than any name");
        }
        if !(1..=MOST_DESCRIBED).contains(&names.len()) {
            reader.refuse("names", "must hold 1 to 20 names");
        }
    }
    reader.finish(names.unwrap_or_default())
}

// === impl SearchOutcome ===

impl SearchOutcome {
    /// Text of the `CallToolResult` that answers an MCP client: the answer as structured content,
    /// and the same JSON in a text block.
    pub fn to_call_tool_result(&self) -> String {
        match &self.result {
            // Both are JSON that `to_text` made.
            Ok(answer) => format!(
                r#"{{"content":[{{"type":"text","text":{}}}],"structuredContent":{answer}}}"#,
                to_text(answer)
            ),
            Err(failure) => failure.to_call_tool_result(self.request_id, self.activity_id, &[]),
        }
    }
}
