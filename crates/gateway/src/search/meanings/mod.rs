//! Meanings of tools and of queries, computed off the way of everything else.
//!
//! The vectors of tools are computed on a thread of their own with low priority, and kept in a file. Until nearly all
//! tools have theirs, search goes by words. A query's vector takes some milliseconds; it is computed where computing
//! harms no call, a few at a time, and who would have to wait long for it searches by words as well.

mod cached_encoder;
mod vectors_file;
mod worker;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcpproxy_catalog::CatalogTool;
use mcpproxy_catalog::search::{has_words, start};
use mcpproxy_embed::{Encoder, Vector};
use serde::Serialize;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::background::Background;
use crate::servers::Servers;
use crate::settings::LiveSettings;
use cached_encoder::CachedEncoder;
use worker::Worker;

/// File of the vectors in the data directory.
const FILE: &str = "vectors.db";

/// Queries whose vectors are computed at the same time, at most, and time that one waits for its turn.
const AT_ONCE: usize = 2;
const WAIT_LIMIT: Duration = Duration::from_millis(200);

/// Pause before changed tools are looked at: servers that start together list their tools at about the same time.
const SETTLING: Duration = Duration::from_millis(250);

/// Pause before the settings are looked at again, while no tool changes.
const SETTINGS_STEP: Duration = Duration::from_secs(30);

/// Reason why search goes by words alone for now.
const NOT_YET: &str = "the vectors of the tools are not there yet";

/// Pause before who waits for the vectors looks again.
const READY_STEP: Duration = Duration::from_millis(20);

/// Tools that are given their meaning before the catalog and the settings are looked at again.
const AT_A_TIME: usize = 200;

/// Share of the tools that have a meaning from which on search goes by it: nine of ten.
const READY_OF_TEN: usize = 9;

/// Meanings of the tools of a catalog, and of queries.
pub(super) struct Meanings {
    settings: Arc<LiveSettings>,
    servers: Arc<Servers>,
    background: Background,
    file: PathBuf,
    encoder: CachedEncoder,
    places: Arc<Semaphore>,
    /// Tools that can be called, and those of them that have a meaning.
    tools: AtomicUsize,
    tools_done: AtomicUsize,
    /// Whether nearly all tools had their meaning once. From then on those that come later are found by their words
    /// until they have theirs: no server can take search by meaning away from the others.
    is_ready: AtomicBool,
    /// Whether somebody keeps the meanings current.
    is_kept: AtomicBool,
}

/// How search goes, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchStatus {
    /// `hybrid`: by words and by meaning; `lexical`: by words alone.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub mode: SearchMode,
    /// Why search goes by words alone.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reason: Option<&'static str>,
    /// How many tools can be found.
    pub tools: usize,
    /// How many of them have their vectors.
    pub vectors: usize,
}

/// Way in which a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchMode {
    /// By words and by meaning.
    Hybrid,
    /// By words alone.
    Lexical,
}

impl SearchMode {
    /// Mode of a search for a query that has this vector.
    pub(super) const fn of(meaning: Option<&Vector>) -> Self {
        match meaning {
            Some(_) => Self::Hybrid,
            None => Self::Lexical,
        }
    }
}

