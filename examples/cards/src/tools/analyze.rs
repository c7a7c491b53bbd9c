//! `analyze-deck`: what the reviews of a deck add up to.

use jiff::Timestamp;
use mcpproxy_contract::prelude::*;
use mcpproxy_contract::schemas::DateRange;

use super::difficulty::{AdjustDifficulty, AdjustDifficultyParams, proposed};
use super::evidence::{last_reviewed, observed, quality};
use super::lookup::{ReviewNextCard, ReviewNextCardParams};
use super::{card_resource, deck_resource, read};
use crate::model::{Card, CardId, Deck, DeckId, Grade};
use crate::store::{History, StoreReader, Tally};

/// How many of the hardest cards are named.
const MOST_HARDEST: u32 = 5;

/// Below this accuracy, learning more of the same does not help much.
const POOR_PERCENT: u64 = 60;

/// Analyses a deck.
pub(crate) struct AnalyzeDeck(pub(crate) StoreReader);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnalyzeDeckParams {
    /// The deck to analyse.
    #[garde(dive)]
    pub(crate) deck_id: DeckId,
    /// Only reviews within this range count; all if left out.
    #[serde(flatten)]
    #[garde(dive)]
    pub(crate) reviewed: DateRange,
}

/// What the reviews of a deck add up to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeckAnalysis {
    /// The deck.
    deck_id: DeckId,
    /// Its name.
    name: String,
    /// How many cards it has.
    cards: u64,
    /// How many of them were reviewed.
    reviewed_cards: u64,
    /// How many reviews there were.
    reviews: u64,
    /// The share of reviews in which the answer was remembered, 0 to 1; absent without reviews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    /// The same for reviews a day or more after the card was known: what really stayed. Absent
    /// without such reviews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retention: Option<f64>,
    /// The cards that were forgotten most, the worst first.
    hardest: Vec<HardCard>,
}

/// A card that was forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HardCard {
    /// The card.
    card_id: CardId,
    /// The question.
    front: String,
    /// How often the answer was forgotten.
    forgotten: u64,
    /// In how many reviews.
    reviews: u64,
}

impl Data for DeckAnalysis {}

// === impl AnalyzeDeck ===

impl Tool for AnalyzeDeck {
    const NAME: &'static str = "analyze-deck";
    type Category = Analysis;
    type Params = AnalyzeDeckParams;
    type Output = DeckAnalysis;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Analyses the reviews of a deck: accuracy, retention and the hardest cards",
                when: "you want to know how well a deck is learnt, or what to work on",
                returns: "shares of remembered answers and the cards that were forgotten most",
                uses: &["report on last week", "find cards to rewrite"],
            },
            permissions: &["decks:read", "reviews:read"],
            response_time: ResponseTime::Medium,
            cache: Some(Ttl::minutes::<5>()),
            idempotent: true,
            examples: vec![Example {
                description: "All reviews of a deck",
                params: json!({ "deckId": "deck_3" }),
                expected_result: json!({
                    "deckId": "deck_3",
                    "name": "Arithmetic",
                    "cards": 4,
                    "reviewedCards": 3,
                    "reviews": 6,
                    "accuracy": 0.833,
                    "retention": 1.0,
                    "hardest": [
                        { "cardId": "card_9", "front": "7 × 8", "forgotten": 1, "reviews": 4 },
                    ],
                }),
            }],
            tags: &["decks", "analytics", "learning"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &AnalyzeDeckParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<DeckAnalysis>, ToolError> {
        let (id, now) = (params.deck_id.clone(), context.timestamp);
        let history = History::of_deck(&id, params.reviewed);
        let (deck, tally, hardest) = read(&self.0, move |store| {
            let deck = store.deck(&id, now)?;
            let hardest = store.hardest(&history, MOST_HARDEST)?;
            Ok((deck, store.tally(&history)?, hardest))
        })
        .await?;
        let hints = hints_on(&deck, &tally, &hardest, now);
        let analysis = DeckAnalysis {
            deck_id: deck.deck_id,
            name: deck.name,
            cards: deck.cards,
            reviewed_cards: tally.cards,
            reviews: tally.reviews,
            accuracy: share(tally.recalled, tally.reviews),
            retention: share(tally.of_learnt_recalled, tally.of_learnt),
            hardest: hardest.into_iter().map(HardCard::of).collect(),
        };
        Ok(ToolOutput::new(analysis, hints))
    }
}

/// A share of nothing is none, and not zero.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| f64::from(Share::of(part, whole)))
}

/// How sure the analysis is: how many cards were reviewed at all, how often, and how long ago.
fn hints_on(
    deck: &Deck,
    tally: &Tally,
    hardest: &[(Card, u64, u64)],
    now: Timestamp,
) -> AgentHints {
    let evidence = Evidence::new(quality(tally.reviews), coverage(tally.cards, deck.cards))
        .and(observed(tally.reviews))
        .and(last_reviewed(tally, now));
    let mut hints = found(
        &evidence,
        &format!("{} reviews of {} cards", tally.reviews, tally.cards),
    )
    .relate(deck_resource(deck, Share::ALL));
    for (card, forgotten, reviews) in hardest {
        hints = hints.relate(card_resource(card, Share::of(*forgotten, *reviews)));
    }
    if let Some((card, ..)) = hardest.first() {
        hints = hints.suggest(harder(card));
    }
    if tally.cards < deck.cards {
        let unseen = deck.cards - tally.cards;
        let params = ReviewNextCardParams {
            deck_id: Some(deck.deck_id.clone()),
        };
        hints = hints
            .needs(format!("reviews of the other {unseen} cards"))
            .suggest(
                Suggestion::with::<ReviewNextCard>(&params)
                    .category(ActionCategory::Learning)
                    .expecting("The analysis rests on more reviews"),
            );
    }
    if tally.recalled * 100 < tally.reviews * POOR_PERCENT {
        let message =
            "Less is remembered than forgotten soon again; the cards may ask for too much";
        let fix = "split the hardest cards or explain them with update-card";
        hints = hints.warn(HintWarning {
            related_ids: Some(vec![deck.deck_id.to_string()]),
            suggested_fix: Some(fix.to_owned()),
            auto_fixable: Some(false),
            ..HintWarning::new(WarningType::Performance, Severity::Medium, message)
        });
    }
    hints
}

fn harder(card: &Card) -> Suggestion {
    let params = AdjustDifficultyParams {
        card_id: card.card_id.clone(),
        difficulty: proposed(card.difficulty, Grade::FORGOTTEN),
    };
    Suggestion::with::<AdjustDifficulty>(&params)
        .category(ActionCategory::Optimization)
        .described("Let the card that was forgotten most come back sooner")
        .reversible(true)
}

// === impl HardCard ===

impl HardCard {
    fn of((card, forgotten, reviews): (Card, u64, u64)) -> Self {
        Self {
            card_id: card.card_id,
            front: card.front,
            forgotten,
            reviews,
        }
    }
}
