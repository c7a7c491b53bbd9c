//! Queries, put so that they are answered from an index.
//!
//! Which index leads is decided here and told to SQLite: it knows nothing about how often a value
//! occurs, and would rather sort a million rows than walk the right one of nine indexes.

use rusqlite::{CachedStatement, Connection};
use uuid::Uuid;

use super::cells::SqliteParameter;
use crate::filter::Conditions;
use crate::row::Cell;

/// The last link with an outcome of a chain. Text in a number's place is above all numbers, and
/// so left out.
pub(super) const LAST_CLOSED: &str = "
    SELECT seq, hash FROM activity
    WHERE chain = ?1 AND seq <= ?2 AND typeof(seq) = 'integer'
    ORDER BY seq DESC LIMIT 1";

/// The last link from before a call of a chain.
pub(super) const LAST_OPENED: &str = "
    SELECT opened_seq, opened_hash FROM activity
    WHERE chain = ?1 AND opened_seq <= ?2 AND typeof(opened_seq) = 'integer'
    ORDER BY opened_seq DESC LIMIT 1";

/// The hash of one link.
pub(super) const HASH_AT: &str = "
    SELECT hash FROM activity WHERE chain = ?1 AND seq = ?2
    UNION ALL
    SELECT opened_hash FROM activity WHERE chain = ?1 AND opened_seq = ?2
    LIMIT 1";

/// The places of records with an outcome that lie wholly at or before a link.
pub(super) const CLOSED_THROUGH: &str = "
    SELECT place FROM activity
    WHERE chain = ?1 AND seq <= ?2 AND (opened_seq IS NULL OR opened_seq <= ?2)
    ORDER BY seq LIMIT ?3";

/// The places of records without an outcome that lie at or before a link.
pub(super) const OPEN_THROUGH: &str = "
    SELECT place FROM activity
    WHERE chain = ?1 AND opened_seq <= ?2 AND seq IS NULL
    ORDER BY opened_seq LIMIT ?3";

/// The chain that follows another one, by one step in each index of the numbers.
pub(super) const NEXT_CHAIN: &str = "
    SELECT min(chain) FROM (
        SELECT min(chain) AS chain FROM activity INDEXED BY activity_by_seq
        WHERE seq IS NOT NULL AND chain > ?1
        UNION ALL
        SELECT min(chain) FROM activity INDEXED BY activity_by_opened_seq
        WHERE opened_seq IS NOT NULL AND chain > ?1
    )";

/// The id of the record that so many newer ones precede.
pub(super) const NTH_NEWEST: &str = "
    SELECT id FROM activity INDEXED BY activity_by_id
    ORDER BY id DESC LIMIT 1 OFFSET ?1";

/// The lowest number of a chain among the first records since an id.
pub(super) const FIRST_SINCE: &str = "
    SELECT min(coalesce(opened_seq, seq)) FROM (
        SELECT opened_seq, seq FROM activity INDEXED BY activity_by_id
        WHERE id >= ?2 AND chain = ?1 ORDER BY id LIMIT ?3
    )";

/// How far a value is counted before it is taken to be frequent. Looking this many rows up takes
/// some milliseconds.
const FREQUENT: usize = 2_000;

/// A statement and its parameters.
#[derive(Debug)]
pub(super) struct SqliteQuery {
    pub(super) sql: String,
    pub(super) values: Vec<Cell>,
}

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

impl SqliteQuery {
    /// The statement with its parameters, ready to run.
    pub(super) fn prepare<'a>(
        &self,
        connection: &'a Connection,
    ) -> rusqlite::Result<CachedStatement<'a>> {
        let mut statement = connection.prepare_cached(&self.sql)?;
        for (index, value) in self.values.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, SqliteParameter(value))?;
        }
        Ok(statement)
    }

    fn of(head: &str) -> Self {
        Self {
            sql: head.to_owned(),
            values: Vec::new(),
        }
    }

    fn push(&mut self, sql: &str, value: Cell) {
        self.sql.push_str(sql);
        self.values.push(value);
    }
}

