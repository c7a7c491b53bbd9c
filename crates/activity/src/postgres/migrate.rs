//! Bringing the database to the version this program writes.

use tokio_postgres::{Client, GenericClient};

use crate::store::{StoreError, known_steps};

/// Steps that were ever taken to change the tables, in order. They are only ever added to.
const STEPS: [&str; 3] = [
    include_str!("migrations/0001_activity.sql"),
    include_str!("migrations/0002_tokens.sql"),
    include_str!("migrations/0003_published_tools.sql"),
];

/// Replicas that start at once take turns by this number; it means nothing else.
const LOCK: i64 = 0x6d63_7070_726f_7879;

/// Takes the steps that are missing.
pub(super) async fn migrate(client: &mut Client) -> Result<(), StoreError> {
    if version(client).await? == STEPS.len() {
        return Ok(());
    }
    check_encoding(client).await?;
    take_missing_steps(client).await?;
    version(client).await.map(drop)
}

/// Number of steps that the database has taken. One of a newer version is refused.
async fn version(client: &Client) -> Result<usize, StoreError> {
    known_steps(done(client).await?, STEPS.len(), "database")
}

async fn done(client: &impl GenericClient) -> Result<i64, tokio_postgres::Error> {
    let is_there = client
        .query_one("SELECT to_regclass('activity_version') IS NOT NULL", &[])
        .await?;
    if !is_there.try_get::<_, bool>(0)? {
        return Ok(0);
    }
    let row = client
        .query_one(
            "SELECT coalesce(max(version), 0) FROM activity_version",
            &[],
        )
        .await?;
    row.try_get(0)
}

async fn check_encoding(client: &Client) -> Result<(), StoreError> {
    let row = client
        .query_one("SELECT current_setting('server_encoding')", &[])
        .await?;
    let encoding: String = row.try_get(0)?;
    if encoding != "UTF8" {
        return Err(StoreError::Unusable(format!(
            "The database of the activity log has the encoding {encoding}, which cannot hold every text. Create one with the encoding UTF8"
        )));
    }
    Ok(())
}

async fn take_missing_steps(client: &mut Client) -> Result<(), tokio_postgres::Error> {
    let transaction = client.transaction().await?;
    // However long an index takes: whoever waits for this gives up in time.
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0")
        .await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
        .await?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS activity_version (version bigint PRIMARY KEY)")
        .await?;
    let done = done(&transaction).await?;
    for (number, step) in (1_i64..).zip(STEPS) {
        if number > done {
            transaction.batch_execute(step).await?;
            transaction
                .execute("INSERT INTO activity_version VALUES ($1)", &[&number])
                .await?;
        }
    }
    transaction.commit().await
}
