//! What a new store begins with, so that everything can be tried at once.

use std::time::Duration;

use super::{Grading, NewCard, NewDeck, StoreError, Writing};
use crate::model::{Difficulty, Grade};

const DAY: Duration = Duration::from_hours(24);

/// The decks are older than the first review.
const DAYS_BEFORE: u32 = 14;

struct SeedDeck {
    name: &'static str,
    description: Option<&'static str>,
    cards: &'static [SeedCard],
}

struct SeedCard {
    front: &'static str,
    back: &'static str,
    explanation: Option<&'static str>,
    tags: &'static [&'static str],
    /// Reviews of the past: how many days ago, the grade, the milliseconds of the answer.
    reviews: &'static [(u32, Grade, u32)],
}

const DECKS: &[SeedDeck] = &[
    SeedDeck {
        name: "Tools and intent",
        description: Some("What tools say about themselves, and what agents say about a call"),
        cards: &[
            SeedCard {
                front: "What does readOnlyHint say of a tool?",
                back: "That a call changes nothing",
                explanation: Some(
                    "It is what the author says; a client may let such calls pass without asking",
                ),
                tags: &["mcp", "annotations"],
                reviews: &[
                    (9, Grade::GOOD, 4_200),
                    (7, Grade::GOOD, 3_100),
                    (3, Grade::EASY, 1_900),
                ],
            },
            SeedCard {
                front: "What does destructiveHint say of a tool?",
                back: "That a call may delete or overwrite what cannot be brought back",
                explanation: None,
                tags: &["mcp", "annotations"],
                reviews: &[(8, Grade::HARD, 6_500), (6, Grade::GOOD, 4_000)],
            },
            SeedCard {
                front: "What is a tool taken for that has no annotations?",
                back: "For unknown: it may do anything",
                explanation: Some("A missing hint is no promise"),
                tags: &["mcp"],
                reviews: &[
                    (6, Grade::FORGOTTEN, 11_000),
                    (5, Grade::HARD, 7_400),
                    (2, Grade::FORGOTTEN, 9_300),
                ],
            },
            SeedCard {
                front: "Who checks what an agent declares about a call?",
                back: "The gateway, at every call",
                explanation: None,
                tags: &["intent"],
                reviews: &[],
            },
        ],
    },
    SeedDeck {
        name: "The tool contract",
        description: Some("What a well-behaved tool promises"),
        cards: &[
            SeedCard {
                front: "Which four categories of tools are there?",
                back: "query, mutation, analysis and generation",
                explanation: Some("The category decides on caching and on repeating a call"),
                tags: &["contract"],
                reviews: &[(4, Grade::HARD, 8_800)],
            },
            SeedCard {
                front: "Which results are never kept in a cache?",
                back: "Those of mutations",
                explanation: None,
                tags: &["contract", "cache"],
                reviews: &[(4, Grade::GOOD, 3_600), (2, Grade::GOOD, 2_900)],
            },
            SeedCard {
                front: "Where does the confidence of a hint come from?",
                back: "From evidence: counted and measured factors, each with its weight",
                explanation: Some("A number that somebody typed in says nothing about this answer"),
                tags: &["contract", "hints"],
                reviews: &[],
            },
            SeedCard {
                front: "How many days of notice does a deprecated tool get?",
                back: "At least 90",
                explanation: None,
                tags: &[],
                reviews: &[],
            },
        ],
    },
    SeedDeck {
        name: "Arithmetic",
        description: None,
        cards: &[
            SeedCard {
                front: "7 × 8",
                back: "56",
                explanation: None,
                tags: &["multiplication"],
                reviews: &[
                    (10, Grade::FORGOTTEN, 9_000),
                    (9, Grade::GOOD, 4_000),
                    (7, Grade::GOOD, 2_500),
                    (3, Grade::EASY, 1_200),
                ],
            },
            SeedCard {
                front: "12 × 12",
                back: "144",
                explanation: None,
                tags: &["multiplication"],
                reviews: &[(5, Grade::GOOD, 3_000)],
            },
            SeedCard {
                front: "What is 15 percent of 80?",
                back: "12",
                explanation: Some("10 percent is 8, 5 percent is half of that"),
                tags: &["percent"],
                reviews: &[(1, Grade::HARD, 12_500)],
            },
            SeedCard {
                front: "What is the sum of the numbers from 1 to 100?",
                back: "5050",
                explanation: Some("Fifty pairs that add up to 101 each"),
                tags: &["series"],
                reviews: &[],
            },
        ],
    },
];

/// Makes the first decks and cards, with reviews of the days before.
pub(super) fn plant(writing: &Writing<'_>) -> Result<(), StoreError> {
    for seed in DECKS {
        let deck = on_day(writing, DAYS_BEFORE).create_deck(&NewDeck {
            name: seed.name.to_owned(),
            description: seed.description.map(str::to_owned),
            by: None,
        })?;
        for card in seed.cards {
            let new = NewCard {
                deck_id: deck.deck_id.clone(),
                front: card.front.to_owned(),
                back: card.back.to_owned(),
                explanation: card.explanation.map(str::to_owned),
                tags: card.tags.iter().map(|tag| (*tag).to_owned()).collect(),
                difficulty: Difficulty::USUAL,
                by: None,
            };
            plant_card(writing, &new, card.reviews)?;
        }
    }
    Ok(())
}

/// Makes a card on the day before its first review, and reviews it on the days that are named.
fn plant_card(
    writing: &Writing<'_>,
    new: &NewCard,
    reviews: &[(u32, Grade, u32)],
) -> Result<(), StoreError> {
    let first = reviews.first().map_or(1, |(ago, ..)| ago + 1);
    let card = on_day(writing, first).create_card(new)?;
    for (ago, grade, answer_time_ms) in reviews {
        on_day(writing, *ago).record(&Grading {
            card_id: card.card_id.clone(),
            grade: *grade,
            answer_time_ms: Some(*answer_time_ms),
            by: None,
        })?;
    }
    Ok(())
}

/// The same some days before.
fn on_day<'a>(writing: &Writing<'a>, days_ago: u32) -> Writing<'a> {
    let earlier = writing.now.saturating_sub(DAY * days_ago);
    Writing::new(writing.connection, earlier.unwrap_or(jiff::Timestamp::MIN))
}
