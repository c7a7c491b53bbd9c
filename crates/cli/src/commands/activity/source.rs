//! Source of the records: the running gateway, or the store itself.
//!
//! Both give the very same texts, because one place makes them.

use mcpproxy_activity::Archive;
use mcpproxy_gateway::records::{self, Pair, RecordExport};
use mcpproxy_gateway::{Failure, redaction, settings};

use crate::arguments::Common;
use crate::daemon::{Daemon, Stream, encode, rest_path};
use crate::error::CliError;

/// Source that answers what is asked of the log.
pub(super) enum Source {
    /// The running gateway.
    Daemon(Daemon),
    /// The store it left behind, when none runs.
    Store(Archive),
}

/// Records as they are exported, piece by piece.
pub(super) enum Pieces {
    /// From the running gateway.
    Daemon(Stream),
    /// From the store.
    Store(Box<RecordExport>),
}

impl Source {
    /// The running gateway of the data directory, else its store.
    pub(super) async fn find(common: &Common) -> Result<Self, CliError> {
        let sources = common.sources();
        // A running gateway has its settings; the file may be in the middle of an edit.
        if let Some(daemon) = Daemon::find(&sources).await? {
            return Ok(Self::Daemon(daemon));
        }
        let settings = settings::load(&sources)?;
        redaction::set(settings.secrets());
        Ok(Self::Store(records::open(&settings)?))
    }

    /// A page of records.
    pub(super) async fn list(&self, pairs: &[Pair]) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => get(daemon, "/activity", pairs).await,
            Self::Store(archive) => Ok(records::list(archive, pairs).await?),
        }
    }

    /// One record.
    pub(super) async fn show(&self, id: &str) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => get(daemon, &format!("/activity/{}", encode(id)), &[]).await,
            Self::Store(archive) => Ok(records::show(archive, id).await?),
        }
    }

    /// Counts.
    pub(super) async fn summary(&self, pairs: &[Pair]) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => get(daemon, "/activity/summary", pairs).await,
            Self::Store(archive) => Ok(records::summary(archive, pairs).await?),
        }
    }

    /// Whether everything is as it was written. A running gateway does not tell how far it is.
    pub(super) async fn verify(
        &self,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => get(daemon, "/activity/verify", &[]).await,
            Self::Store(archive) => Ok(records::verify(archive, progress).await?),
        }
    }

    /// How many records there are.
    pub(super) async fn count(&self, pairs: &[Pair]) -> Result<u64, CliError> {
        match self {
            Self::Daemon(_) => {
                let summary = self.summary(pairs).await?;
                let summary: serde_json::Value = serde_json::from_str(&summary).unwrap_or_default();
                Ok(summary["total"].as_u64().unwrap_or(0))
            }
            Self::Store(archive) => {
                let count = archive.count(&records::parse_filter(pairs)?).await;
                Ok(count.map_err(Failure::from)?)
            }
        }
    }

    /// All records.
    pub(super) async fn export(&self, pairs: &[Pair]) -> Result<Pieces, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let stream = daemon.open(&path("/activity/export", pairs), None).await;
                let stream = stream.map_err(CliError::not_reachable)?;
                if stream.status.is_success() {
                    return Ok(Pieces::Daemon(stream));
                }
                Err(stream.into_error("the gateway gave no export").await)
            }
            Self::Store(archive) => {
                let (filter, format) = RecordExport::parse(pairs)?;
                let export = RecordExport::new(archive.clone(), filter, format);
                Ok(Pieces::Store(Box::new(export)))
            }
        }
    }
}

impl Pieces {
    /// The next piece; nothing after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, CliError> {
        match self {
            Self::Daemon(stream) => {
                let piece = stream.next().await.map_err(CliError::refused)?;
                Ok(piece.map(|bytes| bytes.to_vec()))
            }
            Self::Store(export) => {
                let piece = export.next().await?;
                Ok(piece.map(|piece| piece.text.into_bytes()))
            }
        }
    }
}

/// The path of something of the REST interface.
pub(super) fn path(of: &str, pairs: &[Pair]) -> String {
    let pairs = pairs.iter().map(|(name, value)| (&**name, &**value));
    rest_path(of, &pairs.collect::<Vec<_>>())
}

async fn get(daemon: &Daemon, of: &str, pairs: &[Pair]) -> Result<String, CliError> {
    daemon.get(&path(of, pairs)).await
}
