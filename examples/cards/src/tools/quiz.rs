//! `generate-quiz`: multiple choice questions from the cards of a deck.
//!
//! The same cards and the same seed give the same quiz, so a quiz can be named by its seed.

use mcpproxy_contract::prelude::*;

use super::edit::CreateCard;
use super::review::ReviewCard;
use super::{about_card, deck_resource, read};
use crate::model::{Card, CardId, Deck, DeckId};
use crate::store::{Search, StoreReader};

/// The choices of a question, the right one included.
const CHOICES: usize = 4;
/// With one answer there is nothing to choose from.
const FEWEST_CHOICES: usize = 2;
/// The most cards a quiz is made from.
const MOST_CARDS_READ: u32 = 500;
const DEFAULT_QUESTIONS: u8 = 5;
const MOST_QUESTIONS: u8 = 20;

/// Makes a quiz.
pub(crate) struct GenerateQuiz(pub(crate) StoreReader);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GenerateQuizParams {
    /// The deck to ask about.
    #[garde(dive)]
    deck_id: DeckId,
    /// How many questions.
    #[serde(default = "default_questions")]
    #[garde(range(min = 1, max = MOST_QUESTIONS))]
    questions: u8,
    /// Another number gives another quiz, the same number the same quiz.
    #[serde(default)]
    #[garde(range(max = u32::MAX))]
    seed: u32,
}

/// A quiz.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Quiz {
    /// The deck it is about.
    deck_id: DeckId,
    /// The number it can be made again with.
    seed: u32,
    /// The questions.
    questions: Vec<QuizQuestion>,
}

/// A question with choices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuizQuestion {
    /// The card it comes from.
    card_id: CardId,
    /// The question.
    question: String,
    /// What there is to choose from; each is different.
    choices: Vec<String>,
    /// Which of the choices is right, counted from 0.
    answer: usize,
}

impl Data for Quiz {}

// === impl GenerateQuiz ===

impl Tool for GenerateQuiz {
    const NAME: &'static str = "generate-quiz";
    type Category = Generation;
    type Params = GenerateQuizParams;
    type Output = Quiz;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Makes a multiple choice quiz from the cards of a deck",
                when: "somebody wants to be tested, or wants to play",
                returns: "questions, each with its choices and the number of the right one",
                uses: &["test somebody on a deck", "make a quiz for a class"],
            },
            permissions: &["cards:read"],
            response_time: ResponseTime::Medium,
            cache: None,
            idempotent: true,
            examples: vec![Example {
                description: "One question",
                params: json!({ "deckId": "deck_3", "questions": 1, "seed": 7 }),
                expected_result: json!({
                    "deckId": "deck_3",
                    "seed": 7,
                    "questions": [{
                        "cardId": "card_10",
                        "question": "12 × 12",
                        "choices": ["144", "56", "12", "5050"],
                        "answer": 0,
                    }],
                }),
            }],
            tags: &["learning", "content"],
            rate_limit: Some(RateLimit::calls::<10, 60_000>()),
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &GenerateQuizParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Quiz>, ToolError> {
        let (id, now) = (params.deck_id.clone(), context.timestamp);
        let (deck, cards) = read(&self.0, move |store| {
            let deck = store.deck(&id, now)?;
            let search = Search {
                deck_id: Some(id),
                limit: MOST_CARDS_READ,
                ..Search::default()
            };
            Ok((deck, store.search(&search)?.0))
        })
        .await?;
        let answers = distinct_answers(&cards);
        if answers.len() < FEWEST_CHOICES {
            return Err(too_small(&deck, answers.len()));
        }
        let mut chance = Chance::new(params.seed);
        let mut asked: Vec<&Card> = cards.iter().collect();
        chance.shuffle(&mut asked);
        asked.truncate(usize::from(params.questions));
        let questions = asked
            .into_iter()
            .map(|card| question(card, &answers, &mut chance))
            .collect();
        let quiz = Quiz {
            deck_id: deck.deck_id.clone(),
            seed: params.seed,
            questions,
        };
        let hints = hints_on(&quiz, &deck, u64::from(params.questions));
        Ok(ToolOutput::new(quiz, hints))
    }
}

fn too_small(deck: &Deck, answers: usize) -> ToolError {
    let about = [("deckId".to_owned(), json!(deck.deck_id))];
    ToolError::rule(
        "DECK_TOO_SMALL",
        format!(
            "The deck '{}' has {answers} different answers, a quiz needs at least \
             {FEWEST_CHOICES}, add cards with create-card",
            deck.deck_id
        ),
    )
    .with("answers", answers)
    .suggest(
        Suggestion::to::<CreateCard>()
            .data(about.into_iter().collect())
            .priority(Priority::High),
    )
}

/// How good the quiz is: as many questions as were asked for, each with all its choices.
fn hints_on(quiz: &Quiz, deck: &Deck, wanted: u64) -> AgentHints {
    let made = quiz.questions.len() as u64;
    let choices: usize = quiz.questions.iter().map(|one| one.choices.len()).sum();
    let evidence = Evidence::new(SourceQuality::Medium, coverage(made, wanted))
        .and(completeness(choices as u64, made * CHOICES as u64));
    let mut hints = AgentHints::new(&evidence, ValidityPeriod::Medium)
        .because(format!("Made {made} questions from {} cards", deck.cards))
        .assumes("No two answers of the deck mean the same in other words")
        .constrained("Do not show the right choice before the user has chosen")
        .relate(deck_resource(deck, Share::ALL));
    if made < wanted {
        hints = hints.needs(format!("{} more cards in the deck", wanted - made));
    }
    match quiz.questions.first() {
        Some(first) => hints.suggest(
            Suggestion::to::<ReviewCard>()
                .data(about_card(&first.card_id))
                .category(ActionCategory::Learning)
                .described("Record how well each answer was known"),
        ),
        None => hints,
    }
}

/// Each answer once, whatever the case of the letters, in the order of the cards.
fn distinct_answers(cards: &[Card]) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    cards
        .iter()
        .map(|card| card.back.as_str())
        .filter(|answer| seen.insert(folded(answer)))
        .collect()
}

fn question(card: &Card, answers: &[&str], chance: &mut Chance) -> QuizQuestion {
    let right = folded(&card.back);
    let mut others: Vec<&str> = answers
        .iter()
        .copied()
        .filter(|answer| folded(answer) != right)
        .collect();
    chance.shuffle(&mut others);
    others.truncate(CHOICES - 1);
    let answer = chance.below(others.len() + 1);
    others.insert(answer, &card.back);
    QuizQuestion {
        card_id: card.card_id.clone(),
        question: card.front.clone(),
        choices: others.into_iter().map(str::to_owned).collect(),
        answer,
    }
}

fn folded(text: &str) -> String {
    text.trim().to_lowercase()
}

fn default_questions() -> u8 {
    DEFAULT_QUESTIONS
}

/// Numbers that look like chance and are the same for the same seed: a linear congruence with
/// Knuth's constants, of which the upper half is used because the lower bits repeat soon.
struct Chance(u64);

impl Chance {
    fn new(seed: u32) -> Self {
        let mut chance = Self(u64::from(seed));
        // Small seeds differ in few bits, the numbers after them in many.
        chance.next();
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    /// A number below another one, which is not zero.
    fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
