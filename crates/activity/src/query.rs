//! Queries to either database: those in SQL that both understand, and what differs between them.

use uuid::Uuid;

use crate::chain::ChainHead;
use crate::filter::Conditions;
use crate::row::{Cell, Row};

/// Hash of the link `$2` of the chain `$1`.
pub(crate) const HASH_AT: &str = "
    SELECT hash FROM activity WHERE chain = $1 AND seq = $2
    UNION ALL
    SELECT opened_hash FROM activity WHERE chain = $1 AND opened_seq = $2
    LIMIT 1";

/// Declares what a statement asks for, each with the name that it is read by.
macro_rules! selected {
    ($(#[$doc:meta])* $part:ident { $first:ident = $sql:literal, $($field:ident = $more:literal,)* }) => {
        $(#[$doc])*
        pub(crate) struct $part<'a> {
            pub(crate) $first: &'a Cell,
            $(pub(crate) $field: &'a Cell,)*
        }

        impl<'a> $part<'a> {
            /// Beginning of the statement.
            pub(crate) const SELECT: &'static str = concat!("SELECT ", $sql $(, ", ", $more)*);

            /// Cells of a row that the statement gave.
            pub(crate) fn read(cells: &'a [Cell]) -> Option<Self> {
                let [$first, $($field),*] = cells else {
                    return None;
                };
                Some(Self { $first, $($field),* })
            }
        }
    };
}
pub(crate) use selected;

selected! {
    /// Id and size of a record, as far as it matters. Sizes are known without reading the texts.
    IdAndSize {
        id = "id",
        size = "CAST(coalesce(octet_length(arguments), 0) AS bigint)
            + coalesce(octet_length(response), 0) + coalesce(octet_length(metadata), 0)
            + coalesce(octet_length(error_message), 0) + coalesce(octet_length(warnings), 0)",
    }
}

selected! {
    /// Columns by which records are counted, and the count.
    TallyColumns {
        kind = "type",
        server = "server_name",
        tool = "tool_name",
        intent = "intent_type",
        status = "status",
        count = "count(*)",
    }
}

/// Statement with its parameters, which are called `$1`, `$2` and so on in the order in which the
/// statement first names them: SQLite numbers them by that.
#[derive(Debug, Clone)]
pub(crate) struct StoreQuery {
    pub(crate) sql: String,
    pub(crate) values: Vec<Cell>,
}

/// SQL that each database has in words of its own.
pub(crate) struct Dialect {
    /// Hint to walk along the ids.
    pub(crate) by_id: &'static str,
    /// Condition that an id can be read, and so be paged over.
    pub(crate) has_readable_id: &'static str,
    /// Condition that an id is among those in `$1`, which commas join.
    pub(crate) is_among: &'static str,
    /// Table and condition of the rows that are in no chain.
    pub(crate) strays: &'static str,
    /// Last links of the chain `$1`, of either kind.
    pub(crate) heads: &'static str,
    /// Every chain, each found by one step in an index of the numbers.
    pub(crate) chains: &'static str,
    /// Number, kind and given columns of the links of the chain `$1` after `$2` in their order, at
    /// most `$3`.
    pub(crate) links: fn(&str) -> String,
}

// === impl StoreQuery ===

impl StoreQuery {
    pub(crate) fn new(sql: impl Into<String>, values: impl Into<Vec<Cell>>) -> Self {
        Self {
            sql: sql.into(),
            values: values.into(),
        }
    }

    /// Adds SQL with a value, which stands where it says `{}`.
    pub(crate) fn push(&mut self, sql: &str, value: impl Into<Cell>) {
        self.values.push(value.into());
        let name = format!("${}", self.values.len());
        self.sql.push_str(&sql.replace("{}", &name));
    }

    /// Leaves out ids that the conditions, or a page that begins after `before`, do not want.
    pub(crate) fn narrow_ids(&mut self, conditions: &Conditions, before: Option<Uuid>) {
        if let Some(end) = before.into_iter().chain(conditions.end_id).min() {
            self.push(" AND id < {}", end);
        }
        if let Some(first) = conditions.first_id {
            self.push(" AND id >= {}", first);
        }
    }
}

// === impl Dialect ===

impl Dialect {
    /// Id of the record that `$1` newer ones precede.
    pub(crate) fn nth_newest(&self) -> String {
        let by_id = self.by_id;
        format!("SELECT id FROM activity {by_id} ORDER BY id DESC LIMIT 1 OFFSET $1")
    }

    /// Lowest number of the chain `$1` among its first `$3` records since the id `$2`.
    pub(crate) fn first_since(&self) -> String {
        let by_id = self.by_id;
        format!(
            "SELECT min(coalesce(opened_seq, seq)) FROM (
                 SELECT opened_seq, seq FROM activity {by_id}
                 WHERE chain = $1 AND id >= $2 ORDER BY id LIMIT $3
             ) AS since"
        )
    }

    /// Rows with the ids in `$1`.
    pub(crate) fn rows(&self) -> String {
        let columns = Row::column_names();
        format!("SELECT {columns} FROM activity WHERE {}", self.is_among)
    }

    /// First row that is in no chain.
    pub(crate) fn stray(&self) -> String {
        let columns = Row::column_names();
        format!("SELECT {columns} FROM {} ORDER BY id LIMIT 1", self.strays)
    }
}

/// Last link of a chain, of its last ones of either kind: they share their numbers.
pub(crate) fn head(found: &[Vec<Cell>]) -> ChainHead {
    let heads = found.iter().filter_map(|cells| {
        let [seq, hash] = cells.as_slice() else {
            return None;
        };
        Some(ChainHead {
            seq: seq.int()?,
            hash: hash.hash(),
        })
    });
    heads
        .max_by_key(|head| head.seq)
        .unwrap_or(ChainHead::EMPTY)
}
