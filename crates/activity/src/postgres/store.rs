//! Reading.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use futures_util::future::BoxFuture;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Error, NoTls, Row as Found};
use uuid::Uuid;

use super::cells::{self, COLUMNS, PostgresParameter};
use super::fault::{explained, is_lost, too_slow};
use super::journal::head;
use super::query::{self, PostgresQuery};
use super::{migrate, session};
use crate::chain::ChainHead;
use crate::filter::{Conditions, Filter};
use crate::record::Record;
use crate::row::{Cell, Row};
use crate::store::{RecordPage, Store, StoreError, StoredLink};
use crate::summary::Tally;

/// Queries of one process that are answered at once.
const MOST: usize = 4;

/// Time that a query waits for a connection.
const SLOT_WAIT: Duration = Duration::from_secs(30);

/// How long a connection may take to be made.
const GREETING: Duration = Duration::from_secs(10);

/// How long an answer may take; more than the server allows, so that it is the one to give up.
const ANSWER: Duration = Duration::from_secs(45);

/// A page ends when its records have this much text: it is held in memory as a whole.
const PAGE_BYTES: i64 = 8 * 1024 * 1024;

/// The most records of one page.
const PAGE_RECORDS: usize = 10_000;

/// How many of the records since a moment are looked at for the lowest number.
const LOOKED_AT: i64 = 10_000;

/// The records in a database.
pub(super) struct PostgresStore {
    pool: Pool,
    /// Whether the tables are known to be there.
    is_ready: AtomicBool,
}

impl PostgresStore {
    /// Prepares for reading; connects at the first query.
    pub(super) fn new(config: Config) -> Result<Self, StoreError> {
        let manager = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let set_up = Hook::async_fn(|client: &mut deadpool_postgres::ClientWrapper, _| {
            Box::pin(async move {
                let set_up = client.batch_execute(session::SETTINGS);
                set_up.await.map_err(HookError::Backend)
            })
        });
        let pool = Pool::builder(Manager::from_config(config, NoTls, manager))
            .max_size(MOST)
            .wait_timeout(Some(SLOT_WAIT))
            .create_timeout(Some(GREETING))
            .recycle_timeout(Some(GREETING))
            .runtime(Runtime::Tokio1)
            .post_create(set_up)
            .build()
            .map_err(|error| {
                StoreError::Unusable(format!(
                    "The activity log cannot be connected to its database: {error}"
                ))
            })?;
        Ok(Self {
            pool,
            is_ready: AtomicBool::new(false),
        })
    }

    /// Asks, and asks again where the connection broke while nobody used it.
    async fn ask(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Found>, StoreError> {
        for is_last in [false, true] {
            let client = self.client().await?;
            let answer = async {
                let statement = client.prepare_cached(sql).await?;
                client.query(&statement, values).await
            };
            match tokio::time::timeout(ANSWER, answer).await {
                Err(_) => {
                    // The answer may still come, and must not be taken for another one's.
                    drop(Object::take(client));
                    return Err(too_slow());
                }
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(error)) if is_last || !is_lost(&error) => return Err(explained(&error)),
                Ok(Err(_)) => drop(Object::take(client)),
            }
        }
        Err(too_slow())
    }

    async fn ask_query(&self, query: &PostgresQuery) -> Result<Vec<Found>, StoreError> {
        let values: Vec<PostgresParameter<'_>> =
            query.values.iter().map(PostgresParameter).collect();
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        self.ask(&query.sql, &values).await
    }

    async fn client(&self) -> Result<Object, StoreError> {
        let mut client = self.pool.get().await.map_err(|error| no_client(&error))?;
        if !self.is_ready.load(Ordering::Acquire) {
            migrate::migrate(&mut client).await?;
            self.is_ready.store(true, Ordering::Release);
        }
        Ok(client)
    }

    async fn page(
        &self,
        conditions: &Conditions,
        before: Option<Uuid>,
        limit: usize,
    ) -> Result<RecordPage, StoreError> {
        let limit = limit.clamp(1, PAGE_RECORDS);
        let mut before = before;
        loop {
            let query = query::newest(conditions, before, limit + 1);
            let found = self.ask_query(&query).await?;
            let (ids, next) = fitting(&found, limit).map_err(|error| explained(&error))?;
            let records = self.records(&ids).await?;
            // Where a whole page cannot be read, the next one may: an empty one would look like
            // the end.
            if !records.is_empty() || next.is_none() {
                return Ok(RecordPage { records, next });
            }
            before = next;
        }
    }

    async fn records(&self, ids: &[Cell]) -> Result<Vec<Record>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<PostgresParameter<'_>> = ids.iter().map(PostgresParameter).collect();
        let sql = format!(
            "SELECT {} FROM activity WHERE id = ANY ($1) ORDER BY id DESC",
            *COLUMNS
        );
        let found = self.ask(&sql, &[&ids]).await?;
        let rows = rows(&found)?;
        Ok(rows.iter().filter_map(readable).collect())
    }
}

