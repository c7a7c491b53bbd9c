//! What the service keeps, as it is sent.

use std::borrow::Cow;

use jiff::Timestamp;
use mcpproxy_contract::Data;
use mcpproxy_contract::branded_id;
use mcpproxy_contract::schemas::CommonMetadata;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

branded_id!(
    /// The id of a card.
    pub CardId, "card"
);

branded_id!(
    /// The id of a deck.
    pub DeckId, "deck"
);

branded_id!(
    /// The id of a review.
    pub ReviewId, "review"
);

/// A card: a question, its answer, and when it is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// The card.
    pub card_id: CardId,
    /// The deck it is in.
    pub deck_id: DeckId,
    /// The question.
    pub front: String,
    /// The answer.
    pub back: String,
    /// Why the answer is right; absent if nobody wrote it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// Words to find the card by.
    pub tags: Vec<String>,
    /// How hard it is: 1 is easy, 5 is hard.
    pub difficulty: Difficulty,
    /// When it should be reviewed next.
    pub due_at: Timestamp,
    /// The minutes between the last review and the next; 0 before the first.
    pub interval_minutes: u32,
    /// How often it was reviewed.
    pub reviews: u64,
    /// Who made it and when.
    pub metadata: CommonMetadata,
}

/// A deck and what is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deck {
    /// The deck.
    pub deck_id: DeckId,
    /// Its name; no other deck has it.
    pub name: String,
    /// What it is about; absent if nobody wrote it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many cards are in it.
    pub cards: u64,
    /// How many of them are due.
    pub due: u64,
    /// Who made it and when.
    pub metadata: CommonMetadata,
}

/// One review of one card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// The review.
    pub review_id: ReviewId,
    /// The card that was reviewed.
    pub card_id: CardId,
    /// The deck of the card.
    pub deck_id: DeckId,
    /// How well the answer was remembered.
    pub grade: Grade,
    /// How long the answer took, in milliseconds; absent if nobody measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_time_ms: Option<u32>,
    /// When it was.
    pub reviewed_at: Timestamp,
    /// The minutes until the next review that followed from it.
    pub interval_minutes: u32,
}

impl Data for Card {}
impl Data for Deck {}
impl Data for Review {}

/// Makes a number of a fixed range: the type, its reading, and its schema agree on the range.
macro_rules! ranged {
    ($(#[doc = $doc:literal])+ $name:ident, $least:literal to $most:literal) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "u8", into = "u8")]
        pub struct $name(u8);

        impl $name {
            /// The number, if it is within the range.
            pub fn parse(number: u8) -> Option<Self> {
                ($least..=$most).contains(&number).then_some(Self(number))
            }

            /// The number.
            pub fn number(self) -> u8 {
                self.0
            }
        }

        impl TryFrom<u8> for $name {
            type Error = String;

            fn try_from(number: u8) -> Result<Self, String> {
                Self::parse(number).ok_or_else(|| {
                    format!("must be {} to {}, not {number}", $least, $most)
                })
            }
        }

        impl From<$name> for u8 {
            fn from(number: $name) -> Self {
                number.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let description: &[&str] = &[$($doc.trim_ascii()),+];
                json_schema!({
                    "type": "integer",
                    "minimum": $least,
                    "maximum": $most,
                    "description": description.join(" "),
                })
            }
        }
    };
}

ranged!(
    /// How well an answer was remembered: 1 forgotten, 2 with effort, 3 well, 4 at once.
    Grade, 1 to 4
);

ranged!(
    /// How hard a card is: 1 is easy, 3 is usual, 5 is hard.
    Difficulty, 1 to 5
);

// === impl Grade ===

impl Grade {
    /// Not remembered.
    pub const FORGOTTEN: Self = Self(1);
    /// Remembered with effort.
    pub const HARD: Self = Self(2);
    /// Remembered well.
    pub const GOOD: Self = Self(3);
    /// Remembered at once.
    pub const EASY: Self = Self(4);

    /// Whether the answer was remembered at all.
    pub fn is_recalled(self) -> bool {
        self > Self::FORGOTTEN
    }
}

// === impl Difficulty ===

impl Difficulty {
    /// What a card has until somebody says otherwise.
    pub const USUAL: Self = Self(3);
}

impl Default for Difficulty {
    fn default() -> Self {
        Self::USUAL
    }
}

// === impl Card ===

impl Card {
    /// How many parts a card can have: both sides, explanation, tags.
    pub(crate) const PARTS: u64 = 4;

    /// How many of its parts are there.
    pub(crate) fn parts_filled(&self) -> u64 {
        2 + u64::from(self.explanation.is_some()) + u64::from(!self.tags.is_empty())
    }

    /// The question, cut to what fits into a line.
    pub(crate) fn label(&self) -> String {
        shortened(&self.front)
    }
}

// === impl Deck ===

impl Deck {
    /// How many parts a deck can have: name, description, cards.
    pub(crate) const PARTS: u64 = 3;

    /// How many of its parts are there.
    pub(crate) fn parts_filled(&self) -> u64 {
        1 + u64::from(self.description.is_some()) + u64::from(self.cards > 0)
    }
}

/// A text cut to what fits into a line.
fn shortened(text: &str) -> String {
    const LONGEST_LABEL: usize = 60;
    let mut letters = text.chars();
    let mut label: String = letters.by_ref().take(LONGEST_LABEL).collect();
    if letters.next().is_some() {
        label.push('…');
    }
    label
}