/// Decides where to begin. With one condition there is nothing to decide; with several the rarest
/// value leads, so that a frequent one is never walked in search of a rare one.
pub(super) fn lead(
    connection: &Connection,
    conditions: &Conditions,
    before: Option<Uuid>,
) -> rusqlite::Result<Lead> {
    let places = places(connection, conditions)?;
    let mut least = Rarity {
        count: places.as_ref().map_or(FREQUENT, Vec::len),
        // Newer than any: the first frequent value is below it.
        reach: Some(vec![0xff; 16]),
    };
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
        if found.is_below(&least) {
            (least, lead) = (found, Lead::Column(index));
        }
    }
    Ok(lead)
}

/// The ids and places of the records asked for, newest first.
pub(super) fn newest(conditions: &Conditions, before: Option<Uuid>, lead: &Lead) -> SqliteQuery {
    let mut query = from_lead("SELECT id, place", conditions, lead);
    narrow(&mut query, conditions, before, lead);
    if !matches!(lead, Lead::Places(_)) {
        query.sql.push_str(" ORDER BY id DESC");
    }
    query
}

/// How many records there are of each sort.
pub(super) fn tally(conditions: &Conditions, lead: &Lead) -> SqliteQuery {
    let select = "SELECT type, server_name, tool_name, intent_type, status, count(*)";
    let mut query = if *lead == Lead::Ids && *conditions == Conditions::default() {
        // Where every row counts, an index would only be a detour.
        SqliteQuery::of(&format!("{select} FROM activity WHERE TRUE"))
    } else {
        from_lead(select, conditions, lead)
    };
    narrow(&mut query, conditions, None, lead);
    query.sql.push_str(" GROUP BY 1, 2, 3, 4, 5");
    query
}

/// How many records there are.
pub(super) fn count(conditions: &Conditions, lead: &Lead) -> SqliteQuery {
    let mut query = from_lead("SELECT count(*)", conditions, lead);
    narrow(&mut query, conditions, None, lead);
    query
}

/// Links of a chain in their order. Both halves come from their index in order and are merged.
pub(super) fn links(columns: &str) -> String {
    format!(
        "SELECT seq AS number, 0 AS is_opening, {columns} FROM activity
         WHERE chain = ?1 AND seq > ?2 AND seq <= ?3 AND typeof(seq) = 'integer'
         UNION ALL
         SELECT opened_seq AS number, 1 AS is_opening, {columns} FROM activity
         WHERE chain = ?1 AND opened_seq > ?2 AND opened_seq <= ?3 AND typeof(opened_seq) = 'integer'
         ORDER BY number LIMIT ?4"
    )
}

/// One record.
pub(super) fn find(columns: &str) -> String {
    format!("SELECT {columns} FROM activity WHERE id = ?")
}

/// The row at a place.
pub(super) fn at_place(columns: &str) -> String {
    format!("SELECT {columns} FROM activity WHERE place = ?")
}

/// A row that is in no chain.
pub(super) fn stray(columns: &str) -> String {
    // Word for word the condition of the index, or it could not be used.
    format!(
        "SELECT {columns} FROM activity INDEXED BY activity_stray
         WHERE ((seq IS NULL AND opened_seq IS NULL)
             OR typeof(seq) NOT IN ('integer', 'null')
             OR typeof(opened_seq) NOT IN ('integer', 'null')
             OR typeof(chain) <> 'blob'
             OR length(chain) <> 16)
         ORDER BY id LIMIT 1"
    )
}

fn from_lead(select: &str, conditions: &Conditions, lead: &Lead) -> SqliteQuery {
    let index = match lead {
        Lead::Column(index) => conditions.equal.get(*index).map(|(name, _)| *name),
        Lead::Ids => Some("id"),
        Lead::Places(_) => None,
    };
    let hint = match index {
        Some(name) => format!("INDEXED BY activity_by_{name}"),
        // The places themselves are then what is looked up.
        None => "NOT INDEXED".to_owned(),
    };
    SqliteQuery::of(&format!("{select} FROM activity {hint} WHERE TRUE"))
}

