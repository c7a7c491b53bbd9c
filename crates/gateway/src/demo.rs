//! A sample server, so that everything can be tried with nothing else installed.
//!
//! A handful of cards kept in memory, with tools of every class: reading, writing,
//! destroying, and one whose author gave no annotations.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use mcpproxy_upstream::{BuiltIn, Origin};
use mcpproxy_wire::Json;
use mcpproxy_wire::rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};
use serde::Deserialize;
use serde_json::{Value, json};

/// The name the sample server goes by.
pub const NAME: &str = "cards";

/// The most cards the sample keeps, so that nobody can fill the memory with it.
const MOST_CARDS: usize = 1_000;

/// The sample server.
#[derive(Debug)]
pub struct Cards {
    deck: Mutex<Deck>,
}

#[derive(Debug)]
struct Deck {
    cards: BTreeMap<u64, Card>,
    next: u64,
}

#[derive(Debug, Clone)]
struct Card {
    front: String,
    back: String,
    reviews: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Parameters {
    card_id: String,
    text: String,
    front: String,
    back: String,
}

// === impl Cards ===

impl Default for Cards {
    fn default() -> Self {
        let mut deck = Deck {
            cards: BTreeMap::new(),
            next: 1,
        };
        for (front, back) in [
            ("What does readOnlyHint say?", "The tool changes nothing"),
            (
                "What does destructiveHint say?",
                "The tool may delete or overwrite",
            ),
            (
                "Who checks what an agent declares?",
                "The gateway, at every call",
            ),
        ] {
            deck.add(front, back);
        }
        Self {
            deck: Mutex::new(deck),
        }
    }
}

impl BuiltIn for Cards {
    fn tools(&self) -> Vec<Json> {
        definitions().iter().map(Json::of).collect()
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a str,
        _: Origin<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Json, RpcError>> + Send + 'a>> {
        Box::pin(std::future::ready(self.answer(tool, arguments)))
    }
}

impl Cards {
    fn answer(&self, tool: &str, arguments: &str) -> Result<Json, RpcError> {
        let given: Parameters = serde_json::from_str(arguments)
            .map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
        let mut deck = self.deck.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match tool {
            "get-card" => deck.get(&given.card_id),
            "search-cards" => Ok(deck.search(&given.text)),
            "create-card" => deck.create(&given.front, &given.back),
            "review-card" => deck.review(&given.card_id),
            "delete-card" => deck.delete(&given.card_id),
            "shuffle-deck" => Ok(json!({ "shuffled": deck.cards.len() })),
            _ => {
                return Err(RpcError::new(
                    METHOD_NOT_FOUND,
                    format!("there is no tool '{tool}'"),
                ));
            }
        };
        Ok(Json::of(&match found {
            Ok(data) => json!({
                "content": [{ "type": "text", "text": data.to_string() }],
                "structuredContent": data,
            }),
            Err(message) => json!({
                "content": [{ "type": "text", "text": message }],
                "isError": true,
            }),
        }))
    }
}

// === impl Deck ===

impl Deck {
    fn add(&mut self, front: &str, back: &str) -> u64 {
        let number = self.next;
        self.next += 1;
        let card = Card {
            front: front.to_owned(),
            back: back.to_owned(),
            reviews: 0,
        };
        self.cards.insert(number, card);
        number
    }

    fn get(&self, id: &str) -> Result<Value, String> {
        let number = self.number(id)?;
        Ok(shown(number, &self.cards[&number]))
    }

    fn search(&self, text: &str) -> Value {
        let wanted = text.to_lowercase();
        let found: Vec<Value> = self
            .cards
            .iter()
            .filter(|(_, card)| {
                card.front.to_lowercase().contains(&wanted)
                    || card.back.to_lowercase().contains(&wanted)
            })
            .map(|(number, card)| shown(*number, card))
            .collect();
        json!({ "cards": found })
    }

    fn create(&mut self, front: &str, back: &str) -> Result<Value, String> {
        if self.cards.len() >= MOST_CARDS {
            return Err(format!(
                "The deck is full ({MOST_CARDS} cards), delete one first"
            ));
        }
        let number = self.add(front, back);
        Ok(shown(number, &self.cards[&number]))
    }

    fn review(&mut self, id: &str) -> Result<Value, String> {
        let number = self.number(id)?;
        if let Some(card) = self.cards.get_mut(&number) {
            card.reviews += 1;
        }
        Ok(shown(number, &self.cards[&number]))
    }

    fn delete(&mut self, id: &str) -> Result<Value, String> {
        let number = self.number(id)?;
        self.cards.remove(&number);
        Ok(json!({ "deleted": id }))
    }

    /// The number of a card that exists.
    fn number(&self, id: &str) -> Result<u64, String> {
        id.strip_prefix("card_")
            .and_then(|number| number.parse().ok())
            .filter(|number| self.cards.contains_key(number))
            .ok_or_else(|| format!("There is no card '{id}', search-cards lists those that exist"))
    }
}

fn shown(number: u64, card: &Card) -> Value {
    json!({ "card_id": format!("card_{number}"), "front": card.front, "back": card.back, "reviews": card.reviews })
}

fn definitions() -> Vec<Value> {
    let by_id = json!({
        "type": "object",
        "properties": { "card_id": { "type": "string", "description": "The card, such as card_1" } },
        "required": ["card_id"],
    });
    let text = |description: &str| json!({ "type": "string", "minLength": 1, "maxLength": 500, "description": description });
    vec![
        json!({
            "name": "get-card", "description": "Get one card by its id.",
            "inputSchema": by_id, "annotations": { "readOnlyHint": true },
        }),
        json!({
            "name": "search-cards", "description": "Find cards by a word on either side. Without a word, all cards are listed.",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string", "description": "The word to look for" } } },
            "annotations": { "readOnlyHint": true },
        }),
        json!({
            "name": "create-card", "description": "Add a card to the deck.",
            "inputSchema": {
                "type": "object",
                "properties": { "front": text("The question"), "back": text("The answer") },
                "required": ["front", "back"],
            },
            "annotations": { "readOnlyHint": false, "destructiveHint": false },
        }),
        json!({
            "name": "review-card", "description": "Record that a card was reviewed.",
            "inputSchema": by_id, "annotations": { "readOnlyHint": false, "destructiveHint": false },
        }),
        json!({
            "name": "delete-card", "description": "Delete a card for good.",
            "inputSchema": by_id, "annotations": { "readOnlyHint": false, "destructiveHint": true },
        }),
        json!({
            "name": "shuffle-deck", "description": "Shuffle the deck. Its author gave no annotations.",
            "inputSchema": { "type": "object" },
        }),
    ]
}
