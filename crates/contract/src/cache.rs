//! Results that are kept for a while, each for the caller it was made for.
//!
//! A mutation makes everything kept before it old: it may have changed what a query saw, and a
//! caller who has just written must not read what was there before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moka::policy::EvictionPolicy;
use serde_json::Value;
use tokio::time::Instant;

use crate::agent_hints::AgentHints;

/// Most results that are kept, and most bytes of data in them: enough for the questions an agent repeats, too little
/// to trouble the machine.
const MOST_RESULTS: usize = 1_000;
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Largest result that is kept; a larger one would push out too many others.
const LARGEST_RESULT: usize = 1024 * 1024;

/// Cached results; the least recently used go first.
#[derive(Debug)]
pub(crate) struct Cache {
    results: moka::sync::Cache<CacheKey, Arc<CachedResult>>,
    /// Counts mutations; results of an earlier count are not given out.
    epoch: AtomicU64,
}

/// Which result: the tool, who asked, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    pub(crate) tool: usize,
    pub(crate) caller: String,
    pub(crate) params: String,
}

/// When a call began, in terms of mutations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

/// Makes everything kept so far old when it is dropped: a call that is given up is dropped too.
#[derive(Debug)]
pub(crate) struct Outdating<'a>(&'a Cache);

#[derive(Debug)]
struct CachedResult {
    data: Value,
    hints: AgentHints,
    /// By tokio's clock, which tests can move; moka has its own.
    until: Instant,
    epoch: Epoch,
    bytes: usize,
}

// === impl Cache ===

impl Cache {
    /// A cache without results.
    pub(crate) fn new() -> Self {
        let weight = |_: &CacheKey, result: &Arc<CachedResult>| {
            let least = MOST_BYTES / MOST_RESULTS;
            u32::try_from(result.bytes.max(least)).unwrap_or(u32::MAX)
        };
        Self {
            results: moka::sync::Cache::builder()
                .max_capacity(MOST_BYTES as u64)
                .weigher(weight)
                .eviction_policy(EvictionPolicy::lru())
                .build(),
            epoch: AtomicU64::new(0),
        }
    }

    /// The moment a call begins. What it finds is kept only if no mutation came in between.
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::SeqCst))
    }

    /// While this lives, something may be changed; afterwards nothing kept so far is given out.
    pub(crate) fn outdating(&self) -> Outdating<'_> {
        Outdating(self)
    }

    /// The kept result, if it is still good.
    pub(crate) fn get(&self, key: &CacheKey, now: Instant) -> Option<(Value, AgentHints)> {
        let epoch = self.epoch();
        let result = self.results.get(key)?;
        (result.until > now && result.epoch == epoch)
            .then(|| (result.data.clone(), result.hints.clone()))
    }

    /// Keeps a result that was begun in `epoch` for a while.
    pub(crate) fn put(
        &self,
        key: CacheKey,
        epoch: Epoch,
        (data, hints): (&Value, &AgentHints),
        (now, ttl): (Instant, Duration),
    ) {
        let bytes = size(data) + key.params.len();
        if bytes > LARGEST_RESULT || epoch != self.epoch() {
            return;
        }
        let result = CachedResult {
            data: data.clone(),
            hints: hints.clone(),
            until: now + ttl,
            epoch,
            bytes,
        };
        self.results.insert(key, Arc::new(result));
    }
}

// === impl Outdating ===

impl Drop for Outdating<'_> {
    fn drop(&mut self) {
        // The count decides, because a call that is under way may keep its result after this; moka only makes room.
        self.0.epoch.fetch_add(1, Ordering::SeqCst);
        self.0.results.invalidate_all();
    }
}

/// About how many bytes a value takes.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 24,
        Value::Array(items) => 24 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => {
            24 + fields
                .iter()
                .map(|(name, value)| name.len() + 24 + size(value))
                .sum::<usize>()
        }
        _ => 24,
    }
}
