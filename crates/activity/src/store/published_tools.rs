//! Tools as servers published them, in the database of the log.
//!
//! Both databases have the table `published_tools`, and understand the SQL in here. A row stays as it is until it is
//! stored anew or forgotten. The moment that a tool was first seen never changes, and that of its deprecation only when
//! the deprecation is withdrawn.

use jiff::Timestamp;

use super::{Store, StoreError, bound};
use crate::query::{StoreQuery, selected};
use crate::row::Cell;

/// Most tools of one server that are stored: more than any server sensibly has, and few enough to compare all of them.
pub const MOST_PUBLISHED: usize = 1_000;

/// Largest definition that is stored, in bytes: ten times what large tools have.
pub const LARGEST_DEFINITION: usize = 64 * 1024;

/// Most tools that one statement stores; each takes five of its parameters.
const MOST_IN_STATEMENT: usize = 100;

const OF_SERVER: &str = " FROM published_tools WHERE server = $1 ORDER BY tool LIMIT $2";

selected! {
    /// Columns of a published tool.
    PublishedColumns {
        tool = "tool",
        definition = "definition",
        first_seen = "first_seen",
        deprecation_seen = "deprecation_seen",
    }
}

/// Clause by which what was seen first stays, whoever stores later; but a deprecation that was withdrawn is none.
const KEEP_FIRST: &str = "
    ON CONFLICT (server, tool) DO UPDATE SET definition = excluded.definition,
        deprecation_seen = CASE WHEN excluded.deprecation_seen IS NULL THEN NULL
            ELSE coalesce(published_tools.deprecation_seen, excluded.deprecation_seen) END";

/// Row of a tool where there is one, else any other of its server.
const NEAREST: &str = "
    SELECT tool FROM published_tools WHERE server = $1
    ORDER BY CASE WHEN tool = $2 THEN 0 ELSE 1 END LIMIT 1";

const FORGET: &str = "DELETE FROM published_tools WHERE server = $1 AND tool = $2";

/// Tool of a server as it was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDefinition {
    /// Name of the tool.
    pub tool: String,
    /// The tool, as JSON.
    pub definition: String,
    /// Moment that it was first seen.
    pub first_seen: Timestamp,
    /// Moment that it was first seen as deprecated.
    pub deprecation_seen: Option<Timestamp>,
}

/// Store of published tools. A clone uses the same database.
#[derive(Clone)]
pub struct PublishedStore(Store);

impl PublishedStore {
    /// Published tools beside the records of a store.
    pub fn beside(records: Store) -> Self {
        Self(records)
    }

    /// Tools that a server published, in the order of their names. One that somebody made unreadable is left out.
    pub async fn of_server(&self, server: &str) -> Result<Vec<StoredDefinition>, StoreError> {
        let most = bound(MOST_PUBLISHED).into();
        let all = format!("{}{OF_SERVER}", PublishedColumns::SELECT);
        let query = StoreQuery::new(all, [server.into(), most]);
        let found = self.0.ask(query).await?;
        Ok(found.iter().filter_map(|cells| read(cells)).collect())
    }

    /// Whether a server published a tool, or another one; nothing if it published none.
    pub async fn has_published(
        &self,
        server: &str,
        tool: &str,
    ) -> Result<Option<bool>, StoreError> {
        let query = StoreQuery::new(NEAREST, [server.into(), tool.into()]);
        let found = self.0.ask(query).await?;
        let name = found.first().and_then(|cells| cells.first()?.owned());
        Ok(name.map(|name| name == tool))
    }

    /// Stores tools of a server. The caller sees to it that they are no more than [`MOST_PUBLISHED`], and none larger than
    /// [`LARGEST_DEFINITION`].
    pub async fn put(&self, server: &str, tools: &[StoredDefinition]) -> Result<(), StoreError> {
        for part in tools.chunks(MOST_IN_STATEMENT) {
            self.0.change(insert(server, part)).await?;
        }
        Ok(())
    }

    /// Forgets a tool of a server.
    pub async fn forget(&self, server: &str, tool: &str) -> Result<(), StoreError> {
        let query = StoreQuery::new(FORGET, [server.into(), tool.into()]);
        self.0.change(query).await.map(drop)
    }
}

fn insert(server: &str, tools: &[StoredDefinition]) -> StoreQuery {
    let columns = "server, tool, definition, first_seen, deprecation_seen";
    let mut query = StoreQuery::new(
        format!("INSERT INTO published_tools ({columns}) VALUES "),
        [],
    );
    for (index, tool) in tools.iter().enumerate() {
        let start = if index == 0 { "(" } else { ", (" };
        query.push(&format!("{start}CAST({{}} AS text), "), server);
        query.push("CAST({} AS text), ", tool.tool.as_str());
        query.push("CAST({} AS text), ", tool.definition.as_str());
        query.push("CAST({} AS bigint), ", tool.first_seen.as_millisecond());
        let deprecation_seen = tool.deprecation_seen.map(Timestamp::as_millisecond);
        query.push("CAST({} AS bigint))", deprecation_seen);
    }
    query.sql.push_str(KEEP_FIRST);
    query
}

fn read(cells: &[Cell]) -> Option<StoredDefinition> {
    let cells = PublishedColumns::read(cells)?;
    let moment = |cell: &Cell| Timestamp::from_millisecond(cell.int()?).ok();
    Some(StoredDefinition {
        tool: cells.tool.owned()?,
        definition: cells.definition.owned()?,
        first_seen: moment(cells.first_seen)?,
        deprecation_seen: moment(cells.deprecation_seen),
    })
}
