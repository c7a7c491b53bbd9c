//! Health of a server, from its state and its newest calls: pure.

use mcpproxy_activity::{Record, Status};
use mcpproxy_contract::prelude::*;

use super::list_activity::RecordedFault;
use super::list_servers::State;
use super::summarize_activity::error_rate;
use mcpproxy_gateway::ServerStatus;
use mcpproxy_gateway::servers::without_host_files;

/// Number of calls below which little is said about a server.
const ENOUGH_CALLS: u64 = 5;

/// A server that fails one call in five is not well.
const HIGH_ERROR_RATE: f64 = 0.2;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ServerHealth {
    /// Its name.
    pub(super) name: String,
    /// Its state.
    pub(super) state: State,
    /// Whether a call can reach it now, if only after a start.
    pub(super) is_reachable: bool,
    /// How many tools it has.
    tools: u64,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// What to do about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// The newest of its failures in the time that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_error: Option<LastError>,
    /// How many of its newest calls were looked at.
    pub(super) calls: u64,
    /// How many of them failed.
    pub(super) failed: u64,
    /// The share that failed, among those that were answered.
    error_rate: f64,
    /// How long the calls took that worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response_ms: Option<ResponseTimes>,
}

/// A failure of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LastError {
    /// When.
    timestamp: String,
    /// The tool that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// What happened.
    error: RecordedFault,
}

/// How long calls took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ResponseTimes {
    /// Half of the calls took no longer.
    median: f64,
    /// 95 of 100 calls took no longer.
    p95: f64,
    /// The longest.
    longest: f64,
}

/// Health of a server, by its state, its newest calls and its newest losses of connection, both newest
/// first. Records of other servers are passed over.
pub(super) fn assess(server: &ServerStatus, calls: &[Record], losses: &[Record]) -> ServerHealth {
    let own = |record: &&Record| record.server_name.as_deref() == Some(&*server.name);
    let calls: Vec<&Record> = calls.iter().filter(own).collect();
    let count = |status| calls.iter().filter(|call| call.status == status).count() as u64;
    let (worked, failed) = (count(Status::Success), count(Status::Error));
    let error_rate = error_rate(worked, failed);
    let state = State::of(server);
    let (problem, remedy) = trouble(server, state, worked + failed, error_rate).unzip();
    let records = calls.iter().copied().chain(losses.iter().filter(own));
    let errors = records.filter(|record| record.status == Status::Error);
    ServerHealth {
        name: server.name.clone(),
        state,
        is_reachable: matches!(state, State::Ready | State::Idle),
        tools: server.tools as u64,
        problem,
        remedy: remedy.map(str::to_owned),
        last_error: errors.max_by_key(|record| record.id).and_then(last_error),
        calls: calls.len() as u64,
        failed,
        error_rate,
        response_ms: response_times(&calls),
    }
}

/// Problem of a server, and what helps.
fn trouble(
    server: &ServerStatus,
    state: State,
    answered: u64,
    error_rate: f64,
) -> Option<(String, &'static str)> {
    let reason = server.reason.as_deref();
    let reason = reason.map_or("no reason is known", without_host_files);
    match state {
        State::Failed => Some((
            format!("it could not be started or reached: {reason}"),
            "restart it with restart-server; if it fails again, a person finds its last words with `mcpproxy status`",
        )),
        State::Disabled => Some((
            "it is switched off".to_owned(),
            "a person has to set \"enabled\": true for it in the configuration",
        )),
        State::Quarantined => Some((
            "it waits for approval".to_owned(),
            "a person has to look at it and set \"quarantined\": false in the configuration",
        )),
        State::NotStarted | State::Stopped => Some((
            "it was not started by this process".to_owned(),
            "ask the gateway that runs as `mcpproxy serve`",
        )),
        State::Starting => Some((
            match &server.last_error {
                Some(last) => {
                    let last = without_host_files(last);
                    format!("it is starting; its last failure: {last}")
                }
                None => "it is starting".to_owned(),
            },
            "call again in a moment; calls to it wait until it is ready",
        )),
        State::Ready | State::Idle if answered >= ENOUGH_CALLS && error_rate >= HIGH_ERROR_RATE => {
            Some((
                format!("{} of 100 calls to it fail", (error_rate * 100.0).round()),
                "read why with list-activity, status error; if the server itself is to blame, restart it with restart-server",
            ))
        }
        State::Ready | State::Idle => None,
    }
}

fn last_error(record: &Record) -> Option<LastError> {
    let fault = record.error.as_ref()?;
    Some(LastError {
        timestamp: format!("{:.3}", record.timestamp),
        tool: record.tool_name.clone(),
        error: RecordedFault {
            code: fault.code.clone(),
            message: without_host_files(&fault.message).to_owned(),
        },
    })
}

fn response_times(calls: &[&Record]) -> Option<ResponseTimes> {
    let worked = calls.iter().filter(|call| call.status == Status::Success);
    let mut times: Vec<f64> = worked.filter_map(|call| call.duration_ms()).collect();
    times.sort_by(f64::total_cmp);
    let last = times.len().checked_sub(1)?;
    Some(ResponseTimes {
        median: times[last / 2],
        p95: times[last * 95 / 100],
        longest: times[last],
    })
}

#[cfg(test)]
mod tests;
