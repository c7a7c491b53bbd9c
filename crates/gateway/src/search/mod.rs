//! Search of tools: `retrieve_tools` and `describe_tool` for agents, lists for people.

pub(crate) mod introduction;
mod meanings;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_activity::RecordKind;
use mcpproxy_catalog::{Hits, SearchQuery, ServerState, Snapshot, present};
use mcpproxy_policy::{AccessTo, Caller, Rights};
use mcpproxy_wire::Json;
use mcpproxy_wire::json::to_text;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::background::Background;
use crate::failure::{Failure, record_outcome};
use crate::menu::USAGE_INSTRUCTIONS;
use crate::records::Records;
use crate::request::{ParameterReader, is_bounded};
use crate::servers::Servers;
use crate::settings::{Detail, LiveSettings};
use meanings::Meanings;
pub use meanings::{SearchMode, SearchStatus};
pub use tools::ToolListRequest;

/// Most tools that one search returns.
const MOST_RESULTS: usize = 50;

/// Most tools that are described at once.
const MOST_DESCRIBED: usize = 20;

/// Most entries of an answer that are whole where nobody says how much is wanted.
const MOST_WHOLE: usize = 3;

/// Time that a search which finds nothing waits for servers that are just starting.
const STARTING_WAIT: Duration = Duration::from_secs(2);

/// Pause before a search that waits looks again whether servers are still starting.
const STARTING_STEP: Duration = Duration::from_millis(100);

/// Characters of the notice that nothing fits, without what it says first.
const NOTICE_LIMIT: usize = 1_800;

/// Characters about the servers in the instructions.
const SERVERS_LIMIT: usize = 4_000;

/// Beginning of the notice that nothing fits.
const NOTHING_FITS: &str = "No tool fits this query. Say in a few words or one sentence what the tool should do, in English, or give its name.";

/// Search over the tools of all servers.
pub struct Search {
    meanings: Arc<Meanings>,
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
struct FoundTools<'a> {
    tools: Vec<FoundTool<'a>>,
    query: &'a str,
    total: usize,
    search: SearchMode,
    /// Servers that were not searched, because they are still starting.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    starting: Vec<String>,
    /// Advice for who found nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    usage_instructions: &'static str,
}

/// Outcome of a search, and how it went.
struct Searched {
    /// The catalog that was searched.
    snapshot: Arc<Snapshot>,
    found: Hits,
    mode: SearchMode,
    /// Servers that were not searched yet.
    starting: Vec<String>,
}

