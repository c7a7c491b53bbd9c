//! Writing.
//!
//! A connection that breaks while a commit is on its way leaves open whether it was made. The
//! writer goes on from what it was told, so this finds out: at once where it can, and else before
//! anything else is done. A batch that was reported as failed and is there after all is taken out.

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error};
use uuid::Uuid;

use super::address::PostgresAddress;
use super::batch::WritingClient;
use super::cells::{self, PostgresParameter};
use super::fault::{is_lost, too_slow};
use super::query::DIALECT;
use super::session;
use crate::chain::ChainHead;
use crate::query::{HASH_AT, head};
use crate::record::Hash;
use crate::row::{Cell, OutcomeColumns, Row};
use crate::store::{Journal, StoreError, bound};

/// The journal of one replica, with a runtime of its own: it is used from a plain thread.
pub(super) struct PostgresJournal {
    /// Always there until it is dropped.
    runtime: Option<Runtime>,
    line: JournalConnection,
}

/// The connection, and what is not known about it.
struct JournalConnection {
    address: PostgresAddress,
    session: Option<WritingClient>,
    /// Whether the tables are known to be up to date.
    is_ready: bool,
    /// A batch of which nobody knows whether it was committed.
    unsure: Option<Vec<Row>>,
}

impl PostgresJournal {
    /// Prepares for writing; connects at the first call.
    pub(super) fn new(address: PostgresAddress) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| {
                StoreError::Unavailable(format!(
                    "The activity log cannot be connected to its database: {error}"
                ))
            })?;
        Ok(Self {
            runtime: Some(runtime),
            line: JournalConnection {
                address,
                session: None,
                is_ready: false,
                unsure: None,
            },
        })
    }

    /// Does something and waits for it, no longer than a call may take.
    fn wait<T: Send>(
        &mut self,
        work: impl AsyncFnOnce(&mut JournalConnection) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let line = &mut self.line;
        let limit = if line.is_ready {
            session::ANSWER
        } else {
            session::MIGRATION + session::ANSWER
        };
        let Some(runtime) = &self.runtime else {
            return Err(too_slow());
        };
        let run = || {
            runtime.block_on(async {
                let done = tokio::time::timeout(limit, async { work(line).await }).await;
                done.unwrap_or_else(|_| {
                    // Whatever is still on its way must not be taken for the next answer.
                    line.session = None;
                    Err(too_slow())
                })
            })
        };
        if Handle::try_current().is_err() {
            return run();
        }
        // A thread that already drives other tasks may not drive ours.
        let on_its_own = std::thread::scope(|scope| scope.spawn(run).join());
        on_its_own.unwrap_or_else(|_| Err(too_slow()))
    }

    fn ask<T: Send>(
        &mut self,
        question: impl AsyncFn(&WritingClient) -> Result<T, Error> + Send,
    ) -> Result<T, StoreError> {
        self.wait(async |line| line.ask(question).await)
    }
}

impl Drop for PostgresJournal {
    fn drop(&mut self) {
        // Waiting for its tasks is not allowed on a thread that drives others.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Journal for PostgresJournal {
    fn head(&mut self, chain: Uuid) -> Result<ChainHead, StoreError> {
        self.ask(async |session| {
            let found = cells::ask(&session.client, DIALECT.heads, &[chain.into()]).await?;
            Ok(head(&found))
        })
    }

    fn hash_at(&mut self, chain: Uuid, seq: i64) -> Result<Option<Hash>, StoreError> {
        self.ask(async |session| hash_at(&session.client, chain, seq).await)
    }

    fn append(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.wait(async |line| line.append(rows).await)
    }

    fn prune(&mut self, chain: Uuid, through: i64, limit: usize) -> Result<usize, StoreError> {
        self.ask(async |session| prune(&session.client, chain, through, limit).await)
    }
}

// === impl JournalConnection ===

impl JournalConnection {
    /// Asks something that may be asked twice. A connection that broke while nobody used it is
    /// made anew, without anybody noticing.
    async fn ask<T>(
        &mut self,
        question: impl AsyncFn(&WritingClient) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        self.settle().await?;
        for is_last in [false, true] {
            match question(self.session().await?).await {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    self.after(&error).await;
                    if is_last || !is_lost(&error) {
                        return Err(error.into());
                    }
                }
            }
        }
        Err(too_slow())
    }

    async fn append(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        self.ask(async |session| {
            begin(&session.client, rows).await?;
            session.write(rows).await
        })
        .await?;
        let Some(session) = &self.session else {
            return Err(too_slow());
        };
        // From here on it may have been made, also where the wait for the answer is broken off.
        self.unsure = Some(rows.to_vec());
        if let Err(error) = session.client.batch_execute("COMMIT").await {
            self.session = None;
            // Where this cannot be told either, the next call begins with it.
            let is_committed = self.is_committed(rows).await;
            if is_committed.is_ok() {
                self.unsure = None;
            }
            return match is_committed {
                Ok(true) => Ok(()),
                _ => Err(error.into()),
            };
        }
        self.unsure = None;
        Ok(())
    }

