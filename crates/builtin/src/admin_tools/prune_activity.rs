//! `prune-activity`: removes old records of the log for good.

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use mcpproxy_activity::Filter;
use mcpproxy_contract::prelude::*;
use mcpproxy_gateway::{Code, Failure};
use mcpproxy_policy::RecordScope;

use super::filters::ActivityFilters;
use super::tools::{PruneActivity, SummarizeActivity};
use super::{PRUNE_ACTIVITY, VERSION, failed};

/// Which records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PruneActivityParams {
    /// Records from before this moment are removed: a time such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31 (UTC). It lies in the past.
    #[garde(length(chars, min = 10, max = 40))]
    older_than: String,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pruned {
    /// How many records were removed.
    removed: u64,
    /// How many are left.
    remaining: u64,
    /// The moment before which they were made.
    older_than: String,
}

impl Data for Pruned {}

impl Tool for PruneActivity {
    const NAME: &'static str = "prune-activity";
    type Category = Mutation<Destroys>;
    type Params = PruneActivityParams;
    type Output = Pruned;

    fn definition() -> Definition<Self> {
        let mut definition = Definition::of(VERSION, ResponseTime::Slow, &[PRUNE_ACTIVITY])
            .what(
                "Removes activity records that are older than a date, for good; what is left \
                 can still be verified, because a checkpoint says how far was cut",
            )
            .when("a person asks to delete old activity before its retention ends")
            .returns("how many records were removed and how many are left")
            .example(
                "Everything from before a date",
                json!({ "olderThan": "2026-01-01" }),
                json!({
                    "removed": 1200,
                    "remaining": 345,
                    "older_than": "2026-01-01T00:00:00Z",
                }),
            )
            .tagged(&["activity", "log", "retention", "administration"]);
        definition.description.uses = &["delete the activity of last year"];
        definition.idempotent = true;
        definition
    }

    async fn call(
        &self,
        params: &PruneActivityParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Pruned>, ToolError> {
        let parts = self.0.running(context)?;
        if parts.caller.record_scope() != RecordScope::All {
            let message = "The token sees its own records alone, and this removes those of others and counts them: a person \
                           can make one with --activity all, or remove them with `mcpproxy activity prune`";
            return Err(failed(Failure::new(Code::Forbidden, message)));
        }
        let moment = past(&params.older_than, Timestamp::now())?;
        let removed = parts.records.prune_before(moment).await;
        let removed = removed.map_err(|error| ToolError::unavailable("The activity log", error))?;
        let archive = parts.records.archive();
        let remaining = archive.count(&Filter::default()).await.map_err(failed)?;
        let older = Filter {
            to: Some(moment),
            ..Filter::default()
        };
        let left = archive.count(&older).await.map_err(failed)?;
        let pruned = Pruned {
            removed,
            remaining,
            older_than: moment.to_string(),
        };
        let hints = parts.warned_of_log(hints(parts.log_quality(), &pruned, left));
        Ok(ToolOutput::new(pruned, hints))
    }
}

/// A moment that lies in the past.
fn past(text: &str, now: Timestamp) -> Result<Timestamp, ToolError> {
    let date = || {
        let date: civil::Date = text.parse().ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let moment = text.parse().ok().or_else(date).ok_or_else(|| {
        ToolError::invalid_parameter(
            "/olderThan",
            "must be a time such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31",
        )
    })?;
    if moment > now {
        return Err(ToolError::invalid_parameter(
            "/olderThan",
            format!("{moment} lies in the future, name a moment in the past"),
        ));
    }
    Ok(moment)
}

/// Hints with how sure it is that the old records are gone: it was counted how many of them are left.
fn hints(quality: SourceQuality, pruned: &Pruned, left: u64) -> AgentHints {
    let evidence = Evidence::new(quality, completeness(pruned.removed, pruned.removed + left));
    let summary = Suggestion::with::<SummarizeActivity>(&ActivityFilters::default())
        .priority(Priority::Low)
        .described("See what is left");
    if pruned.removed == 0 {
        return AgentHints::new(&evidence, ValidityPeriod::Short)
            .because(format!("No record is older than {}", pruned.older_than))
            .suggest(summary);
    }
    let label = format!(
        "{} records from before {}",
        pruned.removed, pruned.older_than
    );
    let resource = RelatedResource::new("activity", "records", label, Share::ALL);
    deleted(&evidence, resource)
        .constrained("Removed records cannot be brought back; the checkpoint of the removal stays in the log")
        .suggest(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_moment_of_the_past_is_taken() {
        let now: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        let check = |text: &str, expected: Option<&str>| {
            let read = past(text, now).ok().map(|moment| moment.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check("2026-05-31", Some("2026-05-31T00:00:00Z"));
        check("2026-05-31T12:00:00+02:00", Some("2026-05-31T10:00:00Z"));
        check("2026-06-02", None);
        check("2026-13-01", None);
        check("yesterday!", None);
    }

    #[test]
    fn a_removal_was_always_sure_whatever_was_left() {
        let confidence = |removed, left| {
            let pruned = Pruned {
                removed,
                remaining: 100,
                older_than: "2026-01-01T00:00:00Z".to_owned(),
            };
            let hints = hints(SourceQuality::High, &pruned, left);
            hints.confidence().value()
        };
        assert!((confidence(12, 0) - 1.0).abs() < f64::EPSILON);
        assert!(confidence(12, 4) < confidence(12, 1));
        assert!(confidence(0, 4) < confidence(12, 4));
    }
}
