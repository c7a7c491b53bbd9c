//! Reading.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Error, NoTls, Row as Found};
use uuid::Uuid;

use super::cells::{self, PostgresParameter};
use super::fault::{is_lost, too_slow};
use super::journal::head;
use super::query::{self, PostgresQuery};
use super::{migrate, session};
use crate::chain::ChainHead;
use crate::filter::Filter;
use crate::record::Record;
use crate::row::{Cell, Row};
use crate::store::{
    LOOKED_AT, PAGE_BYTES, PAGE_RECORDS, RecordPage, Store, StoreError, StoredLink, bound, counted,
    readable,
};
use crate::summary::Tally;

/// Queries of one process that are answered at once.
const MOST: usize = 4;

/// Time that a query waits for a connection.
const SLOT_WAIT: Duration = Duration::from_secs(30);

/// How long a connection may take to be made.
const GREETING: Duration = Duration::from_secs(10);

/// How long an answer may take; more than the server allows, so that it is the one to give up.
const ANSWER: Duration = Duration::from_secs(45);

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
                Ok(Err(error)) if is_last || !is_lost(&error) => return Err(error.into()),
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
        let mut client = self.pool.get().await.map_err(no_client)?;
        if !self.is_ready.load(Ordering::Acquire) {
            migrate::migrate(&mut client).await?;
            self.is_ready.store(true, Ordering::Release);
        }
        Ok(client)
    }

    async fn records(&self, ids: &[Cell]) -> Result<Vec<Record>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<PostgresParameter<'_>> = ids.iter().map(PostgresParameter).collect();
        let sql = format!(
            "SELECT {} FROM activity WHERE id = ANY ($1) ORDER BY id DESC",
            Row::column_names()
        );
        let rows = rows(&self.ask(&sql, &[&ids]).await?)?;
        Ok(rows.iter().filter_map(readable).collect())
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn page(
        &self,
        filter: &Filter,
        before: Option<Uuid>,
        limit: usize,
    ) -> Result<RecordPage, StoreError> {
        let conditions = filter.conditions();
        if query::is_impossible(&conditions) {
            return Ok(RecordPage::default());
        }
        let limit = limit.clamp(1, PAGE_RECORDS);
        let mut before = before;
        loop {
            let query = query::newest(&conditions, before, limit + 1);
            let found = self.ask_query(&query).await?;
            let (ids, next) = fitting(&found, limit)?;
            let records = self.records(&ids).await?;
            // Where a whole page cannot be read, the next one may: an empty one would look like
            // the end.
            if !records.is_empty() || next.is_none() {
                return Ok(RecordPage { records, next });
            }
            before = next;
        }
    }

    async fn find(&self, id: Uuid) -> Result<Option<Record>, StoreError> {
        let found = self.records(&[Cell::from(id)]).await?;
        Ok(found.into_iter().next())
    }

    async fn tally(&self, filter: &Filter) -> Result<Vec<Tally>, StoreError> {
        let conditions = filter.conditions();
        if query::is_impossible(&conditions) {
            return Ok(Vec::new());
        }
        let found = self.ask_query(&query::tally(&conditions)).await?;
        found.iter().map(tally).collect()
    }

    async fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let conditions = filter.conditions();
        if query::is_impossible(&conditions) {
            return Ok(0);
        }
        let found = self.ask_query(&query::count(&conditions)).await?;
        Ok(first(&found)?.map_or(0, counted))
    }

    async fn chains(&self) -> Result<Vec<(Uuid, ChainHead)>, StoreError> {
        let found = self.ask(query::CHAINS, &[]).await?;
        let client = self.client().await?;
        let mut chains = Vec::with_capacity(found.len());
        for row in &found {
            if let Some(chain) = cells::cell(row, 0)?.uuid() {
                chains.push((chain, head(&client, chain).await?));
            }
        }
        Ok(chains)
    }

    async fn links(
        &self,
        chain: Uuid,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredLink>, StoreError> {
        let (chain, limit) = (Cell::from(chain), bound(limit));
        let values: [&(dyn ToSql + Sync); 3] = [&PostgresParameter(&chain), &after, &limit];
        let found = self
            .ask(&query::links(Row::column_names()), &values)
            .await?;
        found.iter().map(link).collect()
    }

    async fn stray(&self) -> Result<Option<Row>, StoreError> {
        let sql = format!(
            "SELECT {} FROM activity WHERE seq IS NULL AND opened_seq IS NULL ORDER BY id LIMIT 1",
            Row::column_names()
        );
        let found = self.ask(&sql, &[]).await?;
        Ok(rows(&found)?.into_iter().next())
    }

    async fn nth_newest(&self, newer: u64) -> Result<Option<Uuid>, StoreError> {
        let sql = "SELECT id FROM activity ORDER BY id DESC OFFSET $1 LIMIT 1";
        let found = self.ask(sql, &[&bound(newer)]).await?;
        let id = found.first().map(|row| cells::cell(row, 0)).transpose()?;
        Ok(id.and_then(|id| id.uuid()))
    }

    async fn first_since(&self, chain: Uuid, id: Uuid) -> Result<Option<i64>, StoreError> {
        let (chain, id) = (Cell::from(chain), Cell::from(id));
        let (chain, id) = (PostgresParameter(&chain), PostgresParameter(&id));
        let values: [&(dyn ToSql + Sync); 3] = [&chain, &id, &LOOKED_AT];
        first(&self.ask(query::FIRST_SINCE, &values).await?)
    }
}

/// The ids of as many records as fit into a page, and where the next one begins.
fn fitting(found: &[Found], limit: usize) -> Result<(Vec<Cell>, Option<Uuid>), Error> {
    let mut ids: Vec<Cell> = Vec::new();
    let mut bytes = 0;
    for row in found {
        if ids.len() == limit || bytes >= bound(PAGE_BYTES) {
            let next = ids.last().and_then(Cell::uuid);
            return Ok((ids, next));
        }
        bytes += row.try_get::<_, i64>(1)?;
        ids.push(cells::cell(row, 0)?);
    }
    Ok((ids, None))
}

fn rows(found: &[Found]) -> Result<Vec<Row>, Error> {
    found.iter().map(|row| cells::read_row(row, 0)).collect()
}

fn link(row: &Found) -> Result<StoredLink, StoreError> {
    Ok(StoredLink {
        seq: row.try_get(0)?,
        is_opening: row.try_get(1)?,
        row: cells::read_row(row, 2)?,
    })
}

fn tally(row: &Found) -> Result<Tally, StoreError> {
    Ok(Tally {
        kind: row.try_get::<_, Option<String>>(0)?.unwrap_or_default(),
        server: row.try_get(1)?,
        tool: row.try_get(2)?,
        intent: row.try_get(3)?,
        status: row.try_get::<_, Option<String>>(4)?.unwrap_or_default(),
        count: counted(row.try_get(5)?),
    })
}

fn first(found: &[Found]) -> Result<Option<i64>, StoreError> {
    let number = found.first().map(|row| row.try_get(0)).transpose()?;
    Ok(number.flatten())
}

fn no_client(error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            error.into()
        }
        _ => too_slow(),
    }
}