/// One entry of a result of `retrieve_tools`.
#[derive(Serialize)]
#[serde(untagged)]
enum FoundTool<'a> {
    Full(present::Full<'a>),
    Compact(present::Compact<'a>),
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
        background: &Background,
    ) -> Self {
        Self {
            meanings: Meanings::new(settings, servers, background),
            settings: Arc::clone(settings),
            servers: Arc::clone(servers),
            records: Arc::clone(records),
        }
    }

    /// Computes what tools mean, now and whenever they change, so that search goes by meaning as well.
    pub(crate) fn keep_meanings(&self) {
        self.meanings.keep_current();
    }

    /// Waits until search goes by meaning as well, but no longer than this.
    pub async fn settled(&self, limit: Duration) {
        self.meanings.keep_current();
        let _ = tokio::time::timeout(limit, self.meanings.ready()).await;
    }

    /// Whether search goes by meaning, and if not, why.
    pub fn status(&self) -> SearchStatus {
        self.meanings.status()
    }

    /// Instructions for a client, with the servers that a caller with these rights may use.
    pub fn introduced(&self, instructions: &str, rights: &Rights) -> String {
        let snapshot = self.servers.catalog().snapshot();
        let servers = introduction::servers(&snapshot, rights, SERVERS_LIMIT);
        format!("{instructions} {servers}").trim_end().to_owned()
    }

    /// Answers `retrieve_tools`.
    pub async fn retrieve_tools(&self, arguments: &Json, caller: &Arc<Caller>) -> SearchOutcome {
        let request = SearchRequest::parse(arguments);
        let parameters = request.as_ref().map(to_text).ok();
        self.answer("retrieve_tools", caller, parameters, async |_| {
            self.find(&request?, &caller.rights).await
        })
        .await
    }

    /// Answers `describe_tool`.
    pub async fn describe_tools(&self, arguments: &Json, caller: &Arc<Caller>) -> SearchOutcome {
        let names = parse_names(arguments);
        let parameters = names.as_ref().ok();
        let parameters = parameters.map(|names| json!({ "names": names }).to_string());
        self.answer("describe_tool", caller, parameters, async |request_id| {
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
        answer: impl AsyncFnOnce(Uuid) -> Result<SearchAnswer, Failure>,
    ) -> SearchOutcome {
        let mut record = self.records.log().open(RecordKind::Discovery, caller, None);
        record.set_tool_name(tool);
        if let Some(parameters) = &parameters {
            record.set_arguments(parameters);
        }
        let (activity_id, request_id) = (record.id(), record.request_id());
        let mode = self.settings.load().rules().mode;
        let result = answer(request_id).await;
        let result = result.map_err(|failure| failure.with_menu_schema(tool, mode));
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

    async fn find(
        &self,
        request: &SearchRequest,
        rights: &Rights,
    ) -> Result<SearchAnswer, Failure> {
        if let Some(server) = &request.server {
            self.servers.check_known(server, rights)?;
        }
        let limit = self.settings.load().discovery.limit;
        let query = SearchQuery {
            limit: request.limit.unwrap_or(limit),
            read_only_only: request.read_only_only,
            exclude_destructive: request.exclude_destructive,
            server: request.server.as_deref(),
            rights,
            ..SearchQuery::new(&request.query, 0)
        };
        let searched = self.search(query).await;
        Ok(self.shown(request, rights, searched))
    }

    /// Searches by words, and by meaning where that can be. If it finds nothing it waits a little for servers that are
    /// just starting.
    async fn search(&self, query: SearchQuery<'_>) -> Searched {
        let meaning = self.meanings.of_query(query.text).await;
        let query = SearchQuery {
            meaning: meaning.as_ref(),
            ..query
        };
        let mut changes = self.servers.catalog().changes();
        let deadline = Instant::now() + STARTING_WAIT;
        loop {
            changes.mark_unchanged();
            // First who is starting: a server lists its tools before it has started.
            let starting = self.servers.starting();
            let snapshot = self.servers.catalog().snapshot();
            let starting = not_searched(starting, &query, &snapshot);
            let found = snapshot.search(&query);
            let is_late = Instant::now() >= deadline;
            if !found.hits.is_empty() || starting.is_empty() || is_late {
                return Searched {
                    snapshot,
                    found,
                    mode: SearchMode::of(meaning.as_ref()),
                    starting,
                };
            }
            // A server that has just listed its tools may have what is wanted. One that failed tells nobody.
            let step = deadline.min(Instant::now() + STARTING_STEP);
            let _ = timeout_at(step, changes.changed()).await;
        }
    }

    /// Answer that shows what was found.
    fn shown(&self, request: &SearchRequest, rights: &Rights, searched: Searched) -> SearchAnswer {
        let notice = searched.notice(rights);
        let Searched {
            snapshot,
            found,
            mode,
            starting,
        } = searched;
        let detail = request
            .detail
            .unwrap_or(self.settings.load().discovery.detail);
        let is_whole = match detail {
            Detail::Auto => found.hits.len() <= MOST_WHOLE,
            Detail::Full => true,
            Detail::Compact => false,
        };
        let entries = found.hits.iter().map(|hit| {
            let deprecation = snapshot.deprecation_for(&hit.tool, rights);
            let deprecation = deprecation.as_ref();
            if is_whole {
                FoundTool::Full(present::full(&hit.tool, hit.score, deprecation))
            } else {
                FoundTool::Compact(present::compact(&hit.tool, hit.score, deprecation))
            }
        });
        let text = to_text(&FoundTools {
            tools: entries.collect(),
            query: &request.query,
            total: found.total,
            search: mode,
            starting,
            notice,
            usage_instructions: USAGE_INSTRUCTIONS,
        });
        let names: Vec<&str> = found.hits.iter().map(|hit| hit.tool.qualified()).collect();
        let recorded = json!({ "total": found.total, "tools": names });
        SearchAnswer { text, recorded }
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

/// Those of the starting servers whose tools are not known yet and that are looked through.
fn not_searched(
    mut starting: Vec<String>,
    query: &SearchQuery<'_>,
    snapshot: &Snapshot,
) -> Vec<String> {
    starting.retain(|name| {
        let is_known = snapshot.server(name).is_some_and(ServerState::is_listed);
        let is_asked = query.server.is_none_or(|server| server == name);
        !is_known && is_asked && query.rights.allow(AccessTo::Server(name))
    });
    starting
}

// === impl Searched ===

impl Searched {
    /// Advice for who found nothing.
    fn notice(&self, rights: &Rights) -> Option<String> {
        self.found.hits.is_empty().then(|| {
            let servers = introduction::servers(&self.snapshot, rights, NOTICE_LIMIT);
            format!("{NOTHING_FITS} {servers}").trim_end().to_owned()
        })
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
        let detail = reader.read("detail", "must be auto, full or compact");
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
