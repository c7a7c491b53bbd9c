//! The tools, one file for each group of them. Every file reads the same way: parameters, output,
//! definition, call, hints.

mod analyze;
mod decks;
mod difficulty;
mod edit;
mod evidence;
mod export;
mod forecast;
mod history;
mod lookup;
mod patterns;
mod quiz;
mod review;
mod samples;
mod search;

use jiff::Timestamp;
use mcpproxy_contract::prelude::*;
use mcpproxy_contract::schemas::UserId;
use mcpproxy_contract::{ContractViolations, Registry, ToolContext, ToolError};
use serde_json::{Map, Value};

use crate::model::{Card, CardId, Deck};
use crate::store::{Reading, Store, StoreError, StoreReader, Writing};

/// Registers every tool.
pub(crate) fn register(registry: &mut Registry, store: Store) -> Result<(), ContractViolations> {
    registry.register(lookup::GetCard(store.clone().reader()))?;
    registry.register(lookup::ReviewNextCard(store.clone().reader()))?;
    registry.register(search::SearchCards(store.clone().reader()))?;
    registry.register(search::FindCards(store.clone().reader()))?;
    registry.register(decks::ListDecks(store.clone().reader()))?;
    registry.register(history::ListReviews(store.clone().reader()))?;
    registry.register(decks::CreateDeck(store.clone()))?;
    registry.register(edit::CreateCard(store.clone()))?;
    registry.register(edit::UpdateCard(store.clone()))?;
    registry.register(edit::DeleteCard(store.clone()))?;
    registry.register(review::ReviewCard(store.clone()))?;
    registry.register(difficulty::AdjustDifficulty(store.clone()))?;
    registry.register(analyze::AnalyzeDeck(store.clone().reader()))?;
    registry.register(forecast::ForecastWorkload(store.clone().reader()))?;
    registry.register(quiz::GenerateQuiz(store.clone().reader()))?;
    registry.register(export::ExportDeck(store.reader()))
}

/// Reads from the store.
async fn read<T, W>(store: &StoreReader, work: W) -> Result<T, ToolError>
where
    T: Send + 'static,
    W: FnOnce(&Reading<'_>) -> Result<T, StoreError> + Send + 'static,
{
    store.read(work).await.map_err(told)
}

/// Changes the store.
async fn write<T, W>(store: &Store, now: Timestamp, work: W) -> Result<T, ToolError>
where
    T: Send + 'static,
    W: FnOnce(&Writing<'_>) -> Result<T, StoreError> + Send + 'static,
{
    store.write(now, work).await.map_err(told)
}

/// What a caller is told of an error of the store: what to do, and the tool to do it with.
fn told(error: StoreError) -> ToolError {
    if error.is_busy() {
        return ToolError::unavailable("The store of the cards", error);
    }
    match error {
        StoreError::NoCard(id) => {
            ToolError::not_found("card", id.as_str(), "look for it with search-cards")
                .suggest(Suggestion::to::<search::SearchCards>().priority(Priority::High))
        }
        StoreError::NoDeck(id) => {
            ToolError::not_found("deck", id.as_str(), "list-decks names those there are")
                .suggest(Suggestion::to::<decks::ListDecks>().priority(Priority::High))
        }
        StoreError::NameTaken { name, taken_by } => ToolError::conflict(format!(
            "The deck '{taken_by}' has the name '{name}' already, use that deck or another name"
        ))
        .with("deck_id", taken_by.as_str())
        .suggest(Suggestion::to::<decks::ListDecks>()),
        StoreError::Changed {
            card,
            expected,
            found,
        } => ToolError::conflict(format!(
            "The card '{card}' has version {found}, not {expected}, read it again before changing it"
        ))
        .with("version", found)
        .suggest(Suggestion::with::<lookup::GetCard>(
            &lookup::GetCardParams { card_id: card },
        )),
        StoreError::Full { what, most } => ToolError::rule(
            "STORE_FULL",
            format!("The store takes {most} {what} and has no room for another, delete some first"),
        )
        .suggest(Suggestion::to::<search::SearchCards>()),
        broken => ToolError::internal(broken),
    }
}

/// Who calls, as far as the call names a user in the form that the service keeps.
fn caller(context: &ToolContext) -> Option<UserId> {
    let user = context.user_id.as_deref()?;
    UserId::parse(user).ok()
}

/// A card as something the result has to do with.
fn card_resource(card: &Card, relevance: Share) -> RelatedResource {
    RelatedResource {
        metadata: Some(ResourceMetadata {
            access_count: Some(card.reviews),
            ..ResourceMetadata::default()
        }),
        ..RelatedResource::new("card", card.card_id.as_str(), card.label(), relevance)
    }
}

/// A deck as something the result has to do with.
fn deck_resource(deck: &Deck, relevance: Share) -> RelatedResource {
    RelatedResource {
        metadata: Some(ResourceMetadata {
            quality: Some(SourceQuality::High),
            freshness: Some("current".to_owned()),
            ..ResourceMetadata::default()
        }),
        ..RelatedResource::new("deck", deck.deck_id.as_str(), &deck.name, relevance)
    }
}

/// The part of the parameters that is known already: which card. The rest is the caller's choice.
fn about_card(card: &CardId) -> Map<String, Value> {
    Map::from_iter([("cardId".to_owned(), Value::from(card.as_str()))])
}
