//! `list-reviews`: what was reviewed, the newest first.

use mcpproxy_contract::prelude::*;
use mcpproxy_contract::schemas::{DateRange, Page, Pagination};

use super::analyze::{AnalyzeDeck, AnalyzeDeckParams};
use super::evidence::last_reviewed;
use super::lookup::ReviewNextCard;
use super::read;
use crate::model::{CardId, DeckId, Review};
use crate::store::{History, StoreReader};

/// Lists reviews.
pub(crate) struct ListReviews(pub(crate) StoreReader);

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListReviewsParams {
    /// Only reviews of this card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    card_id: Option<CardId>,
    /// Only reviews of cards of this deck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    deck_id: Option<DeckId>,
    #[serde(flatten)]
    #[garde(dive)]
    reviewed: DateRange,
    #[serde(flatten)]
    #[garde(dive)]
    pagination: Pagination,
}

// === impl ListReviews ===

impl Tool for ListReviews {
    const NAME: &'static str = "list-reviews";
    type Category = Query;
    type Params = ListReviewsParams;
    type Output = Page<Review>;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Lists reviews of a card, a deck or everything, the newest first",
                when: "you want to know what was learnt when, and how well",
                returns: "a page of reviews with the number of all and a cursor to go on",
                uses: &[
                    "show what was learnt yesterday",
                    "see how a card went lately",
                ],
            },
            permissions: &["reviews:read"],
            response_time: ResponseTime::Fast,
            cache: Some(Ttl::minutes::<5>()),
            idempotent: true,
            examples: vec![Example {
                description: "The last review of a card",
                params: json!({ "cardId": "card_11", "limit": 1 }),
                expected_result: json!({
                    "items": [{
                        "reviewId": "review_17",
                        "cardId": "card_11",
                        "deckId": "deck_3",
                        "grade": 2,
                        "answerTimeMs": 12500,
                        "reviewedAt": "2026-11-16T09:30:00Z",
                        "intervalMinutes": 1440,
                    }],
                    "total": 1,
                    "hasMore": false,
                }),
            }],
            tags: &["reviews", "learning"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &ListReviewsParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Page<Review>>, ToolError> {
        let history = History {
            card_id: params.card_id.clone(),
            deck_id: params.deck_id.clone(),
            reviewed: params.reviewed,
        };
        let (skip, limit) = (params.pagination.skip()?, params.pagination.limit);
        let now = context.timestamp;
        let (reviews, tally) = read(&self.0, move |store| {
            if let Some(card) = &history.card_id {
                store.card(card)?;
            }
            if let Some(deck) = &history.deck_id {
                store.deck(deck, now)?;
            }
            let reviews = store.reviews(&history, skip, limit)?;
            Ok((reviews, store.tally(&history)?))
        })
        .await?;
        let shown = reviews.len() as u64;
        let measured = reviews.iter().filter(|one| one.answer_time_ms.is_some());
        // The grade is always there, the time only if somebody measured it.
        let evidence = Evidence::new(SourceQuality::High, coverage(shown, tally.reviews))
            .and(completeness(shown + measured.count() as u64, 2 * shown))
            .and(last_reviewed(&tally, now));
        let hints = listed(&evidence, shown, tally.reviews);
        let hints = match reviews.first() {
            Some(review) => hints.suggest(
                Suggestion::with::<AnalyzeDeck>(&AnalyzeDeckParams {
                    deck_id: review.deck_id.clone(),
                    reviewed: params.reviewed,
                })
                .category(ActionCategory::Exploration)
                .described("See what these reviews add up to"),
            ),
            None => hints.suggest(
                Suggestion::to::<ReviewNextCard>()
                    .category(ActionCategory::Learning)
                    .described("Begin to learn"),
            ),
        };
        Ok(ToolOutput::new(
            Page::counted(reviews, skip, tally.reviews)?,
            hints,
        ))
    }
}