impl Meanings {
    pub(super) fn new(
        settings: &Arc<LiveSettings>,
        servers: &Arc<Servers>,
        background: &Background,
    ) -> Arc<Self> {
        Arc::new(Self {
            file: settings.load().data_dir.join(FILE),
            settings: Arc::clone(settings),
            servers: Arc::clone(servers),
            background: background.clone(),
            encoder: CachedEncoder::default(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            tools: AtomicUsize::new(0),
            tools_done: AtomicUsize::new(0),
            is_ready: AtomicBool::new(false),
            is_kept: AtomicBool::new(false),
        })
    }

    /// Gives every tool its meaning, now and whenever tools change.
    pub(super) fn keep_current(self: &Arc<Self>) {
        if !Encoder::IS_AVAILABLE || self.is_kept.swap(true, Ordering::Relaxed) {
            return;
        }
        let meanings = Arc::clone(self);
        self.background.spawn_until_stop(async move {
            let mut changes = meanings.servers.catalog().changes();
            loop {
                changes.mark_unchanged();
                if meanings.fill().await {
                    continue;
                }
                // Nothing else is told of changed settings.
                let _ = timeout(SETTINGS_STEP, changes.changed()).await;
                sleep(SETTLING).await;
            }
        });
    }

    /// How search goes.
    pub(super) fn status(&self) -> SearchStatus {
        let reason = self.lexical_reason();
        SearchStatus {
            mode: if reason.is_none() {
                SearchMode::Hybrid
            } else {
                SearchMode::Lexical
            },
            reason,
            tools: self.tools.load(Ordering::Relaxed),
            vectors: self.tools_done.load(Ordering::Relaxed),
        }
    }

    /// Waits until the vectors of the tools are there; does not wait for what will never be.
    pub(super) async fn ready(&self) {
        while self.lexical_reason() == Some(NOT_YET) {
            sleep(READY_STEP).await;
        }
    }

    /// Vector of a query, if search is to go by meaning as well.
    pub(super) async fn of_query(self: &Arc<Self>, query: &str) -> Option<Vector> {
        if self.lexical_reason().is_some() || !has_words(query) {
            return None;
        }
        // Who comes when many are before searches by words, and does not wait.
        let place = Arc::clone(&self.places).acquire_owned();
        let place = timeout(WAIT_LIMIT, place).await.ok()?.ok()?;
        let (meanings, query) = (Arc::clone(self), start(query).to_owned());
        let encoded = self.background.compute(move || {
            // Given back when it is computed, also where nobody waits for it any more.
            let _place = place;
            meanings.encoder()?.embed_request(&query)
        });
        encoded.await?
    }

    /// Reason why search goes by words alone.
    fn lexical_reason(&self) -> Option<&'static str> {
        if !self.settings.load().discovery.semantic {
            Some("discovery.semantic is false")
        } else if !Encoder::IS_AVAILABLE {
            Some("this program was built without the model")
        } else if !self.is_ready.load(Ordering::Relaxed) {
            Some(NOT_YET)
        } else {
            None
        }
    }

    /// Gives tools that have no meaning theirs, as many as are done at a time; whether there are more.
    async fn fill(self: &Arc<Self>) -> bool {
        let tools = self.callable_tools();
        let mut without = self.count(&tools);
        if without.is_empty() || !self.is_on() {
            return false;
        }
        let has_more = without.len() > AT_A_TIME;
        without.truncate(AT_A_TIME);
        let (ended, end) = oneshot::channel();
        let worker = Worker {
            tools: without,
            all: tools,
            file: self.file.clone(),
        };
        let meanings = Arc::clone(self);
        let run = move || {
            worker.run(|| {
                meanings.tools_done.fetch_add(1, Ordering::Relaxed);
                meanings.is_on() && !meanings.background.stopping.is_cancelled()
            });
            let _ = ended.send(());
        };
        let thread = std::thread::Builder::new().name("meanings".to_owned());
        match thread.spawn(run) {
            // Ends with the thread, also if it panics.
            Ok(_) => drop(end.await),
            Err(error) => {
                tracing::warn!(%error, "search goes by words: no thread for the vectors of tools");
                return false;
            }
        }
        self.count(&self.callable_tools());
        has_more && self.is_on()
    }

    fn is_on(&self) -> bool {
        self.settings.load().discovery.semantic
    }

    fn callable_tools(&self) -> Vec<Arc<CatalogTool>> {
        let snapshot = self.servers.catalog().snapshot();
        let tools = snapshot.tools().filter(|tool| tool.is_callable());
        tools.cloned().collect()
    }

    /// Counts the tools, and those that have a meaning; those that have none, the first of each server first, so that no
    /// server has to wait for all tools of another.
    fn count(&self, tools: &[Arc<CatalogTool>]) -> Vec<Arc<CatalogTool>> {
        let mut without = Vec::new();
        let mut of_server = HashMap::<&str, usize>::new();
        for tool in tools.iter().filter(|tool| tool.meaning().is_none()) {
            let number = of_server.entry(tool.server()).or_default();
            without.push((*number, Arc::clone(tool)));
            *number += 1;
        }
        let (total, done) = (tools.len(), tools.len() - without.len());
        self.tools.store(total, Ordering::Relaxed);
        self.tools_done.store(done, Ordering::Relaxed);
        if done > 0 && done * 10 >= total * READY_OF_TEN {
            self.is_ready.store(true, Ordering::Relaxed);
        }
        without.sort_by_key(|(number, _)| *number);
        without.into_iter().map(|(_, tool)| tool).collect()
    }

    /// The encoder for queries, loaded where it is not kept. Its memory is given back when nobody used it for long.
    fn encoder(self: &Arc<Self>) -> Option<Arc<Encoder>> {
        let (encoder, is_new) = self.encoder.get(Instant::now())?;
        if is_new {
            let meanings = Arc::clone(self);
            self.background.spawn_until_stop(async move {
                while let Some(until) = meanings.encoder.forget_idle(Instant::now()) {
                    tokio::time::sleep_until(until).await;
                }
            });
        }
        Some(encoder)
    }
}
