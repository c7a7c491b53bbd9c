//! Looking for cards: `search-cards`, and `find-cards`, which it replaces.

use jiff::civil::date;
use mcpproxy_contract::prelude::*;
use mcpproxy_contract::schemas::{DateRange, Page, Pagination, Sorting};

use super::edit::CreateCard;
use super::lookup::{GetCard, GetCardParams};
use super::{card_resource, read, samples};
use crate::model::{Card, DeckId};
use crate::store::{CardKey, Search, StoreReader};

/// The most characters of what is looked for.
const LONGEST_QUERY: usize = 200;
/// The most cards `find-cards` gives back, and the most related cards that are named in hints.
const MOST_FOUND: u32 = 20;
const MOST_RELATED: usize = 3;

/// Looks for cards.
pub(crate) struct SearchCards(pub(crate) StoreReader);

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchCardsParams {
    /// Words that must all occur in the question, the answer, the explanation or the tags; any
    /// card if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = LONGEST_QUERY))]
    pub(crate) text: Option<String>,
    /// Only cards of this deck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    pub(crate) deck_id: Option<DeckId>,
    /// Only cards that are due within this range.
    #[serde(default)]
    #[garde(dive)]
    pub(crate) due: DateRange,
    #[serde(flatten)]
    #[garde(dive)]
    pub(crate) pagination: Pagination,
    #[serde(flatten)]
    #[garde(dive)]
    pub(crate) sorting: Sorting<CardKey>,
}

/// Looks for cards the way it was done before `search-cards`.
pub(crate) struct FindCards(pub(crate) StoreReader);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct FindCardsParams {
    /// Words that must all occur on the card.
    #[garde(length(chars, min = 1, max = LONGEST_QUERY))]
    text: String,
}

// === impl SearchCards ===

impl Tool for SearchCards {
    const NAME: &'static str = "search-cards";
    type Category = Query;
    type Params = SearchCardsParams;
    type Output = Page<Card>;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Finds cards by words, deck and due date, page by page",
                when: "you do not know the id of a card, or want a list of cards",
                returns: "a page of cards with the number of all that match and a cursor to go on",
                uses: &[
                    "find the cards on percentages",
                    "list the cards of a deck that are due this week",
                ],
            },
            permissions: &["cards:read"],
            response_time: ResponseTime::Fast,
            cache: Some(Ttl::minutes::<5>()),
            idempotent: true,
            examples: vec![Example {
                description: "Cards on percentages, the next due one first",
                params: json!({ "text": "percent", "sortBy": "dueAt", "limit": 5 }),
                expected_result: json!({
                    "items": [samples::card()],
                    "total": 1,
                    "hasMore": false,
                }),
            }],
            tags: &["cards", "content"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &SearchCardsParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Page<Card>>, ToolError> {
        let search = Search {
            words: words(params.text.as_deref().unwrap_or_default()),
            deck_id: params.deck_id.clone(),
            due: params.due,
            key: params.sorting.sort_by,
            order: params.sorting.sort_order,
            skip: params.pagination.skip()?,
            limit: params.pagination.limit,
        };
        let (skip, now) = (search.skip, context.timestamp);
        let (cards, total) = read(&self.0, move |store| {
            if let Some(deck) = &search.deck_id {
                store.deck(deck, now)?;
            }
            store.search(&search)
        })
        .await?;
        let text = params.text.as_deref().unwrap_or_default();
        let hints = hints_on(&cards, total, text);
        let page = Page::counted(cards, skip, total)?;
        let hints = match page.next_cursor() {
            Some(cursor) => {
                let mut next = params.clone();
                next.pagination.offset = None;
                next.pagination.cursor = Some(cursor.clone());
                hints.suggest(
                    Suggestion::with::<Self>(&next)
                        .priority(Priority::Low)
                        .category(ActionCategory::Exploration)
                        .described("Read the next page"),
                )
            }
            None => hints,
        };
        Ok(ToolOutput::new(page, hints))
    }
}

/// What was found, how well it fits, and how much of it is here.
fn hints_on(cards: &[Card], total: u64, text: &str) -> AgentHints {
    let shown = cards.len() as u64;
    // A card with all the words is half a match, one with the very phrase a whole one.
    let phrase = text.trim().to_lowercase();
    let exact = cards
        .iter()
        .filter(|card| has_phrase(card, &phrase))
        .count() as u64;
    let filled = cards.iter().map(Card::parts_filled).sum();
    let evidence = Evidence::new(SourceQuality::High, matched(shown + exact, 2 * shown))
        .and(coverage(shown, total))
        .and(completeness(filled, shown * Card::PARTS).weighing(1));
    let mut hints = listed(&evidence, shown, total);
    for card in cards.iter().take(MOST_RELATED) {
        let fits = if has_phrase(card, &phrase) { 100 } else { 50 };
        hints = hints.relate(card_resource(card, Share::percent(fits)));
    }
    match cards.first() {
        Some(first) => {
            let params = GetCardParams {
                card_id: first.card_id.clone(),
            };
            hints
                .suggest(Suggestion::with::<GetCard>(&params).category(ActionCategory::Exploration))
        }
        None => hints.suggest(
            Suggestion::to::<CreateCard>()
                .priority(Priority::Low)
                .described("Write the card that was looked for"),
        ),
    }
}

fn has_phrase(card: &Card, phrase: &str) -> bool {
    [&card.front, &card.back]
        .into_iter()
        .chain(card.explanation.as_ref())
        .chain(&card.tags)
        .any(|part| part.to_lowercase().contains(phrase))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

// === impl FindCards ===

impl Tool for FindCards {
    const NAME: &'static str = "find-cards";
    type Category = Query;
    type Params = FindCardsParams;
    type Output = Vec<Card>;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 1, 0),
            description: Description {
                what: "Finds cards by words; search-cards does the same and more",
                when: "something still depends on it, until it is removed",
                returns: "the first 20 cards on which all the words occur",
                uses: &["find the cards on percentages"],
            },
            permissions: &["cards:read"],
            response_time: ResponseTime::Fast,
            cache: None,
            idempotent: true,
            examples: vec![Example {
                description: "Cards on percentages",
                params: json!({ "text": "percent" }),
                expected_result: json!([samples::card()]),
            }],
            tags: &["cards", "content"],
            rate_limit: None,
            deprecated: Some(Deprecation::replaced_by::<SearchCards>(
                Version::new(1, 1, 0),
                date(2026, 11, 1),
                date(2027, 6, 30),
            )),
        }
    }

    async fn call(
        &self,
        params: &FindCardsParams,
        _context: &ToolContext,
    ) -> Result<ToolOutput<Vec<Card>>, ToolError> {
        let search = Search {
            words: words(&params.text),
            limit: MOST_FOUND,
            ..Search::default()
        };
        let (cards, total) = read(&self.0, move |store| store.search(&search)).await?;
        let instead = SearchCardsParams {
            text: Some(params.text.clone()),
            ..SearchCardsParams::default()
        };
        let hints = hints_on(&cards, total, &params.text).suggest(
            Suggestion::with::<SearchCards>(&instead)
                .priority(Priority::High)
                .category(ActionCategory::Correction)
                .described("The same search with the tool that stays"),
        );
        Ok(ToolOutput::new(cards, hints))
    }
}
