//! Queries, put so that they can be answered from an index. Which one is best, PostgreSQL knows
//! better than we do: it keeps count of how often a value occurs.

use uuid::Uuid;

use crate::filter::Conditions;
use crate::query::{Dialect, StoreQuery};

/// SQL in the words of PostgreSQL.
pub(super) const DIALECT: Dialect = Dialect {
    by_id: "",
    has_readable_id: "",
    is_among: "id = ANY (string_to_array($1, ',')::uuid[])",
    strays: "activity WHERE seq IS NULL AND opened_seq IS NULL",
    heads: "
    (SELECT seq, hash FROM activity
     WHERE chain = $1 AND seq IS NOT NULL ORDER BY seq DESC LIMIT 1)
    UNION ALL
    (SELECT opened_seq, opened_hash FROM activity
     WHERE chain = $1 AND opened_seq IS NOT NULL ORDER BY opened_seq DESC LIMIT 1)",
    chains: "
    WITH RECURSIVE chains (chain) AS (
        (SELECT chain FROM activity ORDER BY chain LIMIT 1)
        UNION ALL
        SELECT (SELECT activity.chain FROM activity
                WHERE activity.chain > chains.chain ORDER BY activity.chain LIMIT 1)
        FROM chains WHERE chains.chain IS NOT NULL
    )
    SELECT chain FROM chains WHERE chain IS NOT NULL",
    // The first of either kind, and of these the first.
    links: |columns| {
        format!(
            "SELECT links.number, links.is_opening, {columns}
             FROM (
                 (SELECT id, seq AS number, 0::bigint AS is_opening FROM activity
                  WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3)
                 UNION ALL
                 (SELECT id, opened_seq, 1::bigint FROM activity
                  WHERE chain = $1 AND opened_seq > $2 ORDER BY opened_seq LIMIT $3)
                 ORDER BY number LIMIT $3
             ) AS links (link_id, number, is_opening)
             JOIN activity ON activity.id = links.link_id
             ORDER BY links.number"
        )
    },
};

/// Texts from outside, of which only how they begin is in the index.
const LONG: [&str; 4] = ["server_name", "tool_name", "session_id", "agent"];

/// Query of what is selected from the records that the conditions admit.
pub(super) fn narrowed(select: &str, conditions: &Conditions, before: Option<Uuid>) -> StoreQuery {
    let mut query = StoreQuery::new(format!("{select} FROM activity WHERE true"), []);
    for (column, value) in &conditions.equal {
        let text = value.text().unwrap_or_default();
        let condition = if !LONG.contains(column) {
            format!(" AND {column} = {{}}")
        } else if text.chars().nth(199).is_none() {
            // Equal beginnings that are not cut are equal. Asked once, because the planner takes
            // two conditions for fewer rows, and then sorts them instead of reading them in order.
            format!(" AND left({column}, 200) = {{}}")
        } else {
            format!(" AND {column} = {{}} AND left({column}, 200) = left({{}}, 200)")
        };
        query.push(&condition, value.clone());
    }
    if conditions.without_token {
        query.sql.push_str(" AND token_id IS NULL");
    }
    query.narrow_ids(conditions, before);
    if !conditions.words.is_empty() {
        let words = matching(&conditions.words);
        query.push(" AND words @@ {}::text::tsquery", words);
    }
    query
}

/// Search for records that have a word beginning with each of these.
fn matching(words: &[String]) -> String {
    let starts: Vec<String> = words
        .iter()
        .map(|word| {
            let quoted = word.replace('\\', "\\\\").replace('\'', "''");
            format!("'{quoted}':*")
        })
        .collect();
    starts.join(" & ")
}
