//! `review-card`: records how well an answer was remembered, and tells what to do next.

use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_contract::prelude::*;
use mcpproxy_contract::schemas::DateRange;

use super::difficulty::{AdjustDifficulty, AdjustDifficultyParams, proposed};
use super::evidence::{ENOUGH_REVIEWS, observed, quality, steady};
use super::lookup::{ReviewNextCard, ReviewNextCardParams};
use super::{about_card, caller, card_resource, deck_resource, write};
use crate::model::{CardId, Deck, Grade, Review};
use crate::store::{Grading, History, Reviewed, Store};

/// The longest answer that counts as one: whoever takes longer was elsewhere.
const LONGEST_ANSWER_MS: u32 = 3_600_000;

/// So many reviews within an hour are half of what tires everybody.
const TIRING_REVIEWS: u64 = 40;

/// What an answer takes where nobody measured any.
const UNMEASURED_ANSWER_MS: u64 = 8_000;

/// A session of half an hour is all that anybody wants to spend.
const LONG_SESSION_MS: u64 = 30 * 60 * 1_000;

/// Records a review.
pub(crate) struct ReviewCard(pub(crate) Store);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewCardParams {
    /// The card that was reviewed.
    #[garde(dive)]
    card_id: CardId,
    /// How well the answer was remembered: 1 forgotten, 2 with effort, 3 well, 4 at once.
    #[garde(skip)]
    grade: Grade,
    /// How long the answer took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(range(min = 1, max = LONGEST_ANSWER_MS))]
    answer_time_ms: Option<u32>,
}

/// What came of a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewedCard {
    /// The review as it was recorded.
    review: Review,
    /// When the card is due again.
    due_at: Timestamp,
    /// How often the card was reviewed, this time included.
    reviews: u64,
    /// How many cards of the deck are due now.
    due_in_deck: u64,
}

/// What the hints are made from.
struct Session {
    reviewed: Reviewed,
    deck: Deck,
    /// The reviews of the last hour, of all cards.
    recent: u64,
}

impl Data for ReviewedCard {}

// === impl ReviewCard ===

impl Tool for ReviewCard {
    const NAME: &'static str = "review-card";
    type Category = Mutation<Writes>;
    type Params = ReviewCardParams;
    type Output = ReviewedCard;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Records a review of a card and plans the next one",
                when: "the user has answered a card and you know how well",
                returns: "the review and when the card is due again",
                uses: &[
                    "record that an answer was forgotten",
                    "go on learning a deck",
                ],
            },
            permissions: &["reviews:create"],
            response_time: ResponseTime::Fast,
            cache: Uncached,
            idempotent: false,
            examples: vec![Example {
                description: "An answer that was remembered well, after 4.2 seconds",
                params: json!({ "cardId": "card_11", "grade": 3, "answerTimeMs": 4200 }),
                expected_result: json!({
                    "review": {
                        "reviewId": "review_18",
                        "cardId": "card_11",
                        "deckId": "deck_3",
                        "grade": 3,
                        "answerTimeMs": 4200,
                        "reviewedAt": "2026-11-17T09:30:00Z",
                        "intervalMinutes": 2880,
                    },
                    "dueAt": "2026-11-19T09:30:00Z",
                    "reviews": 2,
                    "dueInDeck": 2,
                }),
            }],
            tags: &["cards", "learning", "scheduling"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &ReviewCardParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<ReviewedCard>, ToolError> {
        let grading = Grading {
            card_id: params.card_id.clone(),
            grade: params.grade,
            answer_time_ms: params.answer_time_ms,
            by: caller(context),
        };
        let now = context.timestamp;
        let session = write(&self.0, now, move |store| {
            let reviewed = store.record(&grading)?;
            let deck = store.deck(&reviewed.card.deck_id, now)?;
            let recent = store.tally(&since_an_hour(now))?.reviews;
            Ok(Session {
                reviewed,
                deck,
                recent,
            })
        })
        .await?;
        let hints = hints_on(&session);
        let Session { reviewed, deck, .. } = session;
        let data = ReviewedCard {
            due_at: reviewed.card.due_at,
            reviews: reviewed.card.reviews,
            review: reviewed.review,
            due_in_deck: deck.due,
        };
        Ok(ToolOutput::new(data, hints))
    }
}

fn since_an_hour(now: Timestamp) -> History {
    let an_hour_ago = now.saturating_sub(Duration::from_hours(1));
    History {
        reviewed: DateRange {
            from: an_hour_ago.ok(),
            to: None,
        },
        ..History::default()
    }
}

