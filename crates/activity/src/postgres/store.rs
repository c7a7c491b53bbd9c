//! Reading.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use tokio_postgres::Error;
use uuid::Uuid;

use super::address::PostgresAddress;
use super::fault::{is_lost, too_slow};
use super::{cells, query, session};
use crate::filter::Conditions;
use crate::query::{Dialect, StoreQuery};
use crate::row::Cell;
use crate::store::{DatabaseReader, MOST_QUERIES, SLOT_WAIT, StoreError};

/// Number by which changes take turns; it means nothing else.
const TURN: i64 = 0x6d63_7070_7475_726e;

/// Kind of a statement: whether it leaves the database as it is.
#[derive(Debug, Clone, Copy)]
enum StatementKind {
    Reads,
    Changes,
}

/// Reads a database.
pub(super) struct PostgresReader {
    pool: Pool,
    /// Whether the tables are known to be there.
    is_ready: AtomicBool,
}

impl PostgresReader {
    /// Prepares for reading; connects at the first query.
    pub(super) fn new(address: PostgresAddress) -> Result<Self, StoreError> {
        let manager = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let set_up = Hook::async_fn(|client: &mut deadpool_postgres::ClientWrapper, _| {
            Box::pin(async move {
                let set_up = client.batch_execute(session::SETTINGS);
                set_up.await.map_err(HookError::Backend)
            })
        });
        let PostgresAddress { config, tls } = address;
        let pool = Pool::builder(Manager::from_config(config, tls, manager))
            .max_size(MOST_QUERIES)
            .wait_timeout(Some(SLOT_WAIT))
            .create_timeout(Some(session::GREETING))
            .recycle_timeout(Some(session::GREETING))
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

    async fn client(&self) -> Result<Object, StoreError> {
        let mut client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                error.into()
            }
            _ => too_slow(),
        })?;
        if !self.is_ready.load(Ordering::Acquire) {
            session::bring_up_to_date(&mut client).await?;
            self.is_ready.store(true, Ordering::Release);
        }
        Ok(client)
    }

    /// Runs a statement, and runs it again where the connection broke while nobody used it. All that change something
    /// leave the same when they run twice.
    async fn run(
        &self,
        query: &StoreQuery,
        kind: StatementKind,
    ) -> Result<Vec<Vec<Cell>>, StoreError> {
        for is_last in [false, true] {
            let mut client = self.client().await?;
            let answer = async {
                match kind {
                    StatementKind::Reads => read(&client, query).await,
                    StatementKind::Changes => change(&mut client, query).await,
                }
            };
            match tokio::time::timeout(session::ANSWER, answer).await {
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
}

async fn read(client: &Object, query: &StoreQuery) -> Result<Vec<Vec<Cell>>, Error> {
    let statement = client.prepare_cached(&query.sql).await?;
    cells::ask(client, &statement, &query.values).await
}

/// Changes take turns, as they do in SQLite, so that each sees what those before it did.
async fn change(client: &mut Object, query: &StoreQuery) -> Result<Vec<Vec<Cell>>, Error> {
    let transaction = client.transaction().await?;
    let turn = format!("SELECT pg_advisory_xact_lock({TURN})");
    transaction.batch_execute(&turn).await?;
    let returned = cells::ask(transaction.client(), query.sql.as_str(), &query.values).await?;
    transaction.commit().await?;
    Ok(returned)
}

#[async_trait]
impl DatabaseReader for PostgresReader {
    fn dialect(&self) -> &'static Dialect {
        &query::DIALECT
    }

    async fn ask(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError> {
        self.run(&query, StatementKind::Reads).await
    }

    async fn change(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError> {
        self.run(&query, StatementKind::Changes).await
    }

    async fn narrowed(
        &self,
        select: &str,
        conditions: Conditions,
        before: Option<Uuid>,
    ) -> Result<StoreQuery, StoreError> {
        Ok(query::narrowed(select, &conditions, before))
    }
}
