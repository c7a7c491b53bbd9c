//! Source of the records: the running gateway, or the store itself.
//!
//! Both give the very same texts, because one place makes them.

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::HeaderMap;
use mcpproxy_activity::Archive;
use mcpproxy_gateway::records::{self, Pair, RecordExport};
use mcpproxy_gateway::{Failure, redaction, settings};
use mcpproxy_policy::RecordScope;

use crate::arguments::Common;
use crate::daemon::{Daemon, rest_path};
use crate::error::CliError;

/// Source that answers what is asked of the log.
pub(super) enum Source {
    /// The running gateway.
    Daemon(Daemon),
    /// The store it left behind, when none runs.
    Store(Archive),
}

/// Records as they are exported, piece by piece.
pub(super) type Pieces = BoxStream<'static, Result<Vec<u8>, CliError>>;

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

    /// Answer at a path of the REST interface, or of the store to the same question.
    pub(super) async fn get(
        &self,
        (path, pairs): (&str, &[Pair]),
        of_store: impl AsyncFnOnce(&Archive) -> Result<String, Failure>,
    ) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&records_path(path, pairs)).await,
            Self::Store(archive) => Ok(of_store(archive).await?),
        }
    }

    /// Counts.
    pub(super) async fn summary(&self, pairs: &[Pair]) -> Result<String, CliError> {
        let of_store =
            async |archive: &Archive| records::summary(archive, pairs, RecordScope::All).await;
        self.get(("/activity/summary", pairs), of_store).await
    }

    /// Number of records.
    pub(super) async fn count(&self, pairs: &[Pair]) -> Result<u64, CliError> {
        match self {
            Self::Daemon(_) => {
                let summary = self.summary(pairs).await?;
                let summary: serde_json::Value = serde_json::from_str(&summary).unwrap_or_default();
                Ok(summary["total"].as_u64().unwrap_or(0))
            }
            Self::Store(archive) => {
                let count = archive
                    .count(&records::parse_filter(pairs, RecordScope::All)?)
                    .await;
                Ok(count.map_err(Failure::from)?)
            }
        }
    }

    /// All records.
    pub(super) async fn export(&self, pairs: &[Pair]) -> Result<Pieces, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let path = records_path("/activity/export", pairs);
                let stream = daemon.open(&path, HeaderMap::new()).await;
                let stream = stream
                    .map_err(CliError::not_reachable)?
                    .successful()
                    .await?;
                let pieces = stream::try_unfold(stream, |mut stream| async move {
                    let piece = stream.next().await.map_err(CliError::refused)?;
                    Ok(piece.map(|bytes| (bytes.to_vec(), stream)))
                });
                Ok(pieces.boxed())
            }
            Self::Store(archive) => {
                let (filter, format) = RecordExport::parse(pairs, RecordScope::All)?;
                let export = RecordExport::new(archive.clone(), filter, format);
                let pieces = stream::try_unfold(export, |mut export| async move {
                    let piece = export.next().await?;
                    Ok(piece.map(|piece| (piece.text.into_bytes(), export)))
                });
                Ok(pieces.boxed())
            }
        }
    }
}

/// The path of something of the REST interface, with filters and other parameters.
pub(super) fn records_path(of: &str, pairs: &[Pair]) -> String {
    rest_path(of, pairs.iter().map(|(name, value)| (&**name, &**value)))
}