fn narrow(query: &mut SqliteQuery, conditions: &Conditions, before: Option<Uuid>, lead: &Lead) {
    for (name, value) in &conditions.equal {
        query.push(&format!(" AND {name} = ?"), value.clone());
    }
    narrow_ids(query, conditions, before);
    match lead {
        Lead::Places(places) => {
            let list: Vec<String> = places.iter().map(i64::to_string).collect();
            query.push(
                " AND place IN (SELECT value FROM json_each(?))",
                Cell::from(format!("[{}]", list.join(","))),
            );
        }
        Lead::Ids | Lead::Column(_) if !conditions.words.is_empty() => query.push(
            " AND place IN (SELECT rowid FROM activity_words WHERE activity_words MATCH ?)",
            matching(&conditions.words),
        ),
        Lead::Ids | Lead::Column(_) => {}
    }
}

fn narrow_ids(query: &mut SqliteQuery, conditions: &Conditions, before: Option<Uuid>) {
    if let Some(end) = conditions.end(before) {
        query.push(" AND id < ?", Cell::from(end));
    }
    if let Some(first) = conditions.first_id {
        query.push(" AND id >= ?", Cell::from(first));
    }
}

/// The places of all rows that have the words, unless they are many or no words are asked for.
fn places(connection: &Connection, conditions: &Conditions) -> rusqlite::Result<Option<Vec<i64>>> {
    if conditions.words.is_empty() {
        return Ok(None);
    }
    let mut query = SqliteQuery::of("SELECT rowid FROM activity_words WHERE activity_words");
    query.push(" MATCH ?", matching(&conditions.words));
    query.sql.push_str(&format!(" LIMIT {FREQUENT}"));
    let mut statement = query.prepare(connection)?;
    let mut rows = statement.raw_query();
    let mut places = Vec::new();
    while let Some(row) = rows.next()? {
        places.push(row.get(0)?);
    }
    Ok((places.len() < FREQUENT).then_some(places))
}

/// How rare a value is.
struct Rarity {
    /// How many rows hold it, counted no further than it matters.
    count: usize,
    /// The oldest id among those that were counted: of two frequent values, the one that reaches
    /// further back is the rarer one.
    reach: Option<Vec<u8>>,
}

impl Rarity {
    fn is_below(&self, other: &Self) -> bool {
        let both = self.reach.as_ref().zip(other.reach.as_ref());
        self.count < other.count
            || (self.count == other.count && both.is_some_and(|(own, others)| own < others))
    }
}

/// How rare the value of one of the conditions is.
fn rarity(
    connection: &Connection,
    conditions: &Conditions,
    before: Option<Uuid>,
    index: usize,
) -> rusqlite::Result<Rarity> {
    let frequent = Rarity {
        count: FREQUENT,
        reach: None,
    };
    let Some((name, value)) = conditions.equal.get(index) else {
        return Ok(frequent);
    };
    let mut query = from_lead("SELECT id", conditions, &Lead::Column(index));
    query.push(&format!(" AND {name} = ?"), value.clone());
    narrow_ids(&mut query, conditions, before);
    query.sql = format!(
        "SELECT count(*), min(id) FROM ({} ORDER BY id DESC LIMIT {FREQUENT})",
        query.sql
    );
    let mut statement = query.prepare(connection)?;
    let mut rows = statement.raw_query();
    let Some(row) = rows.next()? else {
        return Ok(frequent);
    };
    let count: i64 = row.get(0)?;
    Ok(Rarity {
        count: usize::try_from(count).unwrap_or(FREQUENT),
        // An id that somebody replaced by something else only makes the choice a worse one.
        reach: row.get(1).ok(),
    })
}

/// A search for records that have a word beginning with each of these.
fn matching(words: &[String]) -> Cell {
    let starts: Vec<String> = words
        .iter()
        .map(|word| format!("\"{}\" *", word.replace('"', "\"\"")))
        .collect();
    Cell::from(starts.join(" AND "))
}
