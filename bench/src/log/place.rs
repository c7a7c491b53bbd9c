//! Where the measured log is: a folder of its own and, for PostgreSQL, a database of its own.
//!
//! Both are gone after the run. Must never touch a table or a file that was there before.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use mcpproxy_activity::{Archive, Engine, LogOptions, LogRole, RecordingPolicy};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// How long a statement of our own may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// The folder, and the database where there is one.
pub(crate) struct Place {
    // Dropped in this order: whoever still uses the database is gone before the folder goes.
    database: Option<Database>,
    folder: TempDir,
}

/// A database that is removed when this is dropped.
struct Database {
    server: String,
    name: String,
}

impl Place {
    /// Makes a folder in another one, and a database on the server that an address names.
    pub(crate) async fn make(folder: &Path, postgres: Option<&str>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("mcpproxy-bench-")
            .tempdir_in(folder)
            .with_context(|| format!("No folder can be made in {}", folder.display()))?;
        let database = match postgres {
            Some(server) => Some(Database::make(server).await?),
            None => None,
        };
        Ok(Self { database, folder })
    }

    /// The folder of all that is written.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data directory of the measured log.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder().join("log")
    }

    /// Where records are kept.
    pub(crate) fn engine(&self) -> Engine {
        match &self.database {
            Some(database) => Engine::Postgres(database.url()),
            None => Engine::Sqlite,
        }
    }

    /// The name of the engine.
    pub(crate) fn engine_name(&self) -> &'static str {
        match self.database {
            Some(_) => "postgres",
            None => "sqlite",
        }
    }

    /// The part of a gateway's configuration that makes it write to this engine.
    pub(crate) fn store_setting(&self) -> Value {
        match &self.database {
            Some(database) => json!({ "store": { "url": database.url() } }),
            None => json!({}),
        }
    }

    /// How the product itself would write here, with its defaults.
    pub(crate) fn options(&self) -> LogOptions {
        LogOptions {
            data_dir: self.data_dir(),
            engine: self.engine(),
            role: LogRole::Daemon,
            policy: RecordingPolicy {
                max_payload_bytes: 64 * 1024,
                is_strict: true,
                retention: Duration::from_hours(90 * 24),
                max_records: None,
            },
        }
    }

    /// What was recorded.
    pub(crate) fn archive(&self) -> anyhow::Result<Archive> {
        Ok(Archive::open(&self.data_dir(), &self.engine())?)
    }

    /// How many bytes the log takes.
    pub(crate) async fn size(&self) -> anyhow::Result<u64> {
        if let Some(database) = &self.database {
            return database.size().await;
        }
        let mut bytes = 0;
        for entry in fs::read_dir(self.data_dir())? {
            bytes += entry?.metadata()?.len();
        }
        Ok(bytes)
    }
}

impl Database {
    async fn make(server: &str) -> anyhow::Result<Self> {
        let name = format!("mcpproxy_bench_{}", Uuid::new_v4().simple());
        let client = connect(server).await?;
        let statement = format!("CREATE DATABASE {name}");
        tokio::time::timeout(DEADLINE, client.batch_execute(&statement))
            .await
            .context("PostgreSQL did not make a database in time")?
            .context("PostgreSQL made no database, which the benchmark needs for itself")?;
        Ok(Self {
            server: server.to_owned(),
            name,
        })
    }

    fn url(&self) -> String {
        with_database(&self.server, &self.name)
    }

    async fn size(&self) -> anyhow::Result<u64> {
        let client = connect(&self.url()).await?;
        let asked = client.query_one("SELECT pg_database_size(current_database())", &[]);
        let row = tokio::time::timeout(DEADLINE, asked).await??;
        Ok(u64::try_from(row.try_get::<_, i64>(0)?)?)
    }
}

impl Drop for Database {
    /// On a thread with a runtime of its own: the one that runs us may be ending.
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let removal = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let client = connect(&server).await?;
                let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                tokio::time::timeout(DEADLINE, client.batch_execute(&statement)).await??;
                anyhow::Ok(())
            })
        });
        if !matches!(removal.join(), Ok(Ok(()))) {
            crate::note(&format!(
                "the database {} could not be removed, drop it by hand",
                self.name
            ));
        }
    }
}

async fn connect(url: &str) -> anyhow::Result<Client> {
    let connected = tokio::time::timeout(DEADLINE, tokio_postgres::connect(url, NoTls));
    let (client, connection) = connected
        .await
        .context("PostgreSQL did not answer in time")?
        .context("PostgreSQL cannot be reached at the address of --postgres")?;
    // Ends with the client, which is told what goes wrong before that.
    tokio::spawn(connection);
    Ok(client)
}

/// The address of another database on the same server.
fn with_database(url: &str, name: &str) -> String {
    let (address, query) = url
        .split_once('?')
        .map_or((url, String::new()), |(address, query)| {
            (address, format!("?{query}"))
        });
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
    fn another_database_keeps_the_rest_of_the_address() {
        for (url, expected) in [
            ("postgres://u:p@host:1/main", "postgres://u:p@host:1/x"),
            ("postgres://u:p@host:1", "postgres://u:p@host:1/x"),
            ("postgres://host/?a=b/c", "postgres://host/x?a=b/c"),
        ] {
            assert_eq!(with_database(url, "x"), expected);
        }
    }

    #[tokio::test]
    async fn a_place_is_gone_when_it_is_dropped() {
        let outer = tempfile::tempdir().unwrap();
        let place = Place::make(outer.path(), None).await.unwrap();
        assert!(place.folder().starts_with(outer.path()));
        assert_eq!(place.engine(), Engine::Sqlite);
        drop(place);
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    }
}
