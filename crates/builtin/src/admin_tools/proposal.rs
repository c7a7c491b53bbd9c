//! The smallest set of permissions that recorded calls needed: pure, from counts of records.

use std::collections::{BTreeMap, BTreeSet};

use mcpproxy_activity::summary::Tally;
use mcpproxy_contract::prelude::*;

use super::filters::{RecordedOperation, RecordedStatus, of_word};

/// The most tools that are listed, of each kind.
const MOST_TOOLS: usize = 200;

/// A tool that was called with success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct UsedTool {
    /// Its name, without the server.
    pub(super) tool: String,
    /// How often it was called with success.
    pub(super) calls: u64,
}

/// A tool that was called without any success, so nothing speaks for allowing it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TriedTool {
    /// Its name, as server:tool.
    pub(super) name: String,
    /// The operation it was called as.
    pub(super) operation: RecordedOperation,
    /// How often the call failed.
    pub(super) failed: u64,
    /// How often it was refused.
    pub(super) refused: u64,
    /// How often nobody saw the outcome.
    pub(super) in_doubt: u64,
}

/// What exists and was not used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Unused {
    /// Servers of which no tool was called with success.
    pub(super) servers: Vec<String>,
    /// Tools of the other servers, as server:tool.
    pub(super) tools: Vec<String>,
    /// How many more tools there are than are listed.
    pub(super) more_tools: u64,
}

/// What is proposed, and what it rests on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Drawn {
    /// How many calls it is drawn from, refused ones included.
    pub(super) calls: u64,
    /// How many of them it allows: those that worked.
    pub(super) covered: u64,
    /// What to allow: by server, then by operation, the tools.
    #[serde(rename = "servers")]
    pub(super) allowed: BTreeMap<String, BTreeMap<RecordedOperation, Vec<UsedTool>>>,
    /// What was called without success and is not allowed.
    #[serde(rename = "not_covered")]
    pub(super) tried: Vec<TriedTool>,
    /// What exists and need not be allowed.
    pub(super) unused: Unused,
    /// How many tools are left out, because more were used than fit; the least used ones.
    pub(super) left_out: u64,
}

/// Outcomes of the calls of one tool as one operation.
#[derive(Default)]
struct Went {
    success: u64,
    failed: u64,
    refused: u64,
    in_doubt: u64,
}

/// Draws the proposal. `known` is every tool there is, by server; a server without tools counts as
/// well.
pub(super) fn draw(tallies: &[Tally], known: &BTreeMap<String, Vec<String>>) -> Drawn {
    let mut drawn = Drawn::default();
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    let calls = by_tool(tallies);
    // The most used first, so that what is left out matters least.
    let mut order: Vec<_> = calls.iter().collect();
    order.sort_by_key(|(_, went)| std::cmp::Reverse(went.success));
    for ((server, tool, operation), went) in order {
        drawn.calls += went.success + went.failed + went.refused + went.in_doubt;
        if went.success == 0 {
            drawn.tried.push(TriedTool {
                name: format!("{server}:{tool}"),
                operation: *operation,
                failed: went.failed,
                refused: went.refused,
                in_doubt: went.in_doubt,
            });
            continue;
        }
        if used.len() >= MOST_TOOLS && !used.contains(&(*server, *tool)) {
            drawn.left_out += 1;
            continue;
        }
        used.insert((server, tool));
        drawn.covered += went.success;
        let operations = drawn.allowed.entry((*server).to_owned()).or_default();
        operations.entry(*operation).or_default().push(UsedTool {
            tool: (*tool).to_owned(),
            calls: went.success,
        });
    }
    drawn.tried.truncate(MOST_TOOLS);
    drawn.unused = unused(known, &used);
    drawn
}

/// Calls by server, tool and operation. What has no tool or no operation is no call of a tool.
fn by_tool(tallies: &[Tally]) -> BTreeMap<(&str, &str, RecordedOperation), Went> {
    let mut calls: BTreeMap<_, Went> = BTreeMap::new();
    for tally in tallies {
        let operation = tally
            .intent
            .as_deref()
            .and_then(of_word::<RecordedOperation>);
        let (Some(server), Some(tool), Some(operation), Some(status)) = (
            tally.server.as_deref(),
            tally.tool.as_deref(),
            operation,
            of_word::<RecordedStatus>(&tally.status),
        ) else {
            continue;
        };
        let went = calls.entry((server, tool, operation)).or_default();
        let counter = match status {
            RecordedStatus::Success => &mut went.success,
            RecordedStatus::Error => &mut went.failed,
            RecordedStatus::Blocked => &mut went.refused,
            RecordedStatus::InDoubt => &mut went.in_doubt,
        };
        *counter += tally.count;
    }
    calls
}

fn unused(known: &BTreeMap<String, Vec<String>>, used: &BTreeSet<(&str, &str)>) -> Unused {
    let is_used = |server: &str| used.iter().any(|(one, _)| *one == server);
    let mut unused = Unused::default();
    for (server, tools) in known {
        if !is_used(server) {
            unused.servers.push(server.clone());
            continue;
        }
        let never = tools
            .iter()
            .filter(|tool| !used.contains(&(&**server, &***tool)));
        unused
            .tools
            .extend(never.map(|tool| format!("{server}:{tool}")));
    }
    unused.more_tools = unused.tools.len().saturating_sub(MOST_TOOLS) as u64;
    unused.tools.truncate(MOST_TOOLS);
    unused
}

#[cfg(test)]
mod tests;