    /// Finds out about a batch that was reported as failed, and takes it out if it is there.
    async fn settle(&mut self) -> Result<(), StoreError> {
        let Some(rows) = self.unsure.take() else {
            return Ok(());
        };
        let settled = async {
            if self.is_committed(&rows).await? {
                let session = self.session().await?;
                undo(&session.client, &rows).await?;
            }
            Ok(())
        };
        let settled: Result<(), StoreError> = settled.await;
        if settled.is_err() {
            self.session = None;
            self.unsure = Some(rows);
        }
        settled
    }

    /// Whether a batch is in the table, once nobody is writing to its chain any more.
    async fn is_committed(&mut self, rows: &[Row]) -> Result<bool, StoreError> {
        let last = |row: &Row| Some((row.chain, row.closed.or(row.opened)?));
        let Some((chain, last)) = rows.last().and_then(last) else {
            return Ok(false);
        };
        let session = self.session().await?;
        let found = async {
            begin(&session.client, rows).await?;
            let hash = hash_at(&session.client, chain, last.seq).await?;
            session.client.batch_execute("COMMIT").await?;
            Ok(hash == Some(last.hash))
        };
        let found: Result<bool, Error> = found.await;
        if found.is_err() {
            self.session = None;
        }
        Ok(found?)
    }

    async fn session(&mut self) -> Result<&WritingClient, StoreError> {
        let session = self.session.take();
        let session = match session.filter(|session| !session.client.is_closed()) {
            Some(session) => session,
            None => WritingClient::prepare(session::connect(&self.address).await?).await?,
        };
        self.is_ready = true;
        Ok(self.session.insert(session))
    }

    /// Makes the connection fit for the next call, or lets it go.
    async fn after(&mut self, error: &Error) {
        let is_usable = match &self.session {
            Some(session) if !is_lost(error) => {
                session.client.batch_execute("ROLLBACK").await.is_ok()
            }
            _ => false,
        };
        if !is_usable {
            self.session = None;
        }
    }
}

/// Begins a transaction that has its chain to itself. An older connection of ours may still be at
/// work there, and has to be done before anything can be told for certain.
async fn begin(client: &Client, rows: &[Row]) -> Result<(), Error> {
    let chain = rows.first().map(|row| row.chain);
    // Two chains that share a number only wait for each other.
    let (first, last) = chain.unwrap_or_default().as_u64_pair();
    let number = (first ^ last).cast_signed();
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({number})");
    client.batch_execute(&begin).await
}

async fn undo(client: &Client, rows: &[Row]) -> Result<(), Error> {
    let ids = |is_completion: bool| -> Vec<PostgresParameter<'_>> {
        rows.iter()
            .filter(|row| row.is_completion() == is_completion)
            .map(|row| PostgresParameter(&row.request.id))
            .collect()
    };
    begin(client, rows).await?;
    let outcome = OutcomeColumns::in_doubt();
    let cells = outcome.cells().map(PostgresParameter);
    let ended = ids(true);
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&ended];
    parameters.extend(cells.iter().map(|cell| cell as &(dyn ToSql + Sync)));
    let sets: Vec<String> = (2..)
        .zip(OutcomeColumns::COLUMNS)
        .map(|(number, column)| format!("{} = ${number}", column.name))
        .collect();
    let statement = format!(
        "UPDATE activity SET {}, seq = NULL, prev_hash = NULL, hash = NULL WHERE id = ANY ($1)",
        sets.join(", ")
    );
    client.execute(&statement, &parameters).await?;
    client
        .execute("DELETE FROM activity WHERE id = ANY ($1)", &[&ids(false)])
        .await?;
    client.batch_execute("COMMIT").await
}

async fn hash_at(client: &Client, chain: Uuid, seq: i64) -> Result<Option<Hash>, Error> {
    let found = cells::ask(client, HASH_AT, &[chain.into(), seq.into()]).await?;
    Ok(found.iter().flatten().next().map(Cell::hash))
}

async fn prune(client: &Client, chain: Uuid, through: i64, limit: usize) -> Result<usize, Error> {
    let limit = bound(limit);
    // Those without an outcome come last: by then next to no others are in the way.
    let removed = client
        .execute(
            "WITH doomed AS (
                 (SELECT id FROM activity
                  WHERE chain = $1 AND seq <= $2 AND (opened_seq IS NULL OR opened_seq <= $2)
                  ORDER BY seq LIMIT $3)
                 UNION ALL
                 (SELECT id FROM activity
                  WHERE chain = $1 AND opened_seq <= $2 AND seq IS NULL
                  ORDER BY opened_seq LIMIT $3)
                 LIMIT $3
             )
             DELETE FROM activity USING doomed WHERE activity.id = doomed.id",
            &[&PostgresParameter(&Cell::from(chain)), &through, &limit],
        )
        .await?;
    Ok(usize::try_from(removed).unwrap_or(usize::MAX))
}
