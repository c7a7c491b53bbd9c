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
use super::{READ_ACTIVITY, READ_SERVERS, RESTART_SERVERS, RunningParts, VERSION, failed};

/// Number of the newest calls that are looked at, of all servers together.
const MOST_CALLS: usize = 1_000;

/// Number of them that are read at once.
const PAGE: usize = 250;

/// Number of the newest losses of connection that are looked at.
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
        let permissions = &[READ_SERVERS, READ_ACTIVITY];
        let mut definition = Definition::of(VERSION, ResponseTime::Medium, permissions)
            .what(
                "Checks how well the MCP servers behind the gateway are: state, newest error, \
             failed calls and response times, with a remedy for each problem",
            )
            .when("calls to a server fail or are slow, or tools are missing")
            .returns(
                "for each server whether it can be reached, what is wrong and what to do about it",
            )
            .example(
                "One server that failed",
                json!({ "server": "github", "hours": 1 }),
                json!({
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
            )
            .tagged(&["servers", "health", "diagnosis", "errors"]);
        definition.description.uses = &[
            "is the github server healthy",
            "why do calls fail since this morning",
        ];
        definition
    }

    async fn call(
        &self,
        params: &CheckServersParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<CheckedServers>, ToolError> {
        let parts = self.0.running(context)?;
        if let Some(server) = &params.server {
            let known = parts.servers.check_known(server, &parts.caller.rights);
            known.map_err(|failure| failed(failure).suggest(Suggestion::to::<ListServers>()))?;
        }
        let since = SignedDuration::from_hours(params.hours.into());
        let filter = Filter {
            server: params.server.clone(),
            from: Timestamp::now().checked_sub(since).ok(),
            scope: parts.caller.record_scope(),
            ..Filter::default()
        };
        let (calls, counted) = newest_calls(&parts, &filter).await?;
        let losses = newest_losses(&parts, &filter).await?;
        let mut asked_for = parts.shown_servers();
        asked_for.retain(|one| {
            params
                .server
                .as_ref()
                .is_none_or(|server| *server == one.name)
        });
        asked_for.truncate(MOST_SERVERS);
        let servers = asked_for.iter();
        let servers: Vec<_> = servers.map(|one| assess(one, &calls, &losses)).collect();
        let (checked, examined) = (servers.len() as u64, calls.len() as u64);
        // A server that is starting has come to no state that lasts.
        let starting = servers
            .iter()
            .filter(|server| server.state == State::Starting);
        let settled = completeness(checked - starting.count() as u64, checked);
        let evidence = Evidence::new(parts.log_quality(), settled).and(coverage(examined, counted));
        let hints = AgentHints::new(&evidence, ValidityPeriod::Short).because(format!(
            "Looked at {checked} servers and the newest {examined} of {counted} calls"
        ));
        let hints = suggested(parts.warned_of_log(hints), &servers, context);
        let checked = CheckedServers {
            unwell: servers.iter().filter(|one| one.problem.is_some()).count() as u64,
            calls_examined: examined,
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
    let counted = archive.count(&filter).await.map_err(failed)?;
    let mut calls = Vec::new();
    let mut before = None;
    while calls.len() < MOST_CALLS {
        let page = archive.page(&filter, before, PAGE).await;
        let page = page.map_err(failed)?;
        // Payloads can be large, and nobody looks at them here.
        calls.extend(page.records.into_iter().map(|record| Record {
            arguments: None,
            response: None,
            ..record
        }));
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
    Ok(page.map_err(failed)?.records)
}

/// Restarts what failed, if the caller may; else reads why calls fail.
fn suggested(mut hints: AgentHints, servers: &[ServerHealth], context: &ToolContext) -> AgentHints {
    let failed = servers.iter().find(|server| server.state == State::Failed);
    let needed = [RESTART_SERVERS.to_owned()];
    let may_restart = context.grants.missing(&needed).is_empty();
    if let Some(server) = failed.filter(|_| may_restart) {
        let server_name = server.name.clone();
        hints = hints.suggest(
            Suggestion::with::<RestartServer>(&RestartServerParams {
                server: server_name,
            })
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
