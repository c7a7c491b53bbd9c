//! Reviews in the store, and what they add up to.

use jiff::Timestamp;
use mcpproxy_contract::schemas::{DateRange, UserId};
use rusqlite::{Row, named_params};

use super::rows::{
    card_id, card_number, count, deck_id, deck_number, milliseconds, moment, ranged,
};
use super::{MOST_REVIEWS_OF_A_CARD, Reading, StoreError, Writing};
use crate::model::{Card, CardId, DeckId, Grade, Review, ReviewId};
use crate::schedule::{self, Last};

/// What "usual" is taken from: enough to be usual, new enough to be true today.
const ANSWERS_FOR_USUAL: u32 = 50;

/// What is still known after a day was learnt, and not only heard.
const LEARNT_MINUTES: u32 = 24 * 60;

/// A review with its deck, up to the conditions. Absent values stand for no condition.
const SELECTION: &str = "FROM reviews JOIN cards ON cards.number = reviews.card
    WHERE (:card IS NULL OR reviews.card = :card)
        AND (:deck IS NULL OR cards.deck = :deck)
        AND reviewed_at >= :from AND reviewed_at < :to";

/// A review to record.
#[derive(Debug, Clone)]
pub(crate) struct Grading {
    pub(crate) card_id: CardId,
    pub(crate) grade: Grade,
    pub(crate) answer_time_ms: Option<u32>,
    pub(crate) by: Option<UserId>,
}

/// What came of a review.
#[derive(Debug)]
pub(crate) struct Reviewed {
    /// The review itself.
    pub(crate) review: Review,
    /// The card after it.
    pub(crate) card: Card,
    /// All reviews of the card, this one included.
    pub(crate) tally: Tally,
    /// How long answers in this deck usually took before.
    pub(crate) usual_time_ms: Option<u32>,
}

/// Which reviews are meant.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) card_id: Option<CardId>,
    pub(crate) deck_id: Option<DeckId>,
    pub(crate) reviewed: DateRange,
}

/// What reviews add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// How many there are.
    pub(crate) reviews: u64,
    /// In how many the answer was remembered.
    pub(crate) recalled: u64,
    /// How many came a day or more after the card was known.
    pub(crate) of_learnt: u64,
    /// In how many of those the answer was remembered.
    pub(crate) of_learnt_recalled: u64,
    /// How many cards they are of.
    pub(crate) cards: u64,
    /// When the last one was.
    pub(crate) last_at: Option<Timestamp>,
}

// === impl Reading ===

impl Reading<'_> {
    /// Some reviews, the newest first.
    pub(crate) fn reviews(
        &self,
        history: &History,
        skip: u64,
        limit: u32,
    ) -> Result<Vec<Review>, StoreError> {
        let sql = format!(
            "SELECT reviews.*, cards.deck AS deck {SELECTION}
            ORDER BY reviewed_at DESC, reviews.number DESC LIMIT :limit OFFSET :skip"
        );
        let (from, to) = bounds(&history.reviewed);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let reviews = statement.query_map(
            named_params! {
                ":card": history.card_id.as_ref().map(card_number),
                ":deck": history.deck_id.as_ref().map(deck_number),
                ":from": from,
                ":to": to,
                ":limit": limit,
                ":skip": i64::try_from(skip).unwrap_or(i64::MAX),
            },
            review_of,
        )?;
        Ok(reviews.collect::<Result<_, _>>()?)
    }

    /// What reviews add up to.
    pub(crate) fn tally(&self, history: &History) -> Result<Tally, StoreError> {
        let sql = format!(
            "SELECT COUNT(*) AS reviews,
                COUNT(*) FILTER (WHERE grade > 1) AS recalled,
                COUNT(*) FILTER (WHERE planned_minutes >= :learnt) AS of_learnt,
                COUNT(*) FILTER (WHERE planned_minutes >= :learnt AND grade > 1)
                    AS of_learnt_recalled,
                COUNT(DISTINCT reviews.card) AS cards,
                MAX(reviewed_at) AS last_at {SELECTION}"
        );
        let (from, to) = bounds(&history.reviewed);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let tally = statement.query_row(
            named_params! {
                ":card": history.card_id.as_ref().map(card_number),
                ":deck": history.deck_id.as_ref().map(deck_number),
                ":from": from,
                ":to": to,
                ":learnt": LEARNT_MINUTES,
            },
            tally_of,
        )?;
        Ok(tally)
    }

    /// The cards of a deck that were forgotten most often, with how often of how often.
    pub(crate) fn hardest(
        &self,
        history: &History,
        most: u32,
    ) -> Result<Vec<(Card, u64, u64)>, StoreError> {
        // One review more on either side, so that one bad day does not make a card the hardest.
        let sql = format!(
            "SELECT reviews.card AS number, COUNT(*) AS reviews,
                COUNT(*) FILTER (WHERE grade = 1) AS forgotten {SELECTION}
            GROUP BY reviews.card HAVING forgotten > 0
            ORDER BY (forgotten + 1.0) / (COUNT(*) + 2.0) DESC, reviews.card LIMIT :most"
        );
        let (from, to) = bounds(&history.reviewed);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let found: Vec<(CardId, u64, u64)> = statement
            .query_map(
                named_params! {
                    ":card": history.card_id.as_ref().map(card_number),
                    ":deck": history.deck_id.as_ref().map(deck_number),
                    ":from": from,
                    ":to": to,
                    ":most": most,
                },
                |row| {
                    let id = card_id(row.get("number")?);
                    Ok((id, count(row, "forgotten")?, count(row, "reviews")?))
                },
            )?
            .collect::<Result<_, _>>()?;
        found
            .into_iter()
            .map(|(id, forgotten, reviews)| Ok((self.card(&id)?, forgotten, reviews)))
            .collect()
    }

    /// How long answers in a deck usually took: the middle one of the last that were measured.
    pub(crate) fn usual_answer_time(&self, deck: &DeckId) -> Result<Option<u32>, StoreError> {
        let sql = "SELECT answer_time_ms FROM reviews JOIN cards ON cards.number = reviews.card
            WHERE cards.deck = ?1 AND answer_time_ms IS NOT NULL
            ORDER BY reviewed_at DESC, reviews.number DESC LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut times: Vec<u32> = statement
            .query_map((deck_number(deck), ANSWERS_FOR_USUAL), |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        times.sort_unstable();
        Ok(times.get(times.len() / 2).copied())
    }

    fn last_review(&self, card: &Card, now: Timestamp) -> Result<Option<Last>, StoreError> {
        let at: Option<i64> = self
            .connection
            .prepare_cached("SELECT last_review_at FROM cards WHERE number = ?1")?
            .query_row([card_number(&card.card_id)], |row| row.get(0))?;
        let at = at.and_then(|kept| Timestamp::from_millisecond(kept).ok());
        Ok(at.map(|at| Last {
            interval_minutes: card.interval_minutes,
            ago: schedule::between(at, now),
        }))
    }
}

