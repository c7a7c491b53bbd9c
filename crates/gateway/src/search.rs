//! Finding tools: `retrieve_tools` and `describe_tool`.

use std::sync::Arc;

use mcpproxy_activity::{RecordKind, RecordOutcome, Status};
use mcpproxy_catalog::{SearchQuery, Violation, present};
use mcpproxy_policy::Caller;
use mcpproxy_wire::json::Fields;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Gateway;
use crate::call::failure_result;
use crate::failure::Failure;
use crate::menu::USAGE_INSTRUCTIONS;
use crate::request::{is_bounded, pointer, unknown_parameters, violation};
use crate::settings::Detail;

/// The most tools one search returns.
const MOST_RESULTS: u64 = 50;

/// The most tools that are described at once.
const MOST_DESCRIBED: usize = 20;

/// A search, as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchRequest {
    /// What the tool should do.
    pub query: String,
    /// How many to return.
    pub limit: Option<usize>,
    /// How much of each.
    pub detail: Option<Detail>,
    /// Only tools marked read-only.
    pub read_only_only: bool,
    /// No tools marked destructive.
    pub exclude_destructive: bool,
    /// Only tools of this server.
    pub server: Option<String>,
}

/// What a discovery tool answers.
#[derive(Debug)]
pub struct SearchOutcome {
    /// The id of the record.
    pub activity_id: Uuid,
    /// The id of the request.
    pub request_id: Uuid,
    /// The answer as JSON text, or why there is none.
    pub result: Result<String, Failure>,
}

/// An answer, and what of it goes on the record.
struct SearchAnswer {
    text: String,
    on_record: Value,
}

impl Gateway {
    /// Answers `retrieve_tools`.
    pub async fn retrieve_tools(
        &self,
        search: Result<SearchRequest, Failure>,
        caller: &Arc<Caller>,
    ) -> SearchOutcome {
        let asked = search.as_ref().map(raw).ok();
        self.discover("retrieve_tools", caller, asked, |_| {
            search.and_then(|search| self.search(&search))
        })
        .await
    }

    /// Answers `describe_tool`.
    pub async fn describe_tools(
        &self,
        names: Result<Vec<String>, Failure>,
        caller: &Arc<Caller>,
    ) -> SearchOutcome {
        let asked = names.as_ref().map(|names| json!({ "names": names }));
        let asked = asked.map(|asked| asked.to_string()).ok();
        self.discover("describe_tool", caller, asked, |request_id| {
            names.map(|names| self.describe(&names, request_id))
        })
        .await
    }

    /// Answers a question about tools; like a call, it is on the record either way, with what
    /// was asked and which tools were named in the answer.
    async fn discover(
        &self,
        tool: &str,
        caller: &Arc<Caller>,
        asked: Option<String>,
        answer: impl FnOnce(Uuid) -> Result<SearchAnswer, Failure>,
    ) -> SearchOutcome {
        let mut record = self.log.open(RecordKind::Discovery, caller, None);
        record.set_tool_name(tool);
        if let Some(asked) = &asked {
            record.set_arguments(asked);
        }
        let (activity_id, request_id) = (record.id(), record.request_id());
        let mode = self.settings.load().rules.mode;
        let result = answer(request_id).map_err(|failure| failure.with_menu_schema(tool, mode));
        let found = result.as_ref().map(|answer| answer.on_record.to_string());
        let found = found.ok();
        let end = match &result {
            Ok(_) => RecordOutcome {
                status: Status::Success,
                error: None,
                response: found.as_deref(),
            },
            Err(failure) => RecordOutcome {
                status: Status::Blocked,
                error: Some((failure.code.as_str(), &failure.message)),
                response: None,
            },
        };
        // A search reads; what the log cannot take of it is counted there.
        let _ = record.close(end).await;
        SearchOutcome {
            activity_id,
            request_id,
            result: result.map(|answer| answer.text),
        }
    }

    fn search(&self, search: &SearchRequest) -> Result<SearchAnswer, Failure> {
        let settings = self.settings.load();
        if let Some(server) = &search.server {
            self.known_server(server)?;
        }
        let hits = self.catalog.snapshot().search(&SearchQuery {
            text: &search.query,
            limit: search.limit.unwrap_or(settings.discovery.limit),
            read_only_only: search.read_only_only,
            exclude_destructive: search.exclude_destructive,
            server: search.server.as_deref(),
        });
        let detail = search.detail.unwrap_or(settings.discovery.detail);
        let tools = hits.hits.iter().map(|hit| match detail {
            Detail::Full => raw(&present::full(&hit.tool, hit.score)),
            Detail::Compact => raw(&present::compact(&hit.tool, hit.score)),
        });
        let text = format!(
            r#"{{"tools":[{}],"query":{},"total":{},"usage_instructions":{}}}"#,
            tools.collect::<Vec<_>>().join(","),
            json!(search.query),
            hits.total,
            json!(self.usage_instructions()),
        );
        let found: Vec<&str> = hits.hits.iter().map(|hit| hit.tool.qualified()).collect();
        let on_record = json!({ "total": hits.total, "tools": found });
        Ok(SearchAnswer { text, on_record })
    }

