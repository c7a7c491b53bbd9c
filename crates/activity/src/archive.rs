//! Reading the log, with or without a running gateway.

use std::path::Path;

use jiff::Timestamp;
use mcpproxy_policy::RecordScope;

use crate::chain::files::ChainFiles;
use crate::filter::{Filter, moment_of};
use crate::store::{OpenStore, Store, StoreError};
use crate::summary::RecordSummary;
use crate::tail::{LogPosition, LogTail};
use crate::verify::{self, LogVerdict};
use crate::{postgres, sqlite};

/// The name of the database in the data directory.
const FILE: &str = "state.db";

/// Engine that records are stored in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    /// In a file of the data directory.
    Sqlite,
    /// In a database; the address may hold a password.
    Postgres(String),
}

/// Archive: everything that was recorded, for reading.
#[derive(Clone)]
pub struct Archive {
    store: Store,
    chain_files: ChainFiles,
    /// Whether every chain of the store has its file here.
    has_all_chain_files: bool,
}

impl Archive {
    /// Opens the log of a data directory for reading; one that was never written is empty.
    pub fn open(data_dir: &Path, engine: &Engine) -> Result<Self, StoreError> {
        let store = match engine {
            Engine::Sqlite => sqlite::open_for_reading(&data_dir.join(FILE))?,
            Engine::Postgres(url) => postgres::open(url)?.store,
        };
        Ok(Self::new(store, ChainFiles::new(data_dir), engine))
    }

    pub(crate) fn new(store: Store, chain_files: ChainFiles, engine: &Engine) -> Self {
        Self {
            store,
            chain_files,
            // Replicas that share a database have their files elsewhere.
            has_all_chain_files: *engine == Engine::Sqlite,
        }
    }

    /// Counts by server, tool, intent and status.
    pub async fn summary(&self, filter: &Filter) -> Result<RecordSummary, StoreError> {
        Ok(RecordSummary::of(&self.store.tally(filter).await?))
    }

    /// Moment of the oldest record that is still there, of those that somebody may see; nothing if there is none.
    pub async fn began(&self, scope: &RecordScope) -> Result<Option<Timestamp>, StoreError> {
        let filter = Filter {
            scope: scope.clone(),
            ..Filter::default()
        };
        Ok(self.store.oldest(&filter).await?.and_then(moment_of))
    }

    /// Checks every chain. `progress` is told how many links of how many were checked.
    pub async fn verify(&self, progress: impl FnMut(u64, u64)) -> Result<LogVerdict, StoreError> {
        verify::verify(
            &self.store,
            &self.chain_files,
            self.has_all_chain_files,
            progress,
        )
        .await
    }

    /// Follows the log from a position, or from now on.
    pub async fn follow(&self, position: Option<LogPosition>) -> Result<LogTail, StoreError> {
        LogTail::open(self.store.clone(), position).await
    }
}

/// Pages, single records and counts are read as from the store itself.
impl std::ops::Deref for Archive {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// Opens the database of a data directory for reading and writing; makes it where it is not there yet.
pub(crate) fn open_store(data_dir: &Path, engine: &Engine) -> Result<OpenStore, StoreError> {
    match engine {
        Engine::Sqlite => sqlite::open(&data_dir.join(FILE)),
        Engine::Postgres(url) => postgres::open(url),
    }
}
