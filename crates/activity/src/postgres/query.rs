//! Queries, put so that they can be answered from an index. Which one is best, PostgreSQL knows
//! better than we do: it keeps count of how often a value occurs.

use uuid::Uuid;

use crate::filter::Conditions;
use crate::row::Cell;
use crate::store::bound;

/// The last link of a chain.
pub(super) const HEAD: &str = "
    (SELECT seq, hash FROM activity
     WHERE chain = $1 AND seq IS NOT NULL ORDER BY seq DESC LIMIT 1)
    UNION ALL
    (SELECT opened_seq, opened_hash FROM activity
     WHERE chain = $1 AND opened_seq IS NOT NULL ORDER BY opened_seq DESC LIMIT 1)
    ORDER BY seq DESC LIMIT 1";

/// Every chain, each found by one step in an index of the numbers.
pub(super) const CHAINS: &str = "
    WITH RECURSIVE chains (chain) AS (
        (SELECT chain FROM activity ORDER BY chain LIMIT 1)
        UNION ALL
        SELECT (SELECT activity.chain FROM activity
                WHERE activity.chain > chains.chain ORDER BY activity.chain LIMIT 1)
        FROM chains WHERE chains.chain IS NOT NULL
    )
    SELECT chain FROM chains WHERE chain IS NOT NULL";

/// The lowest number of a chain among the first records since an id.
pub(super) const FIRST_SINCE: &str = "
    SELECT min(coalesce(opened_seq, seq)) FROM (
        SELECT opened_seq, seq FROM activity
        WHERE id >= $2 AND chain = $1 ORDER BY id LIMIT $3
    ) AS since";

/// Texts from outside, of which only how they begin is in the index.
const LONG: [&str; 4] = ["server_name", "tool_name", "session_id", "agent"];

/// Size of a record in a page, as far as it matters. Sizes are known without reading the texts.
const SIZE: &str = "(coalesce(octet_length(arguments), 0)::bigint
    + coalesce(octet_length(response), 0) + coalesce(octet_length(metadata), 0)
    + coalesce(octet_length(error_message), 0) + coalesce(octet_length(warnings), 0))";

/// A statement and its parameters.
#[derive(Debug)]
pub(super) struct PostgresQuery {
    pub(super) sql: String,
    pub(super) values: Vec<Cell>,
}

/// The ids and sizes of the records asked for, newest first.
pub(super) fn newest(conditions: &Conditions, before: Option<Uuid>, most: usize) -> PostgresQuery {
    let mut query = narrowed(&format!("SELECT id, {SIZE}"), conditions, before);
    let most = query.value(Cell::Int(bound(most)));
    query
        .sql
        .push_str(&format!(" ORDER BY id DESC LIMIT {most}"));
    query
}

/// How many records there are of each sort.
pub(super) fn tally(conditions: &Conditions) -> PostgresQuery {
    let select = "SELECT type, server_name, tool_name, intent_type, status, count(*)";
    let mut query = narrowed(select, conditions, None);
    query.sql.push_str(" GROUP BY 1, 2, 3, 4, 5");
    query
}

/// How many records there are.
pub(super) fn count(conditions: &Conditions) -> PostgresQuery {
    narrowed("SELECT count(*)", conditions, None)
}

/// Links of a chain in their order: the first of either kind, and of these the first.
pub(super) fn links(columns: &str) -> String {
    format!(
        "SELECT links.number, links.is_opening, {columns}
         FROM (
             (SELECT id, seq AS number, false AS is_opening FROM activity
              WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3)
             UNION ALL
             (SELECT id, opened_seq, true FROM activity
              WHERE chain = $1 AND opened_seq > $2 ORDER BY opened_seq LIMIT $3)
             ORDER BY number LIMIT $3
         ) AS links (link_id, number, is_opening)
         JOIN activity ON activity.id = links.link_id
         ORDER BY links.number"
    )
}

/// Whether nothing can be found, because no text of the database can hold what is asked for.
pub(super) fn is_impossible(conditions: &Conditions) -> bool {
    conditions
        .equal
        .iter()
        .any(|(_, value)| value.text().is_some_and(|text| text.contains('\0')))
}

impl PostgresQuery {
    /// Adds a value and says how the statement calls it.
    fn value(&mut self, value: Cell) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    fn narrow(&mut self, value: Cell, condition: impl FnOnce(&str) -> String) {
        let name = self.value(value);
        self.sql.push_str(" AND ");
        self.sql.push_str(&condition(&name));
    }
}

fn narrowed(select: &str, conditions: &Conditions, before: Option<Uuid>) -> PostgresQuery {
    let mut query = PostgresQuery {
        sql: format!("{select} FROM activity WHERE true"),
        values: Vec::new(),
    };
    for (column, value) in &conditions.equal {
        let is_short = value
            .text()
            .is_none_or(|text| text.chars().nth(199).is_none());
        query.narrow(value.clone(), |name| {
            match (LONG.contains(column), is_short) {
                (false, _) => format!("{column} = {name}"),
                // Equal beginnings that are not cut are equal. Asked once, because the planner takes two
                // conditions for fewer rows, and then sorts them instead of reading them in order.
                (true, true) => format!("left({column}, 200) = {name}"),
                (true, false) => {
                    format!("{column} = {name} AND left({column}, 200) = left({name}, 200)")
                }
            }
        });
    }
    if let Some(end) = conditions.end(before) {
        query.narrow(Cell::from(end), |name| format!("id < {name}"));
    }
    if let Some(first) = conditions.first_id {
        query.narrow(Cell::from(first), |name| format!("id >= {name}"));
    }
    if !conditions.words.is_empty() {
        query.narrow(matching(&conditions.words), |name| {
            format!("words @@ {name}::text::tsquery")
        });
    }
    query
}

/// A search for records that have a word beginning with each of these.
fn matching(words: &[String]) -> Cell {
    let starts: Vec<String> = words
        .iter()
        .map(|word| {
            let quoted = word.replace('\\', "\\\\").replace('\'', "''");
            format!("'{quoted}':*")
        })
        .collect();
    Cell::from(starts.join(" & "))
}
