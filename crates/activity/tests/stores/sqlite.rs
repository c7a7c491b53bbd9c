//! The story on SQLite.

use mcpproxy_activity::sqlite;
use mcpproxy_activity::store::OpenStore;
use tempfile::TempDir;

use crate::story::Place;

struct Sqlite(TempDir);

impl Sqlite {
    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("state.db")
    }
}

impl Place for Sqlite {
    async fn fresh() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> OpenStore {
        sqlite::open(&self.path()).unwrap()
    }

    async fn tamper(&self, statement: &str) {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.execute_batch(statement).unwrap();
    }
}

story!(Sqlite);
