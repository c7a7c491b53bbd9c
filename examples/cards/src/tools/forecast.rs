//! `forecast-workload`: how many cards the next days bring.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mcpproxy_contract::prelude::*;

use super::evidence::{last_reviewed, observed};
use super::lookup::{ReviewNextCard, ReviewNextCardParams};
use super::read;
use crate::model::DeckId;
use crate::store::{History, StoreReader, Tally};

/// A week, and at most two months: beyond that, each review changes everything.
const DEFAULT_DAYS: u8 = 7;
const MOST_DAYS: u8 = 60;

/// More cards than this on one day are work.
const BUSY_DAY: u64 = 50;

/// Forecasts the reviews of the next days.
pub(crate) struct ForecastWorkload(pub(crate) StoreReader);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForecastWorkloadParams {
    /// Only cards of this deck; of all decks if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    pub(crate) deck_id: Option<DeckId>,
    /// How many days, today included.
    #[serde(default = "default_days")]
    #[garde(range(min = 1, max = MOST_DAYS))]
    pub(crate) days: u8,
}

/// What the next days bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Workload {
    /// How many cards are due now; they are part of the first day.
    due_now: u64,
    /// Each day (UTC) with the cards that become due on it.
    days: Vec<DayLoad>,
    /// How many cards become due after these days.
    later: u64,
}

/// What a day brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DayLoad {
    /// The day.
    date: Date,
    /// How many cards become due.
    due: u64,
}

impl Data for Workload {}

// === impl ForecastWorkload ===

impl Tool for ForecastWorkload {
    const NAME: &'static str = "forecast-workload";
    type Category = Analysis;
    type Params = ForecastWorkloadParams;
    type Output = Workload;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Forecasts how many cards become due on each of the next days",
                when: "somebody plans when to learn, or asks how much there is to do",
                returns: "the number of cards for each day, and how many are due now",
                uses: &["plan the week", "find a day for a long session"],
            },
            permissions: &["cards:read"],
            response_time: ResponseTime::Medium,
            // What is due changes with the time alone.
            cache: None,
            idempotent: true,
            examples: vec![Example {
                description: "Two days of a deck",
                params: json!({ "deckId": "deck_3", "days": 2 }),
                expected_result: json!({
                    "dueNow": 3,
                    "days": [
                        { "date": "2026-11-17", "due": 3 },
                        { "date": "2026-11-18", "due": 0 },
                    ],
                    "later": 1,
                }),
            }],
            tags: &["cards", "analytics", "scheduling"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &ForecastWorkloadParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Workload>, ToolError> {
        let (deck_id, now) = (params.deck_id.clone(), context.timestamp);
        let (times, tally) = read(&self.0, move |store| {
            if let Some(deck) = &deck_id {
                store.deck(deck, now)?;
            }
            let history = History {
                deck_id: deck_id.clone(),
                ..History::default()
            };
            Ok((store.due_times(deck_id.as_ref())?, store.tally(&history)?))
        })
        .await?;
        let workload = workload(&times, now, params.days);
        let hints = hints_on(&workload, times.len() as u64, &tally, now, params);
        Ok(ToolOutput::new(workload, hints))
    }
}

/// The due cards by day; what is overdue counts as today.
fn workload(times: &[Timestamp], now: Timestamp, days: u8) -> Workload {
    let day_of = |moment: Timestamp| moment.to_zoned(TimeZone::UTC).date();
    let dates: Vec<Date> = day_of(now)
        .series(jiff::Span::new().days(1))
        .take(usize::from(days))
        .collect();
    let due_on = |date: &Date| {
        let due = times
            .iter()
            .filter(|time| day_of((**time).max(now)) == *date);
        due.count() as u64
    };
    let days: Vec<DayLoad> = dates
        .iter()
        .map(|date| DayLoad {
            date: *date,
            due: due_on(date),
        })
        .collect();
    let listed: u64 = days.iter().map(|day| day.due).sum();
    Workload {
        due_now: times.iter().filter(|time| **time <= now).count() as u64,
        later: (times.len() as u64).saturating_sub(listed),
        days,
    }
}

/// How sure the forecast is: how many cards have been reviewed, so that their dates mean something,
/// and how lately.
fn hints_on(
    workload: &Workload,
    cards: u64,
    tally: &Tally,
    now: Timestamp,
    params: &ForecastWorkloadParams,
) -> AgentHints {
    // A forecast is never more than generally right: every review moves a date.
    let evidence = Evidence::new(SourceQuality::Medium, observed(tally.reviews))
        .and(coverage(tally.cards + 1, cards + 1))
        .and(last_reviewed(tally, now));
    let mut hints = AgentHints::new(&evidence, ValidityPeriod::Long)
        .because(format!("{cards} cards have a date"))
        .assumes("Cards are reviewed on the day they are due")
        .assumes("No cards are added")
        .needs("on which days the user wants to learn");
    if workload.due_now > 0 {
        let go_on = ReviewNextCardParams {
            deck_id: params.deck_id.clone(),
        };
        hints = hints.suggest(
            Suggestion::with::<ReviewNextCard>(&go_on)
                .priority(Priority::High)
                .category(ActionCategory::Learning)
                .described(format!("{} cards are due now", workload.due_now)),
        );
    }
    let busiest = workload.days.iter().max_by_key(|day| day.due);
    if let Some(day) = busiest.filter(|day| day.due > BUSY_DAY) {
        hints = hints.risk(RiskFactor {
            kind: RiskType::UserExperience,
            severity: Severity::Medium,
            description: format!(
                "{} brings {} cards, which may be too many",
                day.date, day.due
            ),
            probability: Share::of(day.due, day.due + BUSY_DAY),
            impact: Share::of(day.due, cards),
            mitigation: Some("Review some of them ahead of time".to_owned()),
        });
    }
    hints
}

// === impl ForecastWorkloadParams ===

impl Default for ForecastWorkloadParams {
    fn default() -> Self {
        Self {
            deck_id: None,
            days: DEFAULT_DAYS,
        }
    }
}

fn default_days() -> u8 {
    DEFAULT_DAYS
}