    /// What the variants are for, and what an agent should know when a server is missing.
    fn usage_instructions(&self) -> String {
        let starting = self.servers_starting();
        if starting.is_empty() {
            return USAGE_INSTRUCTIONS.to_owned();
        }
        format!(
            "{USAGE_INSTRUCTIONS} Still starting, so not searched yet: {}.",
            starting.join(", ")
        )
    }

    fn describe(&self, names: &[String], request_id: Uuid) -> SearchAnswer {
        let mut described = Vec::new();
        let mut tools = Vec::new();
        let mut errors = Vec::new();
        for name in names {
            let found = self
                .tool_name(name)
                .and_then(|parsed| self.known_tool(&parsed.server, &parsed.tool));
            match found {
                Ok(entry) => {
                    described.push(entry.qualified().to_owned());
                    tools.push(raw(&present::described(&entry)));
                }
                Err(failure) => {
                    errors.push(json!({ "name": name, "error": failure.to_json(request_id) }));
                }
            }
        }
        let text = format!(
            r#"{{"tools":[{}],"errors":{}}}"#,
            tools.join(","),
            json!(errors)
        );
        SearchAnswer {
            text,
            on_record: json!({ "total": described.len(), "tools": described }),
        }
    }
}

fn raw(value: &impl Serialize) -> String {
    // What the catalog presents is strings, numbers and JSON that was checked on arrival.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

// === impl SearchRequest ===

impl SearchRequest {
    /// Reads the arguments of `retrieve_tools`, given as the text of a JSON object.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        const PARAMETERS: &[&str] = &[
            "query",
            "limit",
            "detail",
            "read_only_only",
            "exclude_destructive",
            "server",
        ];
        let mut reader = ParameterReader::new(text, PARAMETERS, "retrieve_tools")?;
        let query: Option<String> = reader.read("query", "must be a string");
        let limit: Option<u64> = reader.read("limit", "must be a whole number from 1 to 50");
        let detail: Option<Detail> = reader.read("detail", "must be full or compact");
        let read_only_only: Option<bool> = reader.read("read_only_only", "must be true or false");
        let exclude_destructive: Option<bool> =
            reader.read("exclude_destructive", "must be true or false");
        let server: Option<String> = reader.read("server", "must be a string");
        if !reader.names("query") {
            reader.complain("/query", "is required");
        }
        if limit.is_some_and(|limit| !(1..=MOST_RESULTS).contains(&limit)) {
            reader.complain("/limit", "must be a whole number from 1 to 50");
        }
        reader.finish(Self {
            query: query.unwrap_or_default(),
            limit: limit.and_then(|limit| usize::try_from(limit).ok()),
            detail,
            read_only_only: read_only_only.unwrap_or_default(),
            exclude_destructive: exclude_destructive.unwrap_or_default(),
            server,
        })
    }
}

/// Reads the arguments of `describe_tool`, given as the text of a JSON object.
pub fn parse_names(text: &str) -> Result<Vec<String>, Failure> {
    let mut reader = ParameterReader::new(text, &["names"], "describe_tool")?;
    let names: Option<Vec<String>> = reader.read("names", "must be a list of names");
    if !reader.names("names") {
        reader.complain("/names", "is required");
    }
    if names.iter().flatten().any(|name| !is_bounded(name)) {
        reader.complain("/names", "holds a name that is longer than any name");
    }
    if names
        .as_ref()
        .is_some_and(|names| names.is_empty() || names.len() > MOST_DESCRIBED)
    {
        reader.complain("/names", "must hold 1 to 20 names");
    }
    reader.finish(names.unwrap_or_default())
}

/// Reads parameters of a tool of ours and gathers everything that is wrong with them.
struct ParameterReader<'a> {
    tool: &'static str,
    fields: Fields<'a>,
    violations: Vec<Violation>,
}

impl<'a> ParameterReader<'a> {
    fn new(text: &'a str, known: &[&str], tool: &'static str) -> Result<Self, Failure> {
        let Ok(fields) = serde_json::from_str::<Fields<'a>>(text) else {
            return Err(Failure::invalid_arguments(
                tool,
                &[violation("", "must be an object")],
            ));
        };
        Ok(Self {
            tool,
            violations: unknown_parameters(&fields, known),
            fields,
        })
    }

    fn names(&self, name: &str) -> bool {
        self.fields.given(name).is_some()
    }

    fn read<T: DeserializeOwned>(&mut self, name: &str, expected: &str) -> Option<T> {
        let raw = self.fields.given(name)?;
        let read = serde_json::from_str(raw.get()).ok();
        if read.is_none() {
            self.complain(&pointer(name), expected);
        }
        read
    }

    fn complain(&mut self, path: &str, message: &str) {
        self.violations.push(violation(path, message));
    }

    fn finish<T>(self, value: T) -> Result<T, Failure> {
        if self.violations.is_empty() {
            return Ok(value);
        }
        Err(Failure::invalid_arguments(self.tool, &self.violations))
    }
}

// === impl SearchOutcome ===

impl SearchOutcome {
    /// The text of the `CallToolResult` that answers an MCP client: the answer as
    /// structured content, and the same JSON in a text block.
    pub fn to_call_tool_result(&self) -> String {
        match &self.result {
            Ok(text) => {
                let block = Value::String(text.clone());
                format!(
                    r#"{{"content":[{{"type":"text","text":{block}}}],"structuredContent":{text}}}"#
                )
            }
            Err(failure) => failure_result(failure, self.request_id, self.activity_id).to_string(),
        }
    }
}
