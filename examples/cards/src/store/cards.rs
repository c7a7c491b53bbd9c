//! Cards in the store.

use jiff::Timestamp;
use mcpproxy_contract::schemas::{DateRange, SortOrder, UserId};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, named_params, params_from_iter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{
    card_id, card_number, count, deck_id, deck_number, metadata, milliseconds, moment, ranged,
};
use super::{MOST_CARDS, Reading, StoreError, Writing};
use crate::model::{Card, CardId, DeckId, Difficulty};

/// What is needed for a card.
#[derive(Debug, Clone)]
pub(crate) struct NewCard {
    pub(crate) deck_id: DeckId,
    pub(crate) front: String,
    pub(crate) back: String,
    pub(crate) explanation: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) difficulty: Difficulty,
    pub(crate) by: Option<UserId>,
}

/// What is to be changed of a card; what is absent stays as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct CardChanges {
    pub(crate) front: Option<String>,
    pub(crate) back: Option<String>,
    pub(crate) explanation: Option<String>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) difficulty: Option<Difficulty>,
    /// The version that the changes were thought for; any if absent.
    pub(crate) version: Option<u64>,
    pub(crate) by: Option<UserId>,
}

/// Which cards are wanted, and in which order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Search {
    /// Each of these words must occur.
    pub(crate) words: Vec<String>,
    pub(crate) deck_id: Option<DeckId>,
    pub(crate) due: DateRange,
    pub(crate) key: CardKey,
    pub(crate) order: SortOrder,
    pub(crate) skip: u64,
    pub(crate) limit: u32,
}

/// What cards can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) enum CardKey {
    #[default]
    CreatedAt,
    UpdatedAt,
    DueAt,
    Difficulty,
    Front,
}

// === impl Reading ===

impl Reading<'_> {
    /// A card.
    pub(crate) fn card(&self, id: &CardId) -> Result<Card, StoreError> {
        let found = self
            .connection
            .prepare_cached("SELECT * FROM cards WHERE number = ?1")?
            .query_row([card_number(id)], card_of)
            .optional()?;
        found.ok_or_else(|| StoreError::NoCard(id.clone()))
    }

    /// Some of the cards that are wanted, and how many there are.
    pub(crate) fn search(&self, search: &Search) -> Result<(Vec<Card>, u64), StoreError> {
        let (conditions, mut values) = conditions(search);
        let total = self.connection.query_row(
            &format!("SELECT COUNT(*) AS total FROM cards WHERE {conditions}"),
            params_from_iter(&values),
            |row| count(row, "total"),
        )?;
        let column = search.key.column();
        let direction = match search.order {
            SortOrder::Asc => "ASC",
            SortOrder::Desc => "DESC",
        };
        let sql = format!(
            "SELECT * FROM cards WHERE {conditions}
            ORDER BY {column} {direction}, number {direction} LIMIT ? OFFSET ?"
        );
        values.push(Value::from(search.limit));
        values.push(Value::from(i64::try_from(search.skip).unwrap_or(i64::MAX)));
        let mut statement = self.connection.prepare_cached(&sql)?;
        let cards = statement
            .query_map(params_from_iter(&values), card_of)?
            .collect::<Result<_, _>>()?;
        Ok((cards, total))
    }

    /// Cards of the deck with the same question, whatever the case of the letters.
    pub(crate) fn twins(&self, card: &Card) -> Result<Vec<CardId>, StoreError> {
        const MOST_TWINS: u8 = 5;
        let sql = "SELECT number FROM cards
            WHERE deck = :deck AND front_folded = :front AND number <> :number
            ORDER BY number LIMIT :most";
        let mut statement = self.connection.prepare_cached(sql)?;
        let twins = statement.query_map(
            named_params! {
                ":deck": deck_number(&card.deck_id),
                ":front": card.front.to_lowercase(),
                ":number": card_number(&card.card_id),
                ":most": MOST_TWINS,
            },
            |row| row.get(0).map(card_id),
        )?;
        Ok(twins.collect::<Result<_, _>>()?)
    }

    /// The card of a deck, or of all, that has been due for longest.
    pub(crate) fn next_due(
        &self,
        deck: Option<&DeckId>,
        now: Timestamp,
    ) -> Result<Option<Card>, StoreError> {
        let sql = "SELECT * FROM cards WHERE (:deck IS NULL OR deck = :deck) AND due_at <= :now
            ORDER BY due_at, number LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let values = named_params! { ":deck": deck.map(deck_number), ":now": milliseconds(now) };
        Ok(statement.query_row(values, card_of).optional()?)
    }

    /// When each card of a deck, or of all, is due; the next one first.
    pub(crate) fn due_times(&self, deck: Option<&DeckId>) -> Result<Vec<Timestamp>, StoreError> {
        let sql = "SELECT due_at FROM cards WHERE ?1 IS NULL OR deck = ?1 ORDER BY due_at";
        let mut statement = self.connection.prepare_cached(sql)?;
        let times = statement.query_map([deck.map(deck_number)], |row| moment(row, "due_at"))?;
        Ok(times.collect::<Result<_, _>>()?)
    }

    /// How many cards a deck has, or all together.
    pub(crate) fn count_cards(&self, deck: Option<&DeckId>) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) AS cards FROM cards WHERE ?1 IS NULL OR deck = ?1";
        let number = deck.map(deck_number);
        Ok(self
            .connection
            .query_row(sql, [number], |row| count(row, "cards"))?)
    }
}

// === impl Writing ===

