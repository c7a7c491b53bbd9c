//! `list-activity`: records of the log, without what was sent and what came back.

use mcpproxy_activity::Record;
use mcpproxy_contract::agent_hints;
use mcpproxy_contract::prelude::*;
use mcpproxy_contract::schemas::{Cursor, Page};
use serde_json::{Map, Value};

use super::filters::{RecordedKind, RecordedOperation, RecordedStatus};
use super::tools::{ListActivity, ListActivityParams, SummarizeActivity, check_server};
use super::{READ_ACTIVITY, VERSION, failed};
use mcpproxy_gateway::records;

/// A record, its fields named as everywhere else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListedRecord {
    /// The id of the record.
    id: String,
    /// The id of the request it answers.
    request_id: String,
    /// When it began.
    timestamp: String,
    /// What kind of thing happened.
    #[serde(rename = "type")]
    kind: RecordedKind,
    /// What came of it.
    status: RecordedStatus,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    /// The server it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_name: Option<String>,
    /// The tool it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    /// The operation of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intent_type: Option<RecordedOperation>,
    /// The intent as it was declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intent: Option<Map<String, Value>>,
    /// Who asked, by the name the client gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The session the request came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// Why it did not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RecordedFault>,
    /// What the caller was warned about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Value>,
}

/// Why something did not work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Fault")]
pub(crate) struct RecordedFault {
    /// What programs match on.
    pub(super) code: String,
    /// What happened.
    pub(super) message: String,
}

impl Data for ListedRecord {}

impl Tool for ListActivity {
    const NAME: &'static str = "list-activity";
    type Category = Query;
    type Params = ListActivityParams;
    type Output = Page<ListedRecord>;

    fn definition() -> Definition<Self> {
        let mut definition = Definition::of(VERSION, ResponseTime::Medium, &[READ_ACTIVITY])
            .what(
                "Lists what happened at the gateway, newest first: calls of tools, refusals, \
                 searches, and changes of servers and configuration",
            )
            .when(
                "you need to know what was called, by whom, how it ended, or why a call was \
                 refused or failed",
            )
            .returns(
                "a page of activity records without arguments and responses, and a cursor \
                 for the next page",
            )
            .example(
                "The newest call that failed in the last day",
                json!({ "status": "error", "from": "24h", "limit": 1 }),
                json!({
                    "items": [{
                        "id": "01993b1e-8c00-7c4a-9d1e-3f5a6b7c8d9e",
                        "request_id": "01993b1e-8c00-7c4a-9d1e-3f5a6b7c8d9f",
                        "timestamp": "2026-01-31T12:00:00.000Z",
                        "type": "tool_call",
                        "status": "error",
                        "duration_ms": 12.5,
                        "server_name": "files",
                        "tool_name": "read_file",
                        "intent_type": "read",
                        "agent": "claude-code",
                        "error": { "code": "TOOL_ERROR", "message": "The tool reported an error" },
                    }],
                    "total": 1,
                    "hasMore": false,
                }),
            )
            .tagged(&["activity", "log", "audit", "history"]);
        definition.description.uses = &[
            "show the calls that failed today",
            "what did this agent do with the files server",
        ];
        definition
    }

    async fn call(
        &self,
        params: &ListActivityParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Page<ListedRecord>>, ToolError> {
        let parts = self.0.running(context)?;
        let mut pairs = params.filters.to_pairs();
        pairs.push(("limit".to_owned(), params.limit.to_string()));
        if let Some(cursor) = &params.cursor {
            pairs.push(("cursor".to_owned(), cursor.as_ref().to_owned()));
        }
        let archive = parts.records.archive();
        let (query, found) = records::page(archive, &pairs, parts.caller.record_scope())
            .await
            .map_err(failed)?;
        let total = archive.count(&query.filter).await.map_err(failed)?;

        let next = found.next.map(|id| Cursor::from(id.to_string()));
        let items = found.records.into_iter().map(listed);
        let items: Vec<ListedRecord> = items.collect::<Result<_, _>>()?;
        let shown = items.len() as u64;
        let in_doubt = items
            .iter()
            .filter(|item| item.status == RecordedStatus::InDoubt);
        let known = completeness(shown - in_doubt.count() as u64, shown);
        let evidence = Evidence::new(parts.log_quality(), known).and(coverage(shown, total));
        let hints = agent_hints::listed(&evidence, shown, total);
        let hints = suggested(parts.warned_of_log(hints), params, &items, next.as_ref());
        let page = match next {
            Some(next) => Page::continued(items, next),
            None => Page::last(items),
        };
        Ok(ToolOutput::new(page.out_of(total), hints))
    }
}

/// A record as every face shows it, without its payloads.
fn listed(mut record: Record) -> Result<ListedRecord, ToolError> {
    record.arguments = None;
    record.response = None;
    Ok(serde_json::from_value(serde_json::to_value(&record)?)?)
}

/// Suggestions of what to do with a page: turn to the next, or look into what failed.
fn suggested(
    mut hints: AgentHints,
    params: &ListActivityParams,
    items: &[ListedRecord],
    next: Option<&Cursor>,
) -> AgentHints {
    if let Some(next) = next {
        let params = ListActivityParams {
            cursor: Some(next.clone()),
            ..params.clone()
        };
        hints = hints.suggest(
            Suggestion::with::<ListActivity>(&params)
                .described("Read the next page")
                .category(ActionCategory::Exploration),
        );
    }
    let mut failed = items.iter();
    let failed = failed.find(|item| item.status == RecordedStatus::Error);
    if let Some(server) = failed.and_then(|item| item.server_name.as_ref()) {
        let why = format!("See whether '{server}' is well, calls to it failed");
        hints = hints.suggest(check_server(server, why));
    }
    if items.len() > 1 {
        hints = hints.suggest(
            Suggestion::with::<SummarizeActivity>(&params.filters)
                .priority(Priority::Low)
                .described("Count the same records instead of reading them"),
        );
    }
    hints
}
