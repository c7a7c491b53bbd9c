//! A sample service: cards to learn with, in decks, and the reviews of them.
//!
//! It shows what a service looks like that is written with [`mcpproxy_contract`] alone: one type per
//! tool, one line to register it. Start reading at [`service`], then at `tools/review.rs`. The
//! library knows no transport and nothing of the gateway; the program of the same name serves it.

mod model;
mod schedule;
mod store;
mod tools;

use mcpproxy_contract::{ContractViolations, Registry, Service, Version};

pub use model::{Card, CardId, Deck, DeckId, Difficulty, Grade, Review, ReviewId};
pub use store::{Store, StoreError};

/// The service over a store: every tool, ready to be called.
pub fn service(store: Store) -> Result<Service, ContractViolations> {
    let mut registry = Registry::new("cards", Version::new(1, 1, 0));
    tools::register(&mut registry, store)?;
    registry.into_service()
}
