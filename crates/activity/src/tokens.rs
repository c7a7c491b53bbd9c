//! Tokens of agents, in the database of the log.
//!
//! Both databases have the table `tokens`, and understand the SQL in here. The secret of a token is in neither: only its
//! hash is.

use std::path::Path;

use jiff::Timestamp;
use mcpproxy_policy::TokenGrant;

use crate::archive::{Engine, open_store};
use crate::query::{StoreQuery, selected};
use crate::row::Cell;
use crate::store::{Store, StoreError};

/// Most tokens that there are: a gateway holds all of them in memory, and people have to know whose they are.
pub const MOST_TOKENS: usize = 1_000;

/// Most tokens that one statement notes the use of; each takes two of its parameters.
const MOST_IN_STATEMENT: usize = 500;

const IN_ORDER: &str = " FROM tokens ORDER BY id LIMIT $1";

selected! {
    /// Columns of a token.
    TokenColumns {
        id = "id",
        name = "name",
        hash = "hash",
        grant = "rights",
        created = "created",
        expires = "expires",
        last_used = "last_used",
    }
}

/// A name that is taken gives the id of the token that has it; nothing comes back when there are too many.
const INSERT: &str = "
    INSERT INTO tokens (id, name, hash, rights, created, expires, last_used)
    SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text),
           CAST($5 AS bigint), CAST($6 AS bigint), CAST($7 AS bigint)
    WHERE (SELECT count(*) FROM tokens) < $8 OR EXISTS (SELECT 1 FROM tokens WHERE name = $2)
    ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING id";

const ROTATE: &str = "
    UPDATE tokens SET hash = $1, created = $2, expires = $3, last_used = NULL WHERE id = $4 RETURNING id";

const REMOVE: &str = "DELETE FROM tokens WHERE name = $1 RETURNING id";

/// Notes the latest use, unless a later one is known.
const TOUCH: &str = "
    UPDATE tokens SET last_used = latest.moment
    FROM (SELECT id, max(moment) AS moment FROM used GROUP BY id) AS latest
    WHERE tokens.id = latest.id AND (last_used IS NULL OR last_used < latest.moment)";

/// Token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    /// Id that never belongs to another token.
    pub id: String,
    /// Name that people gave it.
    pub name: String,
    /// SHA-256 of its secret, in hexadecimal.
    pub hash: String,
    /// Grant of the token.
    pub grant: TokenGrant,
    /// Moment it was made.
    pub created: Timestamp,
    /// Moment from which on it admits nobody; none for a token that does not expire.
    pub expires: Option<Timestamp>,
    /// Moment it was last used.
    pub last_used: Option<Timestamp>,
}

/// Outcome of storing a new token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// The token is stored.
    Done,
    /// Another token has the name.
    NameTaken,
    /// There are [`MOST_TOKENS`] already.
    TooMany,
}

/// Store of tokens. A clone uses the same database.
#[derive(Clone)]
pub struct TokenStore(Store);

impl TokenStore {
    /// Opens the tokens of a data directory without a running gateway; makes the database where it is not there yet.
    pub fn open(data_dir: &Path, engine: &Engine) -> Result<Self, StoreError> {
        Ok(Self(open_store(data_dir, engine)?.store))
    }

    /// Tokens beside the records of a store.
    pub fn beside(records: Store) -> Self {
        Self(records)
    }

    /// Every token, in the order of names. One that somebody made unreadable is left out: it admits nobody.
    pub async fn all(&self) -> Result<Vec<StoredToken>, StoreError> {
        let all = format!("{}{IN_ORDER}", TokenColumns::SELECT);
        let found = self.0.ask(StoreQuery::new(all, [most()])).await?;
        let mut tokens: Vec<StoredToken> =
            found.iter().filter_map(|cells| readable(cells)).collect();
        tokens.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(tokens)
    }

