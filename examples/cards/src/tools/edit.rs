//! Writing, changing and deleting cards.

use mcpproxy_contract::prelude::*;

use super::evidence::written;
use super::lookup::{GetCard, GetCardParams};
use super::patterns::{NOT_BLANK, TRIMMED};
use super::search::SearchCards;
use super::{about_card, caller, card_resource, deck_resource, samples, write};
use crate::model::{Card, CardId, DeckId, Difficulty};
use crate::store::{CardChanges, LONGEST_TEXT, NewCard, Store};

/// The most tags of a card.
const MOST_TAGS: usize = 10;
/// The most characters of a tag.
const LONGEST_TAG: usize = 40;

/// Writes a card.
pub(crate) struct CreateCard(pub(crate) Store);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateCardParams {
    /// The deck the card belongs into.
    #[garde(dive)]
    deck_id: DeckId,
    /// The question.
    #[garde(length(chars, min = 1, max = LONGEST_TEXT), pattern(NOT_BLANK))]
    front: String,
    /// The answer.
    #[garde(length(chars, min = 1, max = LONGEST_TEXT), pattern(NOT_BLANK))]
    back: String,
    /// Why the answer is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = LONGEST_TEXT), pattern(NOT_BLANK))]
    explanation: Option<String>,
    /// Words to find the card by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[garde(
        length(max = MOST_TAGS),
        inner(length(chars, min = 1, max = LONGEST_TAG), pattern(TRIMMED))
    )]
    tags: Vec<String>,
    /// How hard the card is, 1 to 5; 3 if left out.
    #[serde(default)]
    #[garde(skip)]
    difficulty: Difficulty,
}

/// Changes a card.
pub(crate) struct UpdateCard(pub(crate) Store);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdateCardParams {
    /// The card to change.
    #[garde(dive)]
    card_id: CardId,
    /// The new question; stays if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = LONGEST_TEXT), pattern(NOT_BLANK))]
    front: Option<String>,
    /// The new answer; stays if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = LONGEST_TEXT), pattern(NOT_BLANK))]
    back: Option<String>,
    /// The new explanation; stays if left out, and is taken away by an empty text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, max = LONGEST_TEXT))]
    explanation: Option<String>,
    /// All tags the card is to have; they stay if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(
        length(max = MOST_TAGS),
        inner(inner(length(chars, min = 1, max = LONGEST_TAG), pattern(TRIMMED)))
    )]
    tags: Option<Vec<String>>,
    /// The version that was read; the change is refused if the card has another by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(range(min = 1))]
    version: Option<u64>,
}

/// Deletes a card.
pub(crate) struct DeleteCard(pub(crate) Store);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeleteCardParams {
    /// The card to delete.
    #[garde(dive)]
    card_id: CardId,
}

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeletedCard {
    /// The card as it was.
    card: Card,
    /// How many reviews went with it.
    reviews: u64,
}

impl Data for DeletedCard {}

// === impl CreateCard ===

impl Tool for CreateCard {
    const NAME: &'static str = "create-card";
    type Category = Mutation<Writes>;
    type Params = CreateCardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Creates a card in a deck; it is due at once",
                when: "there is something new to learn",
                returns: "the card with its id",
                uses: &["keep a fact from a conversation as a card"],
            },
            permissions: &["cards:create"],
            response_time: ResponseTime::Fast,
            cache: Uncached,
            idempotent: false,
            examples: vec![Example {
                description: "A card with an explanation",
                params: json!({
                    "deckId": "deck_3",
                    "front": "What is 2 to the power of 10?",
                    "back": "1024",
                    "explanation": "32 times 32",
                    "tags": ["powers"],
                }),
                expected_result: json!({
                    "cardId": "card_13",
                    "deckId": "deck_3",
                    "front": "What is 2 to the power of 10?",
                    "back": "1024",
                    "explanation": "32 times 32",
                    "tags": ["powers"],
                    "difficulty": 3,
                    "dueAt": "2026-11-17T09:30:00Z",
                    "intervalMinutes": 0,
                    "reviews": 0,
                    "metadata": {
                        "createdAt": "2026-11-17T09:30:00Z",
                        "updatedAt": "2026-11-17T09:30:00Z",
                        "version": 1,
                    },
                }),
            }],
            tags: &["cards", "content"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &CreateCardParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Card>, ToolError> {
        let new = NewCard {
            deck_id: params.deck_id.clone(),
            front: params.front.clone(),
            back: params.back.clone(),
            explanation: params.explanation.clone(),
            tags: params.tags.clone(),
            difficulty: params.difficulty,
            by: caller(context),
        };
        let now = context.timestamp;
        let (card, deck, twins) = write(&self.0, now, move |store| {
            let card = store.create_card(&new)?;
            let deck = store.deck(&card.deck_id, now)?;
            let twins = store.twins(&card)?;
            Ok((card, deck, twins))
        })
        .await?;
        let read = GetCardParams {
            card_id: card.card_id.clone(),
        };
        let hints = created(&written(&card, now), card_resource(&card, Share::ALL))
            .relate(deck_resource(&deck, Share::percent(50)))
            .suggest(
                Suggestion::with::<GetCard>(&read)
                    .priority(Priority::Low)
                    .described("Read the card as it was kept"),
            );
        let hints = warned_of_twins(hints, &twins);
        Ok(ToolOutput::new(card, hints))
    }
}

