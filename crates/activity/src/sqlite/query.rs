//! Queries, put so that they are answered from an index.
//!
//! Which index leads is decided here and told to SQLite: it knows nothing about how often a value
//! occurs, and would rather sort a million rows than walk the right one of nine indexes.

use rusqlite::Connection;
use uuid::Uuid;

use super::cells;
use crate::filter::Conditions;
use crate::query::{Dialect, StoreQuery};
use crate::row::Cell;

/// SQL in the words of SQLite. Text in a number's place is above all numbers, and so left out.
pub(super) const DIALECT: Dialect = Dialect {
    by_id: "INDEXED BY activity_by_id",
    has_readable_id: " AND length(id) = 16",
    is_among: r#"id IN (
        SELECT unhex(value) FROM json_each('["' || replace($1, ',', '","') || '"]'))"#,
    // Word for word the condition of the index, or it could not be used.
    strays: "activity INDEXED BY activity_stray
         WHERE ((seq IS NULL AND opened_seq IS NULL)
             OR typeof(seq) NOT IN ('integer', 'null')
             OR typeof(opened_seq) NOT IN ('integer', 'null')
             OR typeof(chain) <> 'blob'
             OR length(chain) <> 16)",
    heads: "
    SELECT seq, hash FROM (
        SELECT seq, hash FROM activity
        WHERE chain = $1 AND seq <= 9223372036854775807 AND typeof(seq) = 'integer'
        ORDER BY seq DESC LIMIT 1)
    UNION ALL
    SELECT opened_seq, opened_hash FROM (
        SELECT opened_seq, opened_hash FROM activity
        WHERE chain = $1 AND opened_seq <= 9223372036854775807 AND typeof(opened_seq) = 'integer'
        ORDER BY opened_seq DESC LIMIT 1)",
    chains: "
    WITH RECURSIVE chains (chain) AS (
        SELECT x''
        UNION ALL
        SELECT (
            SELECT min(chain) FROM (
                SELECT min(chain) AS chain FROM activity INDEXED BY activity_by_seq
                WHERE seq IS NOT NULL AND chain > chains.chain
                UNION ALL
                SELECT min(chain) FROM activity INDEXED BY activity_by_opened_seq
                WHERE opened_seq IS NOT NULL AND chain > chains.chain
            )
        )
        FROM chains WHERE chains.chain IS NOT NULL
    )
    SELECT chain FROM chains",
    // Both halves come from their index in order and are merged.
    links: |columns| {
        format!(
            "SELECT seq AS number, 0 AS is_opening, {columns} FROM activity
             WHERE chain = $1 AND seq > $2 AND seq <= 9223372036854775807
                 AND typeof(seq) = 'integer'
             UNION ALL
             SELECT opened_seq AS number, 1 AS is_opening, {columns} FROM activity
             WHERE chain = $1 AND opened_seq > $2 AND opened_seq <= 9223372036854775807
                 AND typeof(opened_seq) = 'integer'
             ORDER BY number LIMIT $3"
        )
    },
};

/// Places of records with an outcome that lie wholly at or before a link.
pub(super) const CLOSED_THROUGH: &str = "
    SELECT place FROM activity
    WHERE chain = $1 AND seq <= $2 AND (opened_seq IS NULL OR opened_seq <= $2)
    ORDER BY seq LIMIT $3";

/// Places of records without an outcome that lie at or before a link.
pub(super) const OPEN_THROUGH: &str = "
    SELECT place FROM activity
    WHERE chain = $1 AND opened_seq <= $2 AND seq IS NULL
    ORDER BY opened_seq LIMIT $3";

/// Count from which on a value is taken to be frequent. Looking this many rows up takes
/// some milliseconds.
const FREQUENT: usize = 2_000;

/// Index that a query begins with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// With the ids, newest first.
    Ids,
    /// With the rows that hold the value of this one of the conditions.
    Column(usize),
    /// With these rows, which are all that have the words.
    Places(Vec<i64>),
}

