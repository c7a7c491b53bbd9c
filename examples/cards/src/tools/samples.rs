//! Data in the examples of several tools: what a store that was made on 2026-11-17 at 09:30 answers
//! at that moment. A test holds every example to it.

use serde_json::{Value, json};

/// A card of a new store.
pub(super) fn card() -> Value {
    json!({
        "cardId": "card_11",
        "deckId": "deck_3",
        "front": "What is 15 percent of 80?",
        "back": "12",
        "explanation": "10 percent is 8, 5 percent is half of that",
        "tags": ["percent"],
        "difficulty": 3,
        "dueAt": "2026-11-17T09:30:00Z",
        "intervalMinutes": 1440,
        "reviews": 1,
        "metadata": {
            "createdAt": "2026-11-15T09:30:00Z",
            "updatedAt": "2026-11-16T09:30:00Z",
            "version": 2,
        },
    })
}

/// A deck of a new store.
pub(super) fn deck() -> Value {
    json!({
        "deckId": "deck_3",
        "name": "Arithmetic",
        "cards": 4,
        "due": 3,
        "metadata": {
            "createdAt": "2026-11-03T09:30:00Z",
            "updatedAt": "2026-11-03T09:30:00Z",
            "version": 1,
        },
    })
}