/// The same question twice in a deck is rarely meant, but sometimes it is.
fn warned_of_twins(hints: AgentHints, twins: &[CardId]) -> AgentHints {
    let Some(first) = twins.first() else {
        return hints;
    };
    let message = "The deck has a card with the same question already";
    let fix = "delete one of them with delete-card, or ask differently with update-card";
    let warning = HintWarning {
        related_ids: Some(twins.iter().map(CardId::to_string).collect()),
        suggested_fix: Some(fix.to_owned()),
        auto_fixable: Some(false),
        ..HintWarning::new(WarningType::Duplicate, Severity::Medium, message)
    };
    hints.warn(warning).suggest(
        Suggestion::to::<UpdateCard>()
            .data(about_card(first))
            .category(ActionCategory::Correction)
            .described("Change the card that was there before"),
    )
}

// === impl UpdateCard ===

impl Tool for UpdateCard {
    const NAME: &'static str = "update-card";
    type Category = Mutation<Writes>;
    type Params = UpdateCardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Changes the texts or tags of a card; what is left out stays as it is",
                when: "a card is wrong, unclear or incomplete",
                returns: "the card as it is now",
                uses: &["correct an answer", "add an explanation"],
            },
            permissions: &["cards:update"],
            response_time: ResponseTime::Fast,
            cache: Uncached,
            // The same change made again changes nothing, and leaves the version as it is.
            idempotent: true,
            examples: vec![Example {
                description: "Add an explanation",
                params: json!({
                    "cardId": "card_11",
                    "explanation": "10 percent is 8, 5 percent is half of that",
                }),
                expected_result: samples::card(),
            }],
            tags: &["cards", "content"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &UpdateCardParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Card>, ToolError> {
        let changes = CardChanges {
            front: params.front.clone(),
            back: params.back.clone(),
            explanation: params.explanation.clone(),
            tags: params.tags.clone(),
            difficulty: None,
            version: params.version,
            by: caller(context),
        };
        if !changes.any() {
            return Err(ToolError::invalid_parameter(
                "",
                "name at least one of front, back, explanation and tags to change",
            ));
        }
        let (id, now) = (params.card_id.clone(), context.timestamp);
        let (card, twins) = write(&self.0, now, move |store| {
            let card = store.update_card(&id, &changes)?;
            let twins = store.twins(&card)?;
            Ok((card, twins))
        })
        .await?;
        let read = GetCardParams {
            card_id: card.card_id.clone(),
        };
        let hints = changed(&written(&card, now), card_resource(&card, Share::ALL)).suggest(
            Suggestion::with::<GetCard>(&read)
                .priority(Priority::Low)
                .described("Read the card as it was kept"),
        );
        let hints = warned_of_twins(hints, &twins);
        Ok(ToolOutput::new(card, hints))
    }
}

// === impl DeleteCard ===

impl Tool for DeleteCard {
    const NAME: &'static str = "delete-card";
    type Category = Mutation<Destroys>;
    type Params = DeleteCardParams;
    type Output = DeletedCard;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Deletes a card with all its reviews, for good",
                when: "a card is not wanted any more",
                returns: "the card as it was, so that it can be written anew",
                uses: &["remove a duplicate"],
            },
            permissions: &["cards:delete"],
            response_time: ResponseTime::Fast,
            cache: Uncached,
            // The second call finds nothing and says so, but it destroys nothing more.
            idempotent: true,
            examples: vec![Example {
                description: "Delete a card",
                params: json!({ "cardId": "card_11" }),
                expected_result: json!({ "card": samples::card(), "reviews": 1 }),
            }],
            tags: &["cards", "content"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &DeleteCardParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<DeletedCard>, ToolError> {
        let id = params.card_id.clone();
        let card = write(&self.0, context.timestamp, move |store| {
            store.delete_card(&id)
        })
        .await?;
        let hints = hints_on_deleted(&card);
        let reviews = card.reviews;
        Ok(ToolOutput::new(DeletedCard { card, reviews }, hints))
    }
}

/// How sure it is that the card can be brought back: its parts are in the answer, its reviews are
/// gone.
fn hints_on_deleted(card: &Card) -> AgentHints {
    let parts = card.parts_filled();
    let evidence = Evidence::new(
        SourceQuality::High,
        completeness(parts, parts + card.reviews),
    );
    let again = CreateCardParams {
        deck_id: card.deck_id.clone(),
        front: card.front.clone(),
        back: card.back.clone(),
        explanation: card.explanation.clone(),
        tags: card.tags.clone(),
        difficulty: card.difficulty,
    };
    deleted(&evidence, card_resource(card, Share::ALL))
        .assumes("The card was not wanted any more")
        .suggest(
            Suggestion::with::<CreateCard>(&again)
                .priority(Priority::Low)
                .category(ActionCategory::Correction)
                .described("Write the card anew, if it was a mistake; its reviews stay lost")
                .reversible(true),
        )
        .suggest(
            Suggestion::to::<SearchCards>()
                .priority(Priority::Low)
                .category(ActionCategory::Exploration)
                .described("See what is left"),
        )
}
