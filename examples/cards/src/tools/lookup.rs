//! One card: by its id, or the next one that is due.

use jiff::Timestamp;
use mcpproxy_contract::prelude::*;

use super::edit::{CreateCard, UpdateCard};
use super::evidence::{last_reviewed, observed, quality, written};
use super::forecast::{ForecastWorkload, ForecastWorkloadParams};
use super::review::ReviewCard;
use super::{about_card, card_resource, deck_resource, read, samples};
use crate::model::{Card, CardId, Deck, DeckId, Difficulty};
use crate::store::{History, StoreReader, Tally};

/// Reads one card.
pub(crate) struct GetCard(pub(crate) StoreReader);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetCardParams {
    /// The card to read.
    #[garde(dive)]
    pub(crate) card_id: CardId,
}

/// Tells which card to review next.
pub(crate) struct ReviewNextCard(pub(crate) StoreReader);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewNextCardParams {
    /// Only cards of this deck; of all decks if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    pub(crate) deck_id: Option<DeckId>,
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextCard {
    /// How many cards are due, this one included.
    due: u64,
    /// The one that has been due for longest; absent if none is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    card: Option<Question>,
    /// When the next card will be due that is not yet; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_due_at: Option<Timestamp>,
}

/// A card without its answer, so that it can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Question {
    /// The card.
    card_id: CardId,
    /// The deck it is in.
    deck_id: DeckId,
    /// The question.
    front: String,
    /// How hard it is.
    difficulty: Difficulty,
    /// Since when it is due.
    due_at: Timestamp,
    /// How often it was reviewed.
    reviews: u64,
}

impl Data for NextCard {}

// === impl GetCard ===

impl Tool for GetCard {
    const NAME: &'static str = "get-card";
    type Category = Query;
    type Params = GetCardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Retrieves a card by its id",
                when: "you know which card you want and need its content",
                returns: "the card with both sides, its tags, and when it is due",
                uses: &[
                    "show the answer of a card",
                    "read a card before changing it",
                ],
            },
            permissions: &["cards:read"],
            response_time: ResponseTime::Fast,
            cache: Some(Ttl::seconds::<3600>()),
            idempotent: true,
            examples: vec![Example {
                description: "Get a card by its id",
                params: json!({ "cardId": "card_11" }),
                expected_result: samples::card(),
            }],
            tags: &["cards", "content"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &GetCardParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Card>, ToolError> {
        let (id, now) = (params.card_id.clone(), context.timestamp);
        let (card, deck) = read(&self.0, move |store| {
            let card = store.card(&id)?;
            let deck = store.deck(&card.deck_id, now)?;
            Ok((card, deck))
        })
        .await?;
        let hints = hints_on(&card, &deck, now);
        Ok(ToolOutput::new(card, hints))
    }
}

fn hints_on(card: &Card, deck: &Deck, now: Timestamp) -> AgentHints {
    let evidence = written(card, now);
    let (priority, why) = if card.due_at <= now {
        (Priority::High, "The card is due")
    } else {
        (
            Priority::Low,
            "The card is not due yet, but can be reviewed",
        )
    };
    let mut hints = found(&evidence, &format!("card '{}'", card.label()))
        .relate(deck_resource(deck, Share::ALL))
        .suggest(
            Suggestion::to::<ReviewCard>()
                .data(about_card(&card.card_id))
                .priority(priority)
                .category(ActionCategory::Learning)
                .described(why),
        );
    if card.explanation.is_none() {
        hints = hints.needs("why the answer is right").suggest(
            Suggestion::to::<UpdateCard>()
                .data(about_card(&card.card_id))
                .priority(Priority::Low)
                .category(ActionCategory::Correction)
                .described("The card has no explanation")
                .reversible(true),
        );
    }
    hints
}

// === impl ReviewNextCard ===

