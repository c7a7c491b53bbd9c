//! A connection, set up so that nothing hangs for ever and what is committed is on disk.

use std::time::Duration;

use tokio_postgres::Client;

use super::address::PostgresAddress;
use super::fault::too_slow;
use super::migrate;
use crate::store::StoreError;

/// Time that making a connection may take, greeting included.
pub(super) const GREETING: Duration = Duration::from_secs(10);

/// Time that an answer may take; longer than the server allows a statement, so that it is the one to
/// give up where it can.
pub(super) const ANSWER: Duration = Duration::from_secs(45);

/// Time that bringing the tables up to date may take, once after an update: a new index reads every record.
pub(super) const MIGRATION: Duration = Duration::from_mins(10);

/// The limits of every connection. Plans are made for the values at hand: how often a status or a
/// server occurs decides which index is best. What is committed has to be on disk, so a server
/// that is set not to wait for that is told to; one that waits for its replicas too is left alone.
pub(super) const SETTINGS: &str = "
    SET statement_timeout = '30s';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '30s';
    SET plan_cache_mode = force_custom_plan;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off';
";

/// Connects and brings the tables up to date. The connection lives on the current runtime.
pub(super) async fn connect(address: &PostgresAddress) -> Result<Client, StoreError> {
    let greeting = async {
        let connecting = address.config.connect(address.tls.clone());
        let (client, connection) = connecting.await?;
        // Ends with the client; what goes wrong before that is told to the client.
        tokio::spawn(connection);
        client.batch_execute(SETTINGS).await?;
        Ok(client)
    };
    let greeted = tokio::time::timeout(GREETING, greeting).await;
    let mut client = greeted.unwrap_or_else(|_| Err(too_slow()))?;
    bring_up_to_date(&mut client).await?;
    Ok(client)
}

/// Brings the tables up to date.
pub(super) async fn bring_up_to_date(client: &mut Client) -> Result<(), StoreError> {
    let migrated = tokio::time::timeout(MIGRATION, migrate::migrate(client)).await;
    migrated.unwrap_or_else(|_| Err(too_slow()))
}
