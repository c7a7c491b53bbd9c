//! `propose-permissions`: the smallest set of permissions that recorded calls needed.

use mcpproxy_contract::prelude::*;

use super::filters::ActivityFilters;
use super::period::Period;
use super::proposal::{Drawn, draw};
use super::tools::{ProposePermissions, SummarizeActivity};
use super::{READ_ACTIVITY, READ_SERVERS, RunningParts, VERSION, failed};
use mcpproxy_gateway::records;

/// Whose calls, and from when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProposePermissionsParams {
    /// The client to propose for, by the name it gives itself; all of them if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 100))]
    agent: Option<String>,
    /// The begin of the period: a time, a date (UTC), or so long ago, such as 24h or 7d.
    #[serde(default = "default_from")]
    #[garde(length(chars, min = 1, max = 64))]
    from: String,
    /// The end of the period, written like `from`; now if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 64))]
    to: Option<String>,
}

/// A proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Proposal {
    /// The client it is for; absent if it is for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The begin of the period it is drawn from.
    from: String,
    /// Its end.
    to: String,
    #[serde(flatten)]
    drawn: Drawn,
}

impl Data for Proposal {}

impl Tool for ProposePermissions {
    const NAME: &'static str = "propose-permissions";
    type Category = Generation;
    type Params = ProposePermissionsParams;
    type Output = Proposal;

    fn definition() -> Definition<Self> {
        let permissions = &[READ_ACTIVITY, READ_SERVERS];
        let mut definition = Definition::of(VERSION, ResponseTime::Medium, permissions)
            .what(
                "Proposes the smallest set of permissions that recorded calls needed: which \
                 servers, operations and tools were really used with success",
            )
            .when(
                "somebody wants to restrict what an agent may do to what it needs, or to find \
                 servers and tools that nobody uses",
            )
            .returns(
                "servers with their operations and tools, what was tried without success, what \
                 was never used, and the records it is drawn from; nothing is changed",
            )
            .example(
                "What one agent needed in a week",
                json!({ "agent": "claude-code", "from": "7d" }),
                json!({
                    "agent": "claude-code",
                    "from": "2026-01-24T12:00:00Z",
                    "to": "2026-01-31T12:00:00Z",
                    "calls": 13,
                    "covered": 12,
                    "servers": { "files": { "read": [{ "tool": "read_file", "calls": 12 }] } },
                    "not_covered": [{
                        "name": "files:delete_file",
                        "operation": "destructive",
                        "failed": 0,
                        "refused": 1,
                        "in_doubt": 0,
                    }],
                    "unused": {
                        "servers": ["github"],
                        "tools": ["files:delete_file", "files:write_file"],
                        "more_tools": 0,
                    },
                    "left_out": 0,
                }),
            )
            .tagged(&["permissions", "security", "activity", "least-privilege"]);
        definition.description.uses = &[
            "which permissions does this agent need",
            "which tools were not used this month",
        ];
        definition.idempotent = true;
        definition
    }

    async fn call(
        &self,
        params: &ProposePermissionsParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Proposal>, ToolError> {
        let parts = self.0.running(context)?;
        let filters = ActivityFilters {
            agent: params.agent.clone(),
            from: Some(params.from.clone()),
            to: params.to.clone(),
            ..ActivityFilters::default()
        };
        let filter = records::parse_filter(&filters.to_pairs(), parts.caller.record_scope())
            .map_err(failed)?;
        let tallies = parts.records.archive().tally(&filter).await;
        let period = Period::of(&parts, filter.from, filter.to).await?;
        let tallies = tallies.map_err(failed)?;
        let drawn = draw(
            &tallies,
            &parts.servers.tools_by_server(&parts.caller.rights),
        );
        let hints = parts.warned_of_log(hints(&parts, &drawn, &period, &filters));
        let proposal = Proposal {
            agent: params.agent.clone(),
            from: format!("{:.3}", period.from),
            to: format!("{:.3}", period.to),
            drawn,
        };
        Ok(ToolOutput::new(proposal, hints))
    }
}

/// Hints of a proposal. How sure it is follows from how much of the period the log covers, and how
/// many of the calls were needed; from no calls at all nothing follows.
fn hints(
    parts: &RunningParts,
    drawn: &Drawn,
    period: &Period,
    filters: &ActivityFilters,
) -> AgentHints {
    let evidence = Evidence::new(parts.log_quality(), period.coverage())
        .and(agreement(drawn.covered, drawn.calls));
    let mut hints = AgentHints::new(&evidence, ValidityPeriod::Long)
        .because(format!(
            "Drawn from {} calls between {:.0} and {:.0}, of which {} worked",
            drawn.calls, period.from, period.to, drawn.covered
        ))
        .assumes("What the agent will do is what it did in this period")
        .assumes("Clients tell their true names")
        .suggest(
            Suggestion::with::<SummarizeActivity>(filters)
                .priority(Priority::Low)
                .described("See how often each tool was used")
                .category(ActionCategory::Exploration),
        );
    let share = Share::of(drawn.calls - drawn.covered, drawn.calls);
    if !drawn.tried.is_empty() {
        hints = hints.risk(RiskFactor {
            kind: RiskType::UserExperience,
            severity: Severity::Medium,
            description:
                "A tool that never worked in this period is not allowed, although it may be needed"
                    .to_owned(),
            probability: share,
            impact: share,
            mitigation: Some(
                "Look at not_covered before the proposal is put into force".to_owned(),
            ),
        });
    }
    if drawn.calls == 0 {
        hints = hints
            .needs("a period in which tools were called")
            .constrained(
                "Nothing was called in this period: this is no ground to forbid everything",
            );
    }
    hints
}

/// Begin where nothing else is asked for: a month has most of what is ever done.
fn default_from() -> String {
    "30d".to_owned()
}