impl Writing<'_> {
    /// Makes a card that is due at once.
    pub(crate) fn create_card(&self, new: &NewCard) -> Result<Card, StoreError> {
        if self.count_cards(None)? >= MOST_CARDS {
            return Err(StoreError::Full {
                what: "cards",
                most: MOST_CARDS,
            });
        }
        let deck = self.deck(&new.deck_id, self.now)?;
        self.connection.execute(
            "INSERT INTO cards (deck, front, front_folded, back, explanation, tags, searchable,
                difficulty, due_at, interval_minutes, reviews, created_at, created_by, updated_at,
                updated_by, version)
            VALUES (:deck, '', '', '', NULL, '', '', :difficulty, :now, 0, 0, :now, :by, :now,
                :by, 1)",
            named_params! {
                ":deck": deck_number(&deck.deck_id),
                ":difficulty": new.difficulty.number(),
                ":now": milliseconds(self.now),
                ":by": new.by.as_ref().map(UserId::as_str),
            },
        )?;
        let id = card_id(self.connection.last_insert_rowid());
        let mut card = self.card(&id)?;
        card.front.clone_from(&new.front);
        card.back.clone_from(&new.back);
        card.explanation.clone_from(&new.explanation);
        card.tags.clone_from(&new.tags);
        self.keep(&card)?;
        Ok(card)
    }

    /// Changes a card. Changes that change nothing leave its version as it is, so that the same
    /// change made twice is one change.
    pub(crate) fn update_card(
        &self,
        id: &CardId,
        changes: &CardChanges,
    ) -> Result<Card, StoreError> {
        let former = self.card(id)?;
        if let Some(expected) = changes.version
            && expected != former.metadata.version
        {
            return Err(StoreError::Changed {
                card: id.clone(),
                expected,
                found: former.metadata.version,
            });
        }
        let mut card = former.clone();
        replace(&mut card.front, changes.front.as_ref());
        replace(&mut card.back, changes.back.as_ref());
        replace(&mut card.tags, changes.tags.as_ref());
        replace(&mut card.difficulty, changes.difficulty.as_ref());
        if let Some(explanation) = &changes.explanation {
            // An empty text takes the explanation away.
            card.explanation = Some(explanation.clone()).filter(|text| !text.is_empty());
        }
        if card != former {
            card.metadata = card.metadata.changed(self.now, changes.by.clone());
            self.keep(&card)?;
        }
        // What is kept has no more than milliseconds.
        self.card(id)
    }

    /// Removes a card with its reviews; gives back what it was.
    pub(crate) fn delete_card(&self, id: &CardId) -> Result<Card, StoreError> {
        let card = self.card(id)?;
        self.connection
            .execute("DELETE FROM cards WHERE number = ?1", [card_number(id)])?;
        Ok(card)
    }

    fn keep(&self, card: &Card) -> Result<(), StoreError> {
        let tags = card.tags.join("\n");
        let explanation = card.explanation.as_deref().unwrap_or_default();
        let searchable = [&card.front, &card.back, explanation, &tags].join("\n");
        self.connection.execute(
            "UPDATE cards SET front = :front, front_folded = :front_folded, back = :back,
                explanation = :explanation, tags = :tags, searchable = :searchable,
                difficulty = :difficulty, updated_at = :updated_at, updated_by = :updated_by,
                version = :version
            WHERE number = :number",
            named_params! {
                ":front": card.front,
                ":front_folded": card.front.to_lowercase(),
                ":back": card.back,
                ":explanation": card.explanation,
                ":tags": tags,
                ":searchable": searchable.to_lowercase(),
                ":difficulty": card.difficulty.number(),
                ":updated_at": milliseconds(card.metadata.updated_at),
                ":updated_by": card.metadata.updated_by.as_ref().map(UserId::as_str),
                ":version": i64::try_from(card.metadata.version).unwrap_or(i64::MAX),
                ":number": card_number(&card.card_id),
            },
        )?;
        Ok(())
    }
}

// === impl CardChanges ===

impl CardChanges {
    /// Whether there is anything to change.
    pub(crate) fn any(&self) -> bool {
        self.front.is_some()
            || self.back.is_some()
            || self.explanation.is_some()
            || self.tags.is_some()
            || self.difficulty.is_some()
    }
}

// === impl CardKey ===

impl CardKey {
    fn column(self) -> &'static str {
        match self {
            Self::CreatedAt => "created_at",
            Self::UpdatedAt => "updated_at",
            Self::DueAt => "due_at",
            Self::Difficulty => "difficulty",
            Self::Front => "front_folded",
        }
    }
}

/// The conditions of a search with their values, in the order of their question marks.
fn conditions(search: &Search) -> (String, Vec<Value>) {
    let mut conditions = vec!["1"];
    let mut values = Vec::new();
    for word in &search.words {
        conditions.push("instr(searchable, ?) > 0");
        values.push(Value::from(word.to_lowercase()));
    }
    if let Some(deck) = &search.deck_id {
        conditions.push("deck = ?");
        values.push(Value::from(deck_number(deck)));
    }
    if let Some(from) = search.due.from {
        conditions.push("due_at >= ?");
        values.push(Value::from(milliseconds(from)));
    }
    if let Some(to) = search.due.to {
        conditions.push("due_at < ?");
        values.push(Value::from(milliseconds(to)));
    }
    (conditions.join(" AND "), values)
}

fn replace<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

fn card_of(row: &Row<'_>) -> Result<Card, rusqlite::Error> {
    let tags: String = row.get("tags")?;
    Ok(Card {
        card_id: card_id(row.get("number")?),
        deck_id: deck_id(row.get("deck")?),
        front: row.get("front")?,
        back: row.get("back")?,
        explanation: row.get("explanation")?,
        tags: tags.lines().map(str::to_owned).collect(),
        difficulty: ranged(row, "difficulty", Difficulty::parse)?,
        due_at: moment(row, "due_at")?,
        interval_minutes: row.get("interval_minutes")?,
        reviews: count(row, "reviews")?,
        metadata: metadata(row)?,
    })
}
