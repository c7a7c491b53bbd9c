//! `check-servers`: whether each server is well, and what to do if it is not.

use jiff::{SignedDuration, Timestamp};
use mcpproxy_activity::{Filter, Record, RecordKind, Status};
use mcpproxy_contract::prelude::*;

use super::filters::{ActivityFilters, RecordedStatus};
use super::health::{ServerHealth, assess};
use super::list_servers::{MOST_SERVERS, State};
use super::tools::{
    CheckServers, CheckServersParams, ListActivity, ListActivityParams, ListServers, RestartServer,
    RestartServerParams,
};
use super::{READ_ACTIVITY, READ_SERVERS, RESTART_SERVERS, RunningParts, failed, may, unreadable};

/// How many of the newest calls are looked at, of all servers together.
const MOST_CALLS: usize = 1_000;

/// How many are read at once.
const PAGE: usize = 250;

/// How many of the newest losses of connection are looked at.
const MOST_LOSSES: usize = 100;

/// How the servers are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CheckedServers {
    /// Each server.
    servers: Vec<ServerHealth>,
    /// How many of them have a problem.
    unwell: u64,
    /// How many calls were looked at, the newest ones.
    calls_examined: u64,
    /// How many calls there were in the time that was asked about.
    calls: u64,
}

impl Data for CheckedServers {}

impl Tool for CheckServers {
    const NAME: &'static str = "check-servers";
    type Category = Analysis;
    type Params = CheckServersParams;
    type Output = CheckedServers;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Checks how well the MCP servers behind the gateway are: state, newest error, \
                       failed calls and response times, with a remedy for each problem",
                when: "calls to a server fail or are slow, or tools are missing",
                returns: "for each server whether it can be reached, what is wrong and what to do about it",
                uses: &[
                    "is the github server healthy",
                    "why do calls fail since this morning",
                ],
            },
            permissions: &[READ_SERVERS, READ_ACTIVITY],
            response_time: ResponseTime::Medium,
            cache: None,
            idempotent: true,
            examples: vec![Example {
                description: "One server that failed",
                params: json!({ "server": "github", "hours": 1 }),
                expected_result: json!({
                    "servers": [{
                        "name": "github",
                        "state": "failed",
                        "is_reachable": false,
                        "tools": 0,
                        "problem": "it could not be started or reached: the connection was refused",
                        "remedy": "restart it with restart-server",
                        "calls": 0,
                        "failed": 0,
                        "error_rate": 0.0,
                    }],
                    "unwell": 1,
                    "calls_examined": 0,
                    "calls": 0,
                }),
            }],
            tags: &["servers", "health", "diagnosis", "errors"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &CheckServersParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<CheckedServers>, ToolError> {
        let parts = self.0.running()?;
        if let Some(server) = &params.server {
            parts
                .servers
                .check_known(server)
                .map_err(|failure| failed(failure).suggest(Suggestion::to::<ListServers>()))?;
        }
        let since = SignedDuration::from_hours(params.hours.into());
        let filter = Filter {
            server: params.server.clone(),
            from: Timestamp::now().checked_sub(since).ok(),
            ..Filter::default()
        };
        let (calls, counted) = newest_calls(&parts, &filter).await?;
        let losses = newest_losses(&parts, &filter).await?;
        let is_asked_for =
            |name: &str| params.server.as_deref().is_none_or(|server| server == name);
        let servers: Vec<ServerHealth> = parts
            .servers
            .status()
            .iter()
            .filter(|server| is_asked_for(&server.name))
            .take(MOST_SERVERS)
            .map(|server| assess(server, &calls, &losses))
            .collect();
        let evidence = Evidence::new(
            parts.log_quality(),
            completeness(settled(&servers), servers.len() as u64),
        )
        .and(coverage(calls.len() as u64, counted));
        let hints = AgentHints::new(&evidence, ValidityPeriod::Short).because(format!(
            "Looked at {} servers and the newest {} of {counted} calls",
            servers.len(),
            calls.len()
        ));
        let hints = suggested(parts.warned_of_log(hints), &servers, context);
        let checked = CheckedServers {
            unwell: unwell(&servers).count() as u64,
            calls_examined: calls.len() as u64,
            calls: counted,
            servers,
        };
        Ok(ToolOutput::new(checked, hints))
    }
}

/// The newest calls that were made, newest first, and how many there are in all.
async fn newest_calls(
    parts: &RunningParts,
    filter: &Filter,
) -> Result<(Vec<Record>, u64), ToolError> {
    let filter = Filter {
        kind: Some(RecordKind::ToolCall),
        ..filter.clone()
    };
    let archive = parts.records.archive();
    let counted = archive.count(&filter).await.map_err(unreadable)?;
    let mut calls = Vec::new();
    let mut before = None;
    while calls.len() < MOST_CALLS {
        let page = archive.page(&filter, before, PAGE).await;
        let page = page.map_err(unreadable)?;
        calls.extend(page.records.into_iter().map(without_payloads));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    // What was called in between is new, and not among those that were counted.
    let counted = counted.max(calls.len() as u64);
    Ok((calls, counted))
}

/// The newest moments at which a server could not be reached, newest first.
async fn newest_losses(parts: &RunningParts, filter: &Filter) -> Result<Vec<Record>, ToolError> {
    let filter = Filter {
        kind: Some(RecordKind::ServerChange),
        status: Some(Status::Error),
        ..filter.clone()
    };
    let archive = parts.records.archive();
    let page = archive.page(&filter, None, MOST_LOSSES).await;
    Ok(page.map_err(unreadable)?.records)
}

/// Payloads can be large, and nobody looks at them here.
fn without_payloads(mut record: Record) -> Record {
    record.arguments = None;
    record.response = None;
    record
}

/// How many servers have come to a state that lasts.
fn settled(servers: &[ServerHealth]) -> u64 {
    let settled = servers
        .iter()
        .filter(|server| server.state != State::Starting);
    settled.count() as u64
}

fn unwell(servers: &[ServerHealth]) -> impl Iterator<Item = &ServerHealth> {
    servers.iter().filter(|server| server.problem.is_some())
}

/// Restarts what failed, if the caller may; else reads why calls fail.
fn suggested(mut hints: AgentHints, servers: &[ServerHealth], context: &ToolContext) -> AgentHints {
    let failed = servers.iter().find(|server| server.state == State::Failed);
    if let Some(server) = failed
        && may(context, RESTART_SERVERS)
    {
        hints = hints.suggest(
            Suggestion::with::<RestartServer>(&RestartServerParams::of(&server.name))
                .priority(Priority::High)
                .described(format!("Start '{}' anew", server.name))
                .category(ActionCategory::Correction)
                .expecting("The server answers, or tells why it cannot"),
        );
    }
    let failing = servers.iter().filter(|server| server.failed > 0);
    if let Some(server) = failing.max_by_key(|server| server.failed) {
        let filters = ActivityFilters {
            server: Some(server.name.clone()),
            status: Some(RecordedStatus::Error),
            ..ActivityFilters::default()
        };
        hints = hints.suggest(
            Suggestion::with::<ListActivity>(&ListActivityParams::of(filters))
                .described(format!("Read why calls to '{}' failed", server.name))
                .category(ActionCategory::Exploration),
        );
    }
    hints
}