impl Tool for ReviewNextCard {
    const NAME: &'static str = "review-next-card";
    type Category = Query;
    type Params = ReviewNextCardParams;
    type Output = NextCard;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Tells which card to review next, without its answer",
                when: "somebody wants to learn, or goes on after a review",
                returns: "the card that has been due for longest and how many are due; if none \
                          is, when the next one will be",
                uses: &["begin to learn", "ask the next question"],
            },
            permissions: &["cards:read"],
            response_time: ResponseTime::Fast,
            // What is due changes with the time alone.
            cache: None,
            idempotent: true,
            examples: vec![Example {
                description: "The next card of a deck",
                params: json!({ "deckId": "deck_3" }),
                expected_result: json!({
                    "due": 3,
                    "card": {
                        "cardId": "card_10",
                        "deckId": "deck_3",
                        "front": "12 × 12",
                        "difficulty": 3,
                        "dueAt": "2026-11-14T09:30:00Z",
                        "reviews": 1,
                    },
                    "nextDueAt": "2026-11-26T09:30:00Z",
                }),
            }],
            tags: &["cards", "learning", "scheduling"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &ReviewNextCardParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<NextCard>, ToolError> {
        let (deck_id, now) = (params.deck_id.clone(), context.timestamp);
        let (card, times, tally) = read(&self.0, move |store| {
            if let Some(deck) = &deck_id {
                store.deck(deck, now)?;
            }
            let card = store.next_due(deck_id.as_ref(), now)?;
            // Of the card, or of all cards that are not due.
            let history = match (&card, &deck_id) {
                (Some(card), _) => History::of_card(&card.card_id),
                (None, Some(deck)) => History::of_deck(deck, DateRange::default()),
                (None, None) => History::default(),
            };
            let tally = store.tally(&history)?;
            Ok((card, store.due_times(deck_id.as_ref())?, tally))
        })
        .await?;
        let due = times.iter().filter(|time| **time <= now).count() as u64;
        let next = NextCard {
            due,
            next_due_at: times.iter().find(|time| **time > now).copied(),
            card: card.as_ref().map(Question::of),
        };
        let hints = match &card {
            Some(card) => hints_on_due(card, &tally, due, now),
            None => hints_on_nothing_due(&next, &tally, params, now),
        };
        Ok(ToolOutput::new(next, hints))
    }
}

fn hints_on_due(card: &Card, tally: &Tally, due: u64, now: Timestamp) -> AgentHints {
    let evidence = Evidence::new(quality(tally.reviews), observed(tally.reviews))
        .and(last_reviewed(tally, now));
    let params = GetCardParams {
        card_id: card.card_id.clone(),
    };
    found(
        &evidence,
        &format!("{due} cards that are due, this one for longest"),
    )
    .relate(card_resource(card, Share::ALL))
    .assumes("The user has time for a question now")
    .suggest(
        Suggestion::to::<ReviewCard>()
            .data(about_card(&card.card_id))
            .priority(Priority::High)
            .category(ActionCategory::Learning)
            .described("Ask the question, then record how well the answer was remembered")
            .expecting("The next review is planned"),
    )
    .suggest(
        Suggestion::with::<GetCard>(&params)
            .category(ActionCategory::Learning)
            .described("Show the answer after the user has given theirs"),
    )
}

fn hints_on_nothing_due(
    next: &NextCard,
    tally: &Tally,
    params: &ReviewNextCardParams,
    now: Timestamp,
) -> AgentHints {
    // When cards are due follows from their reviews; without any, nobody can tell anything.
    let evidence = Evidence::new(quality(tally.reviews), observed(tally.reviews))
        .and(last_reviewed(tally, now));
    let hints = AgentHints::new(&evidence, ValidityPeriod::Short);
    if next.next_due_at.is_none() {
        return hints.because("There are no cards here yet").suggest(
            Suggestion::to::<CreateCard>()
                .priority(Priority::High)
                .described("Write a card to learn"),
        );
    }
    let forecast = ForecastWorkloadParams {
        deck_id: params.deck_id.clone(),
        ..ForecastWorkloadParams::default()
    };
    hints.because("No card is due now").suggest(
        Suggestion::with::<ForecastWorkload>(&forecast)
            .category(ActionCategory::Exploration)
            .described("See what the next days bring"),
    )
}

// === impl Question ===

impl Question {
    fn of(card: &Card) -> Self {
        Self {
            card_id: card.card_id.clone(),
            deck_id: card.deck_id.clone(),
            front: card.front.clone(),
            difficulty: card.difficulty,
            due_at: card.due_at,
            reviews: card.reviews,
        }
    }
}