// === impl Writing ===

impl Writing<'_> {
    /// Records a review and plans the next one.
    pub(crate) fn record(&self, grading: &Grading) -> Result<Reviewed, StoreError> {
        let card = self.card(&grading.card_id)?;
        let usual_time_ms = self.usual_answer_time(&card.deck_id)?;
        let last = self.last_review(&card, self.now)?;
        let interval = schedule::next_interval(last, card.difficulty, grading.grade);
        let number = card_number(&card.card_id);
        self.connection.execute(
            "INSERT INTO reviews (card, grade, answer_time_ms, reviewed_at, planned_minutes,
                interval_minutes)
            VALUES (:card, :grade, :answer_time_ms, :now, :planned, :interval)",
            named_params! {
                ":card": number,
                ":grade": grading.grade.number(),
                ":answer_time_ms": grading.answer_time_ms,
                ":now": milliseconds(self.now),
                ":planned": card.interval_minutes,
                ":interval": interval,
            },
        )?;
        let review = review_id(self.connection.last_insert_rowid());
        self.plan(&card, interval, grading.by.as_ref())?;
        self.forget_oldest(number)?;
        let card = self.card(&card.card_id)?;
        Ok(Reviewed {
            review: Review {
                review_id: review,
                card_id: card.card_id.clone(),
                deck_id: card.deck_id.clone(),
                grade: grading.grade,
                answer_time_ms: grading.answer_time_ms,
                reviewed_at: card.metadata.updated_at,
                interval_minutes: interval,
            },
            tally: self.tally(&History::of_card(&card.card_id))?,
            card,
            usual_time_ms,
        })
    }

    fn plan(&self, card: &Card, interval: u32, by: Option<&UserId>) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE cards SET interval_minutes = :interval, due_at = :due_at,
                last_review_at = :now, reviews = reviews + 1, updated_at = :now,
                updated_by = :by, version = version + 1
            WHERE number = :number",
            named_params! {
                ":interval": interval,
                ":due_at": milliseconds(schedule::due_after(self.now, interval)),
                ":now": milliseconds(self.now),
                ":by": by.map(UserId::as_str),
                ":number": card_number(&card.card_id),
            },
        )?;
        Ok(())
    }

    /// Keeps the newest reviews of a card.
    fn forget_oldest(&self, card: i64) -> Result<(), StoreError> {
        self.connection.execute(
            "DELETE FROM reviews WHERE card = ?1 AND number NOT IN
                (SELECT number FROM reviews WHERE card = ?1 ORDER BY number DESC LIMIT ?2)",
            (card, MOST_REVIEWS_OF_A_CARD),
        )?;
        Ok(())
    }
}

// === impl History ===

impl History {
    /// All reviews of a card.
    pub(crate) fn of_card(card: &CardId) -> Self {
        Self {
            card_id: Some(card.clone()),
            ..Self::default()
        }
    }

    /// The reviews of a deck within a range.
    pub(crate) fn of_deck(deck: &DeckId, reviewed: DateRange) -> Self {
        Self {
            deck_id: Some(deck.clone()),
            reviewed,
            ..Self::default()
        }
    }
}

fn bounds(range: &DateRange) -> (i64, i64) {
    (
        range.from.map_or(i64::MIN, milliseconds),
        range.to.map_or(i64::MAX, milliseconds),
    )
}

fn review_id(number: i64) -> ReviewId {
    ReviewId::numbered(number.unsigned_abs())
}

fn review_of(row: &Row<'_>) -> Result<Review, rusqlite::Error> {
    Ok(Review {
        review_id: review_id(row.get("number")?),
        card_id: card_id(row.get("card")?),
        deck_id: deck_id(row.get("deck")?),
        grade: ranged(row, "grade", Grade::parse)?,
        answer_time_ms: row.get("answer_time_ms")?,
        reviewed_at: moment(row, "reviewed_at")?,
        interval_minutes: row.get("interval_minutes")?,
    })
}

fn tally_of(row: &Row<'_>) -> Result<Tally, rusqlite::Error> {
    let last_at: Option<i64> = row.get("last_at")?;
    Ok(Tally {
        reviews: count(row, "reviews")?,
        recalled: count(row, "recalled")?,
        of_learnt: count(row, "of_learnt")?,
        of_learnt_recalled: count(row, "of_learnt_recalled")?,
        cards: count(row, "cards")?,
        last_at: last_at.and_then(|kept| Timestamp::from_millisecond(kept).ok()),
    })
}
