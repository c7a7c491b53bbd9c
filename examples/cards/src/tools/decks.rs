//! Decks: which there are, and a new one.

use mcpproxy_contract::prelude::*;
use mcpproxy_contract::schemas::{Page, Pagination};

use super::edit::CreateCard;
use super::lookup::{ReviewNextCard, ReviewNextCardParams};
use super::patterns::NOT_BLANK;
use super::{caller, deck_resource, read, samples, write};
use crate::model::Deck;
use crate::store::{NewDeck, Store, StoreReader};

/// The most related decks that are named in hints.
const MOST_RELATED: usize = 5;

/// Lists the decks.
pub(crate) struct ListDecks(pub(crate) StoreReader);

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct ListDecksParams {
    #[serde(flatten)]
    #[garde(dive)]
    pagination: Pagination,
}

/// Makes a deck.
pub(crate) struct CreateDeck(pub(crate) Store);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct CreateDeckParams {
    /// The name of the deck; no other deck may have it.
    #[garde(length(chars, min = 1, max = 100), pattern(NOT_BLANK))]
    name: String,
    /// What the deck is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 2000))]
    description: Option<String>,
}

// === impl ListDecks ===

impl Tool for ListDecks {
    const NAME: &'static str = "list-decks";
    type Category = Query;
    type Params = ListDecksParams;
    type Output = Page<Deck>;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Lists the decks by name, with the number of their cards and of those due",
                when: "you need the id of a deck or want to know what there is to learn",
                returns: "a page of decks with the number of all and a cursor to go on",
                uses: &["choose a deck to learn", "find the deck for a new card"],
            },
            permissions: &["decks:read"],
            response_time: ResponseTime::Fast,
            // How many cards are due changes with the time alone.
            cache: None,
            idempotent: true,
            examples: vec![Example {
                description: "The first deck by name",
                params: json!({ "limit": 1 }),
                expected_result: json!({
                    "items": [samples::deck()],
                    "total": 3,
                    "nextCursor": "1340ca71c31",
                    "hasMore": true,
                }),
            }],
            tags: &["decks", "content"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &ListDecksParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Page<Deck>>, ToolError> {
        let (skip, limit) = (params.pagination.skip()?, params.pagination.limit);
        let now = context.timestamp;
        let (decks, total) = read(&self.0, move |store| store.decks(skip, limit, now)).await?;
        let hints = hints_on(&decks, total);
        Ok(ToolOutput::new(Page::counted(decks, skip, total)?, hints))
    }
}

/// How much of the list is here, wherever it begins, and how much of each deck is filled in.
fn hints_on(decks: &[Deck], total: u64) -> AgentHints {
    let shown = decks.len() as u64;
    let filled = decks.iter().map(Deck::parts_filled).sum();
    let evidence = Evidence::new(SourceQuality::High, coverage(shown, total))
        .and(completeness(filled, shown * Deck::PARTS));
    let mut hints = listed(&evidence, shown, total);
    for deck in decks.iter().take(MOST_RELATED) {
        hints = hints.relate(deck_resource(deck, Share::of(deck.due, deck.cards)));
    }
    match decks.iter().max_by_key(|deck| deck.due) {
        Some(deck) if deck.due > 0 => {
            let params = ReviewNextCardParams {
                deck_id: Some(deck.deck_id.clone()),
            };
            hints.suggest(
                Suggestion::with::<ReviewNextCard>(&params)
                    .priority(Priority::High)
                    .category(ActionCategory::Learning)
                    .described(format!(
                        "'{}' has {} cards that are due",
                        deck.name, deck.due
                    )),
            )
        }
        _ => hints.suggest(Suggestion::to::<CreateCard>().priority(Priority::Low)),
    }
}

// === impl CreateDeck ===

impl Tool for CreateDeck {
    const NAME: &'static str = "create-deck";
    type Category = Mutation<Writes>;
    type Params = CreateDeckParams;
    type Output = Deck;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Creates an empty deck",
                when: "there is no deck yet for the cards you want to write",
                returns: "the deck with its id",
                uses: &["begin a deck on a new subject"],
            },
            permissions: &["decks:create"],
            response_time: ResponseTime::Fast,
            cache: Uncached,
            idempotent: false,
            examples: vec![Example {
                description: "A deck on capitals",
                params: json!({ "name": "Capitals", "description": "Cities that govern" }),
                expected_result: json!({
                    "deckId": "deck_4",
                    "name": "Capitals",
                    "description": "Cities that govern",
                    "cards": 0,
                    "due": 0,
                    "metadata": {
                        "createdAt": "2026-11-17T09:30:00Z",
                        "updatedAt": "2026-11-17T09:30:00Z",
                        "version": 1,
                    },
                }),
            }],
            tags: &["decks", "content"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &CreateDeckParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Deck>, ToolError> {
        let new = NewDeck {
            name: params.name.trim().to_owned(),
            description: params.description.clone(),
            by: caller(context),
        };
        let deck = write(&self.0, context.timestamp, move |store| {
            store.create_deck(&new)
        })
        .await?;
        let evidence = Evidence::new(
            SourceQuality::High,
            completeness(deck.parts_filled(), Deck::PARTS),
        );
        let about = [("deckId".to_owned(), json!(deck.deck_id))];
        let hints = created(&evidence, deck_resource(&deck, Share::ALL))
            .needs("the cards that belong into the deck")
            .suggest(
                Suggestion::to::<CreateCard>()
                    .data(about.into_iter().collect())
                    .priority(Priority::High)
                    .described("Write the first card of the deck"),
            );
        Ok(ToolOutput::new(deck, hints))
    }
}
