//! Writing.
//!
//! A connection that breaks while a commit is on its way leaves open whether it was made. The
//! writer goes on from what it was told, so this finds out: at once where it can, and else before
//! anything else is done. A batch that was reported as failed and is there after all is taken out.

use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error};
use uuid::Uuid;

use super::batch::{self, Statements};
use super::cells::{self, PostgresParameter};
use super::fault::{is_lost, too_slow};
use super::query::HEAD;
use super::session;
use crate::chain::ChainHead;
use crate::record::{ChainLink, Hash};
use crate::row::{Cell, OutcomeColumns, Row};
use crate::store::{Journal, StoreError, bound};

/// How long one call may take. Longer than what the server allows a statement, so that it is the
/// one to give up where it can.
const CALL: Duration = Duration::from_secs(45);

/// The journal of one replica, with a runtime of its own: it is used from a plain thread.
pub(super) struct PostgresJournal {
    /// Always there until it is dropped.
    runtime: Option<Runtime>,
    line: JournalConnection,
}

/// The connection, and what is not known about it.
struct JournalConnection {
    config: Config,
    session: Option<PreparedClient>,
    /// A batch of which nobody knows whether it was committed.
    unsure: Option<Vec<Row>>,
}

struct PreparedClient {
    client: Client,
    statements: Statements,
}

/// Failure of a batch, by where it came.
enum AppendFailure {
    /// Before the commit: it was not made.
    Before(Error),
    /// At the commit: it may have been made.
    Commit(Error),
}

impl PostgresJournal {
    /// Prepares for writing; connects at the first call.
    pub(super) fn new(config: Config) -> Result<Self, StoreError> {
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
                config,
                session: None,
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
        let Some(runtime) = &self.runtime else {
            return Err(too_slow());
        };
        let run = || {
            runtime.block_on(async {
                let done = tokio::time::timeout(CALL, async { work(line).await }).await;
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
        self.wait(async |line| line.ask(async |client| head(client, chain).await).await)
    }

    fn hash_at(&mut self, chain: Uuid, seq: i64) -> Result<Option<Hash>, StoreError> {
        self.wait(async |line| {
            line.ask(async |client| hash_at(client, chain, seq).await)
                .await
        })
    }

    fn append(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.wait(async |line| line.append(rows).await)
    }

    fn prune(&mut self, chain: Uuid, through: i64, limit: usize) -> Result<usize, StoreError> {
        self.wait(async |line| {
            line.ask(async |client| prune(client, chain, through, limit).await)
                .await
        })
    }
}

// === impl JournalConnection ===

impl JournalConnection {
    /// Asks something that may be asked twice. A connection that broke while nobody used it is
    /// made anew, without anybody noticing.
    async fn ask<T>(
        &mut self,
        question: impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        self.settle().await?;
        for is_last in [false, true] {
            let session = self.session().await?;
            match question(&session.client).await {
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
        self.settle().await?;
        for is_last in [false, true] {
            match self.try_append(rows).await? {
                Ok(()) => {
                    self.unsure = None;
                    return Ok(());
                }
                Err(AppendFailure::Before(error)) => {
                    self.after(&error).await;
                    if is_last || !is_lost(&error) {
                        return Err(error.into());
                    }
                }
                Err(AppendFailure::Commit(error)) => {
                    self.session = None;
                    // Where this cannot be told either, the next call begins with it.
                    let Ok(is_committed) = self.is_committed(rows).await else {
                        return Err(error.into());
                    };
                    self.unsure = None;
                    return if is_committed {
                        Ok(())
                    } else {
                        Err(error.into())
                    };
                }
            }
        }
        Err(too_slow())
    }

    async fn try_append(&mut self, rows: &[Row]) -> Result<Result<(), AppendFailure>, StoreError> {
        self.session().await?;
        let Some(session) = &self.session else {
            return Err(too_slow());
        };
        let before = async {
            begin(&session.client, rows).await?;
            batch::apply(&session.client, &session.statements, rows).await
        };
        if let Err(error) = before.await {
            return Ok(Err(AppendFailure::Before(error)));
        }
        // From here on it may have been made, also where the wait for the answer is broken off.
        self.unsure = Some(rows.to_vec());
        let commit = session.client.batch_execute("COMMIT").await;
        Ok(commit.map_err(AppendFailure::Commit))
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
        let Some((chain, last)) = rows.last().and_then(last_link) else {
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

    async fn session(&mut self) -> Result<&PreparedClient, StoreError> {
        if self
            .session
            .as_ref()
            .is_some_and(|session| session.client.is_closed())
        {
            self.session = None;
        }
        match &mut self.session {
            Some(session) => Ok(session),
            none => {
                let client = session::connect(&self.config).await?;
                let statements = Statements::prepare(&client).await?;
                Ok(none.insert(PreparedClient { client, statements }))
            }
        }
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
    let number = first ^ last;
    client
        .batch_execute(&format!(
            "BEGIN; SELECT pg_advisory_xact_lock({})",
            number.cast_signed()
        ))
        .await
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

fn last_link(row: &Row) -> Option<(Uuid, ChainLink)> {
    let link = row.closed.or(row.opened)?;
    Some((row.chain, link))
}

/// The last link of a chain. The links from before calls and the others share their numbers.
pub(super) async fn head(client: &Client, chain: Uuid) -> Result<ChainHead, Error> {
    let found = client
        .query_opt(HEAD, &[&PostgresParameter(&Cell::from(chain))])
        .await?;
    match found {
        Some(row) => Ok(ChainHead {
            seq: row.try_get(0)?,
            hash: cells::hash(&row, 1)?,
        }),
        None => Ok(ChainHead::EMPTY),
    }
}

async fn hash_at(client: &Client, chain: Uuid, seq: i64) -> Result<Option<Hash>, Error> {
    let found = client
        .query_opt(
            "SELECT hash FROM activity WHERE chain = $1 AND seq = $2
             UNION ALL
             SELECT opened_hash FROM activity WHERE chain = $1 AND opened_seq = $2
             LIMIT 1",
            &[&PostgresParameter(&Cell::from(chain)), &seq],
        )
        .await?;
    found.map(|row| cells::hash(&row, 0)).transpose()
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
