//! Reading.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use tokio_postgres::{Config, NoTls};
use uuid::Uuid;

use super::fault::{is_lost, too_slow};
use super::{cells, migrate, query, session};
use crate::filter::Conditions;
use crate::query::{Dialect, StoreQuery};
use crate::row::Cell;
use crate::store::{DatabaseReader, MOST_QUERIES, SLOT_WAIT, StoreError};

/// Reads a database.
pub(super) struct PostgresReader {
    pool: Pool,
    /// Whether the tables are known to be there.
    is_ready: AtomicBool,
}

impl PostgresReader {
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
            migrate::migrate(&mut client).await?;
            self.is_ready.store(true, Ordering::Release);
        }
        Ok(client)
    }
}

#[async_trait]
impl DatabaseReader for PostgresReader {
    fn dialect(&self) -> &'static Dialect {
        &query::DIALECT
    }

    /// Asks, and asks again where the connection broke while nobody used it.
    async fn ask(&self, query: StoreQuery) -> Result<Vec<Vec<Cell>>, StoreError> {
        for is_last in [false, true] {
            let client = self.client().await?;
            let answer = async {
                let statement = client.prepare_cached(&query.sql).await?;
                cells::ask(&client, &statement, &query.values).await
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

    async fn narrowed(
        &self,
        select: &str,
        conditions: Conditions,
        before: Option<Uuid>,
    ) -> Result<StoreQuery, StoreError> {
        Ok(query::narrowed(select, &conditions, before))
    }
}
