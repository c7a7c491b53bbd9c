//! Decks in the store.

use jiff::Timestamp;
use mcpproxy_contract::schemas::UserId;
use rusqlite::{OptionalExtension, Row, named_params};

use super::rows::{count, deck_id, deck_number, metadata, milliseconds};
use super::{MOST_DECKS, Reading, StoreError, Writing};
use crate::model::{Deck, DeckId};

/// A deck with what is in it, up to the conditions.
const SELECT: &str = "SELECT decks.*,
        (SELECT COUNT(*) FROM cards WHERE deck = decks.number) AS cards,
        (SELECT COUNT(*) FROM cards WHERE deck = decks.number AND due_at <= :now) AS due
    FROM decks";

/// What is needed for a deck.
#[derive(Debug, Clone)]
pub(crate) struct NewDeck {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) by: Option<UserId>,
}

// === impl Reading ===

impl Reading<'_> {
    /// A deck as it is at this moment.
    pub(crate) fn deck(&self, id: &DeckId, now: Timestamp) -> Result<Deck, StoreError> {
        let sql = format!("{SELECT} WHERE decks.number = :number");
        let found = self
            .connection
            .prepare_cached(&sql)?
            .query_row(
                named_params! { ":now": milliseconds(now), ":number": deck_number(id) },
                deck_of,
            )
            .optional()?;
        found.ok_or_else(|| StoreError::NoDeck(id.clone()))
    }

    /// Some decks by their names, and how many there are.
    pub(crate) fn decks(
        &self,
        skip: u64,
        limit: u32,
        now: Timestamp,
    ) -> Result<(Vec<Deck>, u64), StoreError> {
        let sql = format!("{SELECT} ORDER BY name_folded LIMIT :limit OFFSET :skip");
        let skip = i64::try_from(skip).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let decks = statement
            .query_map(
                named_params! { ":now": milliseconds(now), ":limit": limit, ":skip": skip },
                deck_of,
            )?
            .collect::<Result<_, _>>()?;
        Ok((decks, self.count_decks()?))
    }

    fn count_decks(&self) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) AS decks FROM decks";
        Ok(self
            .connection
            .query_row(sql, [], |row| count(row, "decks"))?)
    }
}

// === impl Writing ===

impl Writing<'_> {
    /// Makes a deck.
    pub(crate) fn create_deck(&self, new: &NewDeck) -> Result<Deck, StoreError> {
        if self.count_decks()? >= MOST_DECKS {
            return Err(StoreError::Full {
                what: "decks",
                most: MOST_DECKS,
            });
        }
        let folded = new.name.to_lowercase();
        let taken: Option<i64> = self
            .connection
            .query_row(
                "SELECT number FROM decks WHERE name_folded = ?1",
                [&folded],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(number) = taken {
            return Err(StoreError::NameTaken {
                name: new.name.clone(),
                taken_by: deck_id(number),
            });
        }
        self.connection.execute(
            "INSERT INTO decks (name, name_folded, description, created_at, created_by,
                updated_at, updated_by, version)
            VALUES (:name, :folded, :description, :now, :by, :now, :by, 1)",
            named_params! {
                ":name": new.name,
                ":folded": folded,
                ":description": new.description,
                ":now": milliseconds(self.now),
                ":by": new.by.as_ref().map(UserId::as_str),
            },
        )?;
        self.deck(&deck_id(self.connection.last_insert_rowid()), self.now)
    }
}

fn deck_of(row: &Row<'_>) -> Result<Deck, rusqlite::Error> {
    Ok(Deck {
        deck_id: deck_id(row.get("number")?),
        name: row.get("name")?,
        description: row.get("description")?,
        cards: count(row, "cards")?,
        due: count(row, "due")?,
        metadata: metadata(row)?,
    })
}
