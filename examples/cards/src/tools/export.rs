//! `export-deck`: a deck as text, to take elsewhere.

use mcpproxy_contract::prelude::*;

use super::{deck_resource, read};
use crate::model::{Card, Deck, DeckId};
use crate::store::{CardKey, Search, StoreReader};

/// The most cards in one text: some megabytes at worst, which is as much as a client can take.
const MOST_EXPORTED: u32 = 1_000;
/// The most cards that can be skipped: a store has no more.
const MOST_SKIPPED: u32 = 10_000;

/// Exports a deck.
pub(crate) struct ExportDeck(pub(crate) StoreReader);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportDeckParams {
    /// The deck to export.
    #[garde(dive)]
    deck_id: DeckId,
    /// The form of the text.
    #[serde(default)]
    #[garde(skip)]
    format: Format,
    /// How many cards to skip, to go on where the last part ended.
    #[serde(default)]
    #[garde(range(max = MOST_SKIPPED))]
    offset: u32,
}

/// The form of an exported text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Format {
    #[default]
    Markdown,
    Csv,
}

/// A deck as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportedDeck {
    /// The deck.
    deck_id: DeckId,
    /// The form of the text.
    format: Format,
    /// How many cards are in the text.
    cards: u64,
    /// How many cards the deck has.
    total: u64,
    /// The text.
    content: String,
}

impl Data for ExportedDeck {}

// === impl ExportDeck ===

impl Tool for ExportDeck {
    const NAME: &'static str = "export-deck";
    type Category = Generation;
    type Params = ExportDeckParams;
    type Output = ExportedDeck;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Writes the cards of a deck as one text, in Markdown or CSV",
                when: "somebody wants to print a deck, or take it to another program",
                returns: "the text with up to 1000 cards, and how many the deck has",
                uses: &["print a deck", "open a deck in a spreadsheet"],
            },
            permissions: &["cards:read", "decks:read"],
            // A thousand long cards take their time.
            response_time: ResponseTime::Slow,
            cache: None,
            idempotent: true,
            examples: vec![Example {
                description: "A deck as CSV",
                params: json!({ "deckId": "deck_3", "format": "csv" }),
                expected_result: json!({
                    "deckId": "deck_3",
                    "format": "csv",
                    "cards": 4,
                    "total": 4,
                    "content": "front,back,explanation,tags\r\n\
                        \"7 × 8\",\"56\",\"\",\"multiplication\"\r\n\
                        \"12 × 12\",\"144\",\"\",\"multiplication\"\r\n\
                        \"What is 15 percent of 80?\",\"12\",\
                        \"10 percent is 8, 5 percent is half of that\",\"percent\"\r\n\
                        \"What is the sum of the numbers from 1 to 100?\",\"5050\",\
                        \"Fifty pairs that add up to 101 each\",\"series\"\r\n",
                }),
            }],
            tags: &["decks", "content"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &ExportDeckParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<ExportedDeck>, ToolError> {
        let (id, now) = (params.deck_id.clone(), context.timestamp);
        let (skip, format) = (u64::from(params.offset), params.format);
        let (deck, cards, total, written) = read(&self.0, move |store| {
            let deck = store.deck(&id, now)?;
            let search = Search {
                deck_id: Some(id),
                key: CardKey::CreatedAt,
                skip,
                limit: MOST_EXPORTED,
                ..Search::default()
            };
            let (cards, total) = store.search(&search)?;
            // Here as well: writing some megabytes is no work for the runtime.
            let written = text(&deck, &cards, format);
            Ok((deck, cards, total, written))
        })
        .await?;
        let hints = hints_on(&deck, &cards, total, params);
        let exported = ExportedDeck {
            deck_id: deck.deck_id,
            format,
            cards: cards.len() as u64,
            total,
            content: written,
        };
        Ok(ToolOutput::new(exported, hints))
    }
}

/// How much of the deck is in the text, and how much of each card there was to write.
fn hints_on(deck: &Deck, cards: &[Card], total: u64, params: &ExportDeckParams) -> AgentHints {
    let shown = cards.len() as u64;
    let reached = u64::from(params.offset) + shown;
    let filled = cards.iter().map(Card::parts_filled).sum();
    let evidence = Evidence::new(SourceQuality::High, coverage(shown, total))
        .and(completeness(filled, shown * Card::PARTS).weighing(1));
    let hints = listed(&evidence, shown, total).relate(deck_resource(deck, Share::ALL));
    let next = u32::try_from(reached)
        .ok()
        .filter(|_| shown > 0 && reached < total);
    match next {
        Some(offset) => hints.suggest(
            Suggestion::with::<ExportDeck>(&ExportDeckParams {
                offset,
                ..params.clone()
            })
            .priority(Priority::High)
            .described("Export the other cards"),
        ),
        None => hints,
    }
}

fn text(deck: &Deck, cards: &[Card], format: Format) -> String {
    match format {
        Format::Markdown => markdown(deck, cards),
        Format::Csv => csv(cards),
    }
}

fn markdown(deck: &Deck, cards: &[Card]) -> String {
    let mut text = format!("# {}\n", one_line(&deck.name));
    if let Some(description) = &deck.description {
        text.push_str(&format!("\n{description}\n"));
    }
    for card in cards {
        text.push_str(&format!(
            "\n## {}\n\n{}\n",
            one_line(&card.front),
            card.back
        ));
        if let Some(explanation) = &card.explanation {
            let quoted = explanation.replace('\n', "\n> ");
            text.push_str(&format!("\n> {quoted}\n"));
        }
        if !card.tags.is_empty() {
            text.push_str(&format!("\nTags: {}\n", card.tags.join(", ")));
        }
    }
    text
}

/// RFC 4180: fields in quotation marks, lines ended by CR LF.
fn csv(cards: &[Card]) -> String {
    let mut text = "front,back,explanation,tags\r\n".to_owned();
    for card in cards {
        let tags = card.tags.join(" ");
        let explanation = card.explanation.as_deref().unwrap_or_default();
        let fields = [&card.front, &card.back, explanation, &tags].map(quoted);
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

fn quoted(field: &str) -> String {
    format!("\"{}\"", field.replace('"', "\"\""))
}

/// A heading ends with its line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