fn hints_on(session: &Session) -> AgentHints {
    let Session { reviewed, deck, .. } = session;
    let evidence = evidence_of(reviewed);
    let fatigue = Share::of(session.recent, session.recent + TIRING_REVIEWS);
    let (kind, reason) = adjust_later(reviewed);
    let (benefit, effort) = impact_of(session);
    let hints = changed(&evidence, card_resource(&reviewed.card, Share::percent(60)))
        .relate(deck_resource(deck, Share::ALL))
        .suggest(go_on(deck, &evidence))
        .suggest(adjust(reviewed))
        .needs("user's recent performance trend")
        .assumes("User completed review attentively")
        .assumes("The intervals of this service's rule fit the user")
        .risk(RiskFactor {
            kind: RiskType::UserExperience,
            severity: Severity::Low,
            description: "User might feel fatigued".to_owned(),
            probability: fatigue,
            impact: Share::percent(10),
            mitigation: Some("Offer a break".to_owned()),
        })
        .depends::<AdjustDifficulty, ReviewNextCard>(kind, Some(&reason))
        .impact(benefit, effort, &["retention_rate", "review_accuracy"])
        .aligns::<ReviewNextCard>(
            "continuous_learning",
            1.0 - f64::from(fatigue),
            Some("The fresher the user, the better it fits to go on"),
        )
        .because(reason_for(reviewed));
    warned_of_slowness(hints, reviewed)
}

/// How much is known of the card, and whether its reviews say the same.
fn evidence_of(reviewed: &Reviewed) -> Evidence {
    let tally = &reviewed.tally;
    let same = same_as(reviewed.review.grade, tally.recalled, tally.reviews);
    let measured = 1 + u64::from(reviewed.review.answer_time_ms.is_some());
    Evidence::new(quality(tally.reviews), observed(tally.reviews))
        .and(steady(same, tally.reviews))
        .and(completeness(measured, 2).weighing(1))
}

/// How many reviews had the same outcome as this one.
fn same_as(grade: Grade, recalled: u64, reviews: u64) -> u64 {
    if grade.is_recalled() {
        recalled
    } else {
        reviews - recalled.min(reviews)
    }
}

fn go_on(deck: &Deck, evidence: &Evidence) -> Suggestion {
    let params = ReviewNextCardParams {
        deck_id: Some(deck.deck_id.clone()),
    };
    let (priority, outcome) = if deck.due > 0 {
        (Priority::High, "Continue learning momentum")
    } else {
        (Priority::Low, "Learn when the next card is due")
    };
    Suggestion::with::<ReviewNextCard>(&params)
        .priority(priority)
        .category(ActionCategory::Learning)
        .expecting(outcome)
        .confident(evidence.confidence())
}

/// To make the card count as harder or easier, if the grade speaks for it; else by as much as the
/// user thinks.
fn adjust(reviewed: &Reviewed) -> Suggestion {
    let card = &reviewed.card;
    let difficulty = proposed(card.difficulty, reviewed.review.grade);
    let suggestion = if difficulty == card.difficulty {
        Suggestion::to::<AdjustDifficulty>()
            .data(about_card(&card.card_id))
            .priority(Priority::Low)
    } else {
        Suggestion::with::<AdjustDifficulty>(&AdjustDifficultyParams {
            card_id: card.card_id.clone(),
            difficulty,
        })
    };
    suggestion
        .category(ActionCategory::Optimization)
        .expecting("Better calibrated difficulty")
        .reversible(true)
}

/// How much adjusting the card depends on going on, and why.
fn adjust_later(reviewed: &Reviewed) -> (DependencyType, String) {
    let reviews = reviewed.tally.reviews;
    if reviews < ENOUGH_REVIEWS {
        (
            DependencyType::Recommended,
            format!("Need more data points before adjustment: {reviews} of {ENOUGH_REVIEWS}"),
        )
    } else {
        (
            DependencyType::Optional,
            format!("{reviews} reviews are enough to adjust by"),
        )
    }
}

/// What going on would bring: the share of the deck that is due; what it would take: the time for
/// it, measured by a long session.
fn impact_of(session: &Session) -> (Share, Share) {
    let deck = &session.deck;
    let usual = session.reviewed.usual_time_ms;
    let each = usual.map_or(UNMEASURED_ANSWER_MS, u64::from);
    (
        Share::of(deck.due, deck.cards),
        Share::of(deck.due.saturating_mul(each), LONG_SESSION_MS),
    )
}

fn reason_for(reviewed: &Reviewed) -> String {
    let tally = &reviewed.tally;
    format!(
        "The answer was remembered in {} of {} reviews, so the card comes back after {} minutes",
        tally.recalled, tally.reviews, reviewed.review.interval_minutes
    )
}

/// Slower than usual is half as long again.
fn warned_of_slowness(hints: AgentHints, reviewed: &Reviewed) -> AgentHints {
    let (Some(took), Some(usual)) = (reviewed.review.answer_time_ms, reviewed.usual_time_ms) else {
        return hints.needs("how long answers take");
    };
    if u64::from(took) * 2 <= u64::from(usual) * 3 {
        return hints;
    }
    let message = format!("User slower than usual: {took} ms, usual in this deck are {usual} ms");
    hints.warn(HintWarning {
        related_ids: Some(vec![reviewed.card.card_id.to_string()]),
        auto_fixable: Some(false),
        ..HintWarning::new(WarningType::Performance, Severity::Low, message)
    })
}
