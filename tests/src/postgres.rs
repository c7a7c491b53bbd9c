//! Databases of a real PostgreSQL, a fresh one for each test.
//!
//! The server is there when `MCPPROXY_POSTGRES` has its URL, as it does under `cargo xtask test` and
//! `cargo xtask postgres`. A test that needs it asks [`Postgres::find`] first and is not run when there is none.

use std::time::Duration;

use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::trial::not_run;
use crate::within;

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
    /// The server; without one the test is not run.
    pub fn find() -> Self {
        match std::env::var(VARIABLE) {
            Ok(url) if !url.is_empty() => Self { url },
            _ => not_run("PostgreSQL, which `cargo xtask test` starts"),
        }
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
}
