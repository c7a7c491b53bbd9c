//! Databases of a real PostgreSQL, a fresh one for each test.
//!
//! The server is there when `MCPPROXY_POSTGRES` has its URL, as it does under `cargo xtask test` and
//! `cargo xtask postgres`. A test that needs it asks [`Postgres::find`] first and leaves when there is none.

use std::time::Duration;

use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::{skip, within};

/// Has the URL of the server.
const VARIABLE: &str = "MCPPROXY_POSTGRES";

/// How long the removal of a database may take; it is missed by nobody.
const REMOVAL_DEADLINE: Duration = Duration::from_secs(10);

/// The server.
#[derive(Debug, Clone)]
pub struct Postgres {
    url: String,
}

/// An empty database of its own, removed when dropped, whoever is still connected to it.
#[derive(Debug)]
pub struct Database {
    server: Postgres,
    name: String,
    url: String,
}

impl Postgres {
    /// The server, if there is one; else tells that the test is skipped.
    pub fn find() -> Option<Self> {
        let url = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
        if url.is_none() {
            skip::announce(&format!("{VARIABLE}; run cargo xtask test"));
        }
        url.map(|url| Self { url })
    }

    /// Makes a database with a random name.
    pub async fn database(&self) -> Database {
        let name = format!("test_{}", Uuid::new_v4().simple());
        let url = with_database(&self.url, &name);
        // The other template cannot be copied while anybody is connected to it.
        let statement = format!("CREATE DATABASE {name} TEMPLATE template0");
        let client = connect(&self.url).await;
        within("a database is made", client.batch_execute(&statement))
            .await
            .expect("a database can be made");
        Database {
            server: self.clone(),
            name,
            url,
        }
    }
}

impl Database {
    /// Its URL, for `store.url` and the like.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A connection of its own, for statements of the test.
    pub async fn client(&self) -> Client {
        connect(&self.url).await
    }
}

impl Drop for Database {
    /// On a thread with a runtime of its own: the runtime of the test may be gone, or wait for this very thread.
    fn drop(&mut self) {
        let (url, name) = (self.server.url.clone(), self.name.clone());
        let removal = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .ok()?;
            let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            let removed = async {
                let client = try_connect(&url).await.ok()?;
                client.batch_execute(&statement).await.ok()
            };
            runtime.block_on(async { tokio::time::timeout(REMOVAL_DEADLINE, removed).await.ok() })
        });
        // The whole server is thrown away in the end, so a database that stays does no harm.
        let _ = removal.join();
    }
}

async fn connect(url: &str) -> Client {
    within("PostgreSQL takes a connection", try_connect(url))
        .await
        .expect("PostgreSQL can be reached")
}

async fn try_connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // Ends with the client; what goes wrong before that is told to the client.
    tokio::spawn(connection);
    Ok(client)
}

/// The URL of another database on the same server.
fn with_database(url: &str, name: &str) -> String {
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, format!("?{query}")),
        None => (url, String::new()),
    };
    let host = address.find("://").map_or(0, |found| found + "://".len());
    let end = address[host..]
        .find('/')
        .map_or(address.len(), |found| host + found);
    format!("{}/{name}{query}", &address[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_keeps_the_rest_of_the_url() {
        for (url, expected) in [
            (
                "postgres://u:p@127.0.0.1:5433/postgres",
                "postgres://u:p@127.0.0.1:5433/x",
            ),
            (
                "postgres://u:p@127.0.0.1:5433",
                "postgres://u:p@127.0.0.1:5433/x",
            ),
            ("postgres://host/", "postgres://host/x"),
            (
                "postgres://host/a?application_name=b/c",
                "postgres://host/x?application_name=b/c",
            ),
        ] {
            assert_eq!(with_database(url, "x"), expected);
        }
    }

    #[tokio::test]
    async fn databases_are_empty_apart_and_gone_afterwards() {
        let Some(postgres) = Postgres::find() else {
            return;
        };
        let (one, other) = (postgres.database().await, postgres.database().await);
        let client = one.client().await;
        client
            .batch_execute("CREATE TABLE record (id int); INSERT INTO record VALUES (1)")
            .await
            .unwrap();
        let is_there = "SELECT to_regclass('record') IS NOT NULL";
        let check = async |database: &Database, expected: bool| {
            let client = database.client().await;
            let row = client.query_one(is_there, &[]).await.unwrap();
            assert_eq!(row.get::<_, bool>(0), expected);
        };
        check(&one, true).await;
        check(&other, false).await;

        // One connection is still open.
        let name = one.name.clone();
        drop(one);
        let server = connect(&postgres.url).await;
        let count = "SELECT count(*) FROM pg_database WHERE datname = $1";
        let row = server.query_one(count, &[&name]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 0);
        drop(client);
    }

    #[tokio::test]
    async fn what_is_committed_is_on_disk() {
        let Some(postgres) = Postgres::find() else {
            return;
        };
        let database = postgres.database().await;
        let client = database.client().await;
        for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
            let show = format!("SHOW {setting}");
            let row = client.query_one(&show, &[]).await.unwrap();
            assert_eq!(row.get::<_, String>(0), "on", "{setting}");
        }
    }
}
