//! Worker that gives tools their meanings: from the file where they are known, else computed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpproxy_catalog::CatalogTool;
use mcpproxy_catalog::meaning::{Meaning, TEXTS, texts};
use mcpproxy_embed::{Encoder, Vector};

use super::vectors_file::{TextKey, VectorsFile};

/// Niceness of the worker's thread: whatever else has to run goes first.
const NICENESS: i32 = 10;

/// Pause between lines of the log about how far it is.
const REPORT_STEP: Duration = Duration::from_secs(10);

/// Worker that gives tools their meanings.
pub(super) struct Worker {
    /// Tools that have none.
    pub(super) tools: Vec<Arc<CatalogTool>>,
    /// All tools that can be called: the vectors of others need not be kept.
    pub(super) all: Vec<Arc<CatalogTool>>,
    pub(super) file: PathBuf,
}

/// Vectors of texts: known ones, and others as they are computed.
struct Vectors {
    known: HashMap<TextKey, Vector>,
    /// Loaded when the first vector is missing.
    encoder: Option<Encoder>,
    /// Nothing if the file cannot be used.
    file: Option<VectorsFile>,
    computed: usize,
}

impl Worker {
    /// Gives the tools their meanings and calls `done` after each, which tells whether to go on.
    pub(super) fn run(self, mut done: impl FnMut() -> bool) {
        be_nice();
        let started = Instant::now();
        let mut reported = started;
        let all_texts: Vec<_> = self.tools.iter().map(texts_of).collect();
        let wanted = all_texts.iter().flatten().map(|text| TextKey::of(text));
        let wanted = wanted.collect();
        let mut vectors = Vectors::open(&self.file, &wanted, || keys_of(&self.all));
        let count = self.tools.len();
        for (number, (tool, texts)) in self.tools.iter().zip(all_texts).enumerate() {
            let texts = texts.map(|text| vectors.of(&text));
            let [Some(sentence), Some(whole), Some(parameters)] = texts else {
                return;
            };
            tool.set_meaning(Meaning::new([sentence, whole, parameters]));
            if !done() {
                return;
            }
            if reported.elapsed() > REPORT_STEP {
                reported = Instant::now();
                tracing::info!(
                    "vectors for search by meaning: {} of {count} tools",
                    number + 1
                );
            }
        }
        let (computed, seconds) = (vectors.computed, started.elapsed().as_secs_f32());
        if computed > 0 {
            tracing::info!(
                "vectors for search by meaning: {count} tools, {computed} computed in {seconds:.1} s"
            );
        }
    }
}

fn texts_of(tool: &Arc<CatalogTool>) -> [String; TEXTS] {
    texts(tool.server(), tool.tool())
}

/// Keys of all texts of some tools.
fn keys_of(tools: &[Arc<CatalogTool>]) -> HashSet<TextKey> {
    let texts = tools.iter().flat_map(texts_of);
    texts.map(|text| TextKey::of(&text)).collect()
}

impl Vectors {
    fn open(
        path: &Path,
        wanted: &HashSet<TextKey>,
        in_use: impl FnOnce() -> HashSet<TextKey>,
    ) -> Self {
        let (file, known) = match VectorsFile::open(path, wanted, in_use) {
            Ok((file, known)) => (Some(file), known),
            Err(error) => {
                tracing::warn!(%error, "vectors.db cannot be used; vectors for search are computed at every start");
                (None, HashMap::new())
            }
        };
        Self {
            known,
            encoder: None,
            file,
            computed: 0,
        }
    }

    /// The vector of a text; nothing if it is not known and there is no model.
    fn of(&mut self, text: &str) -> Option<Vector> {
        let key = TextKey::of(text);
        if let Some(vector) = self.known.get(&key) {
            return Some(vector.clone());
        }
        if self.encoder.is_none() {
            self.encoder = Encoder::load();
        }
        let vector = self.encoder.as_ref()?.embed(text);
        self.computed += 1;
        if let Some(file) = &mut self.file
            && let Err(error) = file.add(key, &vector)
        {
            tracing::warn!(%error, "a vector could not be kept; vectors for search are computed again at the next start");
            self.file = None;
        }
        self.known.insert(key, vector.clone());
        Some(vector)
    }
}

/// Lets everything else on this machine go first. Where that is not possible, it is no harm.
fn be_nice() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS);
    #[cfg(not(target_os = "linux"))]
    let _ = NICENESS;
}