/// Decides where to begin. With one condition there is nothing to decide; with several the rarest
/// value leads, so that a frequent one is never walked in search of a rare one.
pub(super) fn lead(
    connection: &Connection,
    conditions: &Conditions,
    before: Option<Uuid>,
) -> rusqlite::Result<Lead> {
    let places = places(connection, conditions)?;
    let mut least = (places.as_ref().map_or(FREQUENT, Vec::len), NEWEST.to_vec());
    let mut lead = match places {
        Some(places) => Lead::Places(places),
        None if conditions.equal.is_empty() => return Ok(Lead::Ids),
        None => Lead::Column(0),
    };
    if conditions.equal.len() == 1 && lead == Lead::Column(0) {
        return Ok(lead);
    }
    for index in 0..conditions.equal.len() {
        let found = rarity(connection, conditions, before, index)?;
        if found < least {
            (least, lead) = (found, Lead::Column(index));
        }
    }
    Ok(lead)
}

/// Query of what is selected from the records that the conditions admit.
pub(super) fn narrowed(
    select: &str,
    conditions: &Conditions,
    before: Option<Uuid>,
    lead: &Lead,
) -> StoreQuery {
    let mut query = from_lead(select, conditions, lead);
    for (name, value) in &conditions.equal {
        query.push(&format!(" AND {name} = {{}}"), value.clone());
    }
    if conditions.without_token {
        query.sql.push_str(" AND token_id IS NULL");
    }
    query.narrow_ids(conditions, before);
    match lead {
        Lead::Places(places) => {
            let list: Vec<String> = places.iter().map(i64::to_string).collect();
            query.push(
                " AND place IN (SELECT value FROM json_each({}))",
                format!("[{}]", list.join(",")),
            );
        }
        Lead::Ids | Lead::Column(_) if !conditions.words.is_empty() => query.push(
            " AND place IN (SELECT rowid FROM activity_words WHERE activity_words MATCH {})",
            matching(&conditions.words),
        ),
        Lead::Ids | Lead::Column(_) => {}
    }
    query
}

fn from_lead(select: &str, conditions: &Conditions, lead: &Lead) -> StoreQuery {
    let hint = match lead {
        Lead::Column(index) => format!("INDEXED BY activity_by_{}", conditions.equal[*index].0),
        Lead::Ids => DIALECT.by_id.to_owned(),
        // The places themselves are then what is looked up.
        Lead::Places(_) => "NOT INDEXED".to_owned(),
    };
    StoreQuery::new(format!("{select} FROM activity {hint} WHERE TRUE"), [])
}

/// Places of all rows that have the words, unless they are many or no words are asked for.
fn places(connection: &Connection, conditions: &Conditions) -> rusqlite::Result<Option<Vec<i64>>> {
    if conditions.words.is_empty() {
        return Ok(None);
    }
    let sql =
        format!("SELECT rowid FROM activity_words WHERE activity_words MATCH $1 LIMIT {FREQUENT}");
    let query = StoreQuery::new(sql, [matching(&conditions.words).into()]);
    let found = cells::ask(connection, &query)?;
    let places: Vec<i64> = found.iter().flatten().filter_map(Cell::int).collect();
    Ok((places.len() < FREQUENT).then_some(places))
}

/// Number of rows that hold a value, counted no further than it matters, and oldest id among those
/// that were counted: of two frequent values, the one that reaches further back is the rarer one.
type Rarity = (usize, Vec<u8>);

/// Id that is newer than any.
const NEWEST: [u8; 16] = [0xff; 16];

/// Rarity of the value of one of the conditions.
fn rarity(
    connection: &Connection,
    conditions: &Conditions,
    before: Option<Uuid>,
    index: usize,
) -> rusqlite::Result<Rarity> {
    let (name, value) = &conditions.equal[index];
    let mut query = from_lead("SELECT id", conditions, &Lead::Column(index));
    query.push(&format!(" AND {name} = {{}}"), value.clone());
    query.narrow_ids(conditions, before);
    query.sql = format!(
        "SELECT count(*), min(id) FROM ({} ORDER BY id DESC LIMIT {FREQUENT})",
        query.sql
    );
    let found = cells::ask(connection, &query)?;
    let mut cells = found.into_iter().flatten();
    let count = cells.next().and_then(|count| count.int());
    let reach = match cells.next() {
        Some(Cell::Bytes(id)) => id,
        // An id that somebody replaced by something else only makes the choice a worse one.
        _ => NEWEST.to_vec(),
    };
    let count = count.and_then(|count| usize::try_from(count).ok());
    Ok((count.unwrap_or(FREQUENT), reach))
}

/// Search for records that have a word beginning with each of these.
fn matching(words: &[String]) -> String {
    let starts: Vec<String> = words
        .iter()
        .map(|word| format!("\"{}\" *", word.replace('"', "\"\"")))
        .collect();
    starts.join(" AND ")
}
