//! `summarize-activity`: how many records there are, by what people ask for.

use mcpproxy_activity::summary::{NamedCounts, RecordSummary};
use mcpproxy_contract::prelude::*;

use super::filters::{ActivityFilters, RecordedStatus};
use super::period::Period;
use super::tools::{ListActivity, ListActivityParams, SummarizeActivity, check_server};
use super::{READ_ACTIVITY, VERSION, failed};
use mcpproxy_gateway::records;

/// The most entries of a list; more would be read by nobody.
const MOST_ENTRIES: usize = 25;

/// Counts of records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ActivitySummary {
    /// How many records there are.
    total: u64,
    /// The share of calls that failed, among those that were made and answered.
    error_rate: f64,
    /// By what came of it.
    by_status: Vec<Tallied>,
    /// By operation.
    by_intent: Vec<Tallied>,
    /// By what kind of thing happened.
    by_type: Vec<Tallied>,
    /// By server, those with most records first.
    by_server: Vec<Tallied>,
    /// By tool, as server:tool, those with most records first.
    by_tool: Vec<Tallied>,
    /// How many servers and tools are left out, because they have fewer records than those listed.
    left_out: u64,
}

/// How often something occurs, and how it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tallied {
    /// What is counted.
    name: String,
    /// How many records.
    count: u64,
    /// How many of them worked.
    success: u64,
    /// How many failed.
    error: u64,
    /// How many were refused.
    blocked: u64,
    /// Of how many nobody saw the outcome.
    in_doubt: u64,
    /// The share that failed, among those that were made and answered.
    error_rate: f64,
}

impl Data for ActivitySummary {}

impl Tool for SummarizeActivity {
    const NAME: &'static str = "summarize-activity";
    type Category = Analysis;
    type Params = ActivityFilters;
    type Output = ActivitySummary;

    fn definition() -> Definition<Self> {
        let count = |name: &str| {
            json!({
                "name": name, "count": 4, "success": 3, "error": 1, "blocked": 0, "in_doubt": 0,
                "error_rate": 0.25,
            })
        };
        let mut definition = Definition::of(VERSION, ResponseTime::Medium, &[READ_ACTIVITY])
            .what(
                "Counts what happened at the gateway by server, tool, operation, kind and \
                 outcome, with error rates",
            )
            .when(
                "you want to know how much was called, what fails or is refused most, or how \
                 a server or an agent did over a time",
            )
            .returns("counts and error rates, the most frequent first")
            .example(
                "One week of one server",
                json!({ "server": "files", "from": "7d" }),
                json!({
                    "total": 4,
                    "error_rate": 0.25,
                    "by_status": [],
                    "by_intent": [count("read")],
                    "by_type": [count("tool_call")],
                    "by_server": [count("files")],
                    "by_tool": [count("files:read_file")],
                    "left_out": 0,
                }),
            )
            .tagged(&["activity", "log", "statistics", "errors"]);
        definition.description.uses = &[
            "which tools fail most this week",
            "how many calls were refused today",
        ];
        definition
    }

    async fn call(
        &self,
        params: &ActivityFilters,
        context: &ToolContext,
    ) -> Result<ToolOutput<ActivitySummary>, ToolError> {
        let parts = self.0.running(context)?;
        let filter = records::parse_filter(&params.to_pairs(), parts.caller.record_scope())
            .map_err(failed)?;
        let summary = parts.records.archive().summary(&filter).await;
        let summary = summary.map_err(failed)?;
        let total = summary.total;
        let in_doubt: u64 = summary.by_status.iter().map(|one| one.in_doubt).sum();
        let period = Period::of(&parts, filter.from, filter.to).await?;
        let known = completeness(total - in_doubt, total);
        let evidence = Evidence::new(parts.log_quality(), known).and(period.coverage());
        let summary = shown(&summary);
        let hints = AgentHints::new(&evidence, ValidityPeriod::Short)
            .because(format!("Counted {total} records"))
            .assumes("Every call went through this gateway");
        let hints = suggested(parts.warned_of_log(hints), params, &summary);
        Ok(ToolOutput::new(summary, hints))
    }
}

fn shown(summary: &RecordSummary) -> ActivitySummary {
    let list = |counted: &[NamedCounts]| counted.iter().take(MOST_ENTRIES).map(count).collect();
    let beyond = |counted: &[NamedCounts]| counted.len().saturating_sub(MOST_ENTRIES) as u64;
    // Only calls can fail at a server; each has an operation.
    let sum = |of: fn(&NamedCounts) -> u64| summary.by_intent.iter().map(of).sum();
    ActivitySummary {
        total: summary.total,
        error_rate: error_rate(sum(|one| one.success), sum(|one| one.error)),
        by_status: list(&summary.by_status),
        by_intent: list(&summary.by_intent),
        by_type: list(&summary.by_type),
        by_server: list(&summary.by_server),
        by_tool: list(&summary.by_tool),
        left_out: beyond(&summary.by_server) + beyond(&summary.by_tool),
    }
}

fn count(counted: &NamedCounts) -> Tallied {
    Tallied {
        name: counted.name.clone(),
        count: counted.count,
        success: counted.success,
        error: counted.error,
        blocked: counted.blocked,
        in_doubt: counted.in_doubt,
        error_rate: error_rate(counted.success, counted.error),
    }
}

/// Share of calls that failed, in thousandths; none where nothing was answered.
pub(super) fn error_rate(success: u64, error: u64) -> f64 {
    let answered = success.saturating_add(error);
    if answered == 0 {
        return 0.0;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "it is rounded to thousandths right after"
    )]
    let rate = error as f64 / answered as f64;
    (rate * 1_000.0).round() / 1_000.0
}

/// Looks into what fails, and into what is refused.
fn suggested(
    mut hints: AgentHints,
    params: &ActivityFilters,
    summary: &ActivitySummary,
) -> AgentHints {
    if summary.total == 0 {
        return hints.needs("whether the conditions are too narrow");
    }
    let failing = summary.by_server.iter().filter(|one| one.error > 0);
    if let Some(worst) = failing.max_by(|left, right| left.error_rate.total_cmp(&right.error_rate))
    {
        let (name, error) = (&worst.name, worst.error);
        let why = format!("See whether '{name}' is well: {error} of its calls failed");
        hints = hints.suggest(check_server(name, why));
    }
    let sum = |of: fn(&Tallied) -> u64| summary.by_status.iter().map(of).sum::<u64>();
    let (failed, refused) = (sum(|one| one.error), sum(|one| one.blocked));
    for (status, count, word) in [
        (RecordedStatus::Error, failed, "failed"),
        (RecordedStatus::Blocked, refused, "were refused"),
    ] {
        if count > 0 {
            let filters = ActivityFilters {
                status: Some(status),
                ..params.clone()
            };
            hints = hints.suggest(
                Suggestion::with::<ListActivity>(&ListActivityParams::of(filters))
                    .described(format!("Read the {count} records of what {word}"))
                    .category(ActionCategory::Exploration),
            );
        }
    }
    hints
}