impl Store for PostgresStore {
    fn page<'a>(
        &'a self,
        filter: &'a Filter,
        before: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'a, Result<RecordPage, StoreError>> {
        Box::pin(async move {
            let conditions = filter.conditions();
            if query::is_impossible(&conditions) {
                return Ok(RecordPage::default());
            }
            self.page(&conditions, before, limit).await
        })
    }

    fn find(&self, id: Uuid) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            let found = self.records(&[Cell::from(id)]).await?;
            Ok(found.into_iter().next())
        })
    }

    fn tally<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<Vec<Tally>, StoreError>> {
        Box::pin(async move {
            let conditions = filter.conditions();
            if query::is_impossible(&conditions) {
                return Ok(Vec::new());
            }
            let found = self.ask_query(&query::tally(&conditions)).await?;
            let tallies: Result<_, Error> = found.iter().map(tally).collect();
            tallies.map_err(|error| explained(&error))
        })
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let conditions = filter.conditions();
            if query::is_impossible(&conditions) {
                return Ok(0);
            }
            let found = self.ask_query(&query::count(&conditions)).await?;
            let count: Option<i64> = first(&found)?;
            Ok(count.map_or(0, number))
        })
    }

    fn chains(&self) -> BoxFuture<'_, Result<Vec<(Uuid, ChainHead)>, StoreError>> {
        Box::pin(async move {
            let found = self.ask(query::CHAINS, &[]).await?;
            let client = self.client().await?;
            let mut chains = Vec::with_capacity(found.len());
            for row in &found {
                let chain = cells::cell(row, 0).map_err(|error| explained(&error))?;
                if let Some(chain) = chain.uuid() {
                    let head = head(&client, chain).await;
                    chains.push((chain, head.map_err(|error| explained(&error))?));
                }
            }
            Ok(chains)
        })
    }

    fn links(
        &self,
        chain: Uuid,
        after: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredLink>, StoreError>> {
        Box::pin(async move {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let chain = Cell::from(chain);
            let values: [&(dyn ToSql + Sync); 3] = [&PostgresParameter(&chain), &after, &limit];
            let found = self.ask(&query::links(&COLUMNS), &values).await?;
            let links: Result<_, Error> = found.iter().map(link).collect();
            links.map_err(|error| explained(&error))
        })
    }

    fn stray(&self) -> BoxFuture<'_, Result<Option<Row>, StoreError>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {} FROM activity WHERE seq IS NULL AND opened_seq IS NULL ORDER BY id LIMIT 1",
                *COLUMNS
            );
            let found = self.ask(&sql, &[]).await?;
            Ok(rows(&found)?.into_iter().next())
        })
    }

    fn nth_newest(&self, newer: u64) -> BoxFuture<'_, Result<Option<Uuid>, StoreError>> {
        Box::pin(async move {
            let newer = i64::try_from(newer).unwrap_or(i64::MAX);
            let sql = "SELECT id FROM activity ORDER BY id DESC OFFSET $1 LIMIT 1";
            let found = self.ask(sql, &[&newer]).await?;
            let id = found.first().map(|row| cells::cell(row, 0)).transpose();
            let id = id.map_err(|error| explained(&error))?;
            Ok(id.and_then(|id| id.uuid()))
        })
    }

    fn first_since(&self, chain: Uuid, id: Uuid) -> BoxFuture<'_, Result<Option<i64>, StoreError>> {
        Box::pin(async move {
            let (chain, id) = (Cell::from(chain), Cell::from(id));
            let values: [&(dyn ToSql + Sync); 3] = [
                &PostgresParameter(&chain),
                &PostgresParameter(&id),
                &LOOKED_AT,
            ];
            let found = self.ask(query::FIRST_SINCE, &values).await?;
            first(&found)
        })
    }
}

/// The ids of as many records as fit into a page, and where the next one begins.
fn fitting(found: &[Found], limit: usize) -> Result<(Vec<Cell>, Option<Uuid>), Error> {
    let mut ids: Vec<Cell> = Vec::new();
    let mut bytes = 0;
    for row in found {
        if ids.len() == limit || bytes >= PAGE_BYTES {
            let next = ids.last().and_then(Cell::uuid);
            return Ok((ids, next));
        }
        bytes += row.try_get::<_, i64>(1)?;
        ids.push(cells::cell(row, 0)?);
    }
    Ok((ids, None))
}

fn rows(found: &[Found]) -> Result<Vec<Row>, StoreError> {
    let rows: Result<_, Error> = found.iter().map(|row| cells::read_row(row, 0)).collect();
    rows.map_err(|error| explained(&error))
}

fn link(row: &Found) -> Result<StoredLink, Error> {
    Ok(StoredLink {
        seq: row.try_get(0)?,
        is_opening: row.try_get(1)?,
        row: cells::read_row(row, 2)?,
    })
}

fn tally(row: &Found) -> Result<Tally, Error> {
    Ok(Tally {
        kind: row.try_get::<_, Option<String>>(0)?.unwrap_or_default(),
        server: row.try_get(1)?,
        tool: row.try_get(2)?,
        intent: row.try_get(3)?,
        status: row.try_get::<_, Option<String>>(4)?.unwrap_or_default(),
        count: number(row.try_get(5)?),
    })
}

fn first(found: &[Found]) -> Result<Option<i64>, StoreError> {
    let number = found.first().map(|row| row.try_get(0)).transpose();
    number
        .map(Option::flatten)
        .map_err(|error| explained(&error))
}

fn readable(row: &Row) -> Option<Record> {
    let record = row.to_record();
    if record.is_none() {
        let id = row.id().unwrap_or_default();
        tracing::warn!(%id, "a record of the activity log cannot be read and is left out; `mcpproxy activity verify` tells more");
    }
    record
}

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn no_client(error: &PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            explained(error)
        }
        _ => too_slow(),
    }
}