    /// Stores a new token, if its name is free and there is room for it.
    pub async fn insert(&self, token: &StoredToken) -> Result<Inserted, StoreError> {
        let grant = serde_json::to_string(&token.grant).map_err(|error| {
            StoreError::Unusable(format!("The token cannot be stored: {error}"))
        })?;
        let values = [
            token.id.as_str().into(),
            token.name.as_str().into(),
            token.hash.as_str().into(),
            grant.into(),
            milliseconds(token.created).into(),
            token.expires.map(milliseconds).into(),
            token.last_used.map(milliseconds).into(),
            most(),
        ];
        let stored = self.0.change(StoreQuery::new(INSERT, values)).await?;
        Ok(match stored.iter().flatten().find_map(Cell::text) {
            Some(id) if id == token.id => Inserted::Done,
            Some(_) => Inserted::NameTaken,
            None => Inserted::TooMany,
        })
    }

    /// Gives a token the secret and the times of this one, which was not used yet; tells whether it is there.
    pub async fn rotate(&self, token: &StoredToken) -> Result<bool, StoreError> {
        let values = [
            token.hash.as_str().into(),
            milliseconds(token.created).into(),
            token.expires.map(milliseconds).into(),
            token.id.as_str().into(),
        ];
        let changed = self.0.change(StoreQuery::new(ROTATE, values)).await?;
        Ok(!changed.is_empty())
    }

    /// Removes a token; tells whether it was there.
    pub async fn remove(&self, name: &str) -> Result<bool, StoreError> {
        let removed = self
            .0
            .change(StoreQuery::new(REMOVE, [name.into()]))
            .await?;
        Ok(!removed.is_empty())
    }

    /// Notes when tokens, by their ids, were used. What is noted never goes back in time.
    pub async fn touch(&self, used: &[(String, Timestamp)]) -> Result<(), StoreError> {
        for part in used.chunks(MOST_IN_STATEMENT) {
            self.0.change(touch(part)).await?;
        }
        Ok(())
    }
}

fn touch(used: &[(String, Timestamp)]) -> StoreQuery {
    let mut query = StoreQuery::new("WITH used (id, moment) AS (VALUES ", []);
    for (index, (id, moment)) in used.iter().enumerate() {
        let start = if index == 0 { "(" } else { ", (" };
        query.push(&format!("{start}CAST({{}} AS text), "), id.as_str());
        query.push("CAST({} AS bigint))", milliseconds(*moment));
    }
    query.sql.push(')');
    query.sql.push_str(TOUCH);
    query
}

/// Token of a row, unless somebody made the row unreadable.
fn readable(cells: &[Cell]) -> Option<StoredToken> {
    let cells = TokenColumns::read(cells)?;
    let token = read(&cells);
    if token.is_none() {
        let name = cells.name.text().unwrap_or_default();
        tracing::warn!(
            token = name,
            "a token cannot be read and admits nobody; revoke it and create another one"
        );
    }
    token
}

fn read(cells: &TokenColumns<'_>) -> Option<StoredToken> {
    // A list would do, too, and would be read by its order.
    let grant = cells.grant.text().filter(|text| text.starts_with('{'))?;
    Some(StoredToken {
        id: cells.id.owned()?,
        name: cells.name.owned()?,
        hash: cells.hash.owned()?,
        grant: serde_json::from_str(grant).ok()?,
        created: moment(cells.created)??,
        expires: moment(cells.expires)?,
        last_used: moment(cells.last_used)?,
    })
}

/// Moment of a cell, which may hold none; nothing where it holds something else.
#[expect(
    clippy::option_option,
    reason = "an expiry that cannot be read must not look like a token that does not expire"
)]
fn moment(cell: &Cell) -> Option<Option<Timestamp>> {
    match cell {
        Cell::Null => Some(None),
        _ => Timestamp::from_millisecond(cell.int()?).ok().map(Some),
    }
}

fn milliseconds(moment: Timestamp) -> i64 {
    moment.as_millisecond()
}

fn most() -> Cell {
    Cell::Int(crate::store::bound(MOST_TOKENS))
}
