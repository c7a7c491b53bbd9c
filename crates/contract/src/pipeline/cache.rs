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
pub(super) struct Cache {
    results: moka::sync::Cache<CacheKey, Arc<CachedResult>>,
    /// Counts mutations; results of an earlier count are not given out.
    epoch: AtomicU64,
}

/// Key of a result: the tool, who asked, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    pub(super) tool: usize,
    pub(super) caller: String,
    pub(super) params: String,
}

/// While this lives, something may be changed. Makes everything kept so far old when it is dropped: a call that is
/// given up is dropped too.
#[derive(Debug)]
pub(super) struct Outdating<'a>(pub(super) &'a Cache);

#[derive(Debug)]
struct CachedResult {
    data: Value,
    hints: AgentHints,
    /// By tokio's clock, which tests can move; moka has its own.
    until: Instant,
    epoch: u64,
    bytes: usize,
}

// === impl Cache ===

impl Cache {
    /// A cache without results.
    pub(super) fn new() -> Self {
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
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// The kept result, if it is still good.
    pub(super) fn get(&self, key: &CacheKey, now: Instant) -> Option<(Value, AgentHints)> {
        let epoch = self.epoch();
        let result = self.results.get(key)?;
        (result.until > now && result.epoch == epoch)
            .then(|| (result.data.clone(), result.hints.clone()))
    }

    /// Keeps a result that was begun in `epoch` for a while.
    pub(super) fn put(
        &self,
        key: CacheKey,
        epoch: u64,
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
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 24,
        Value::Object(fields) => {
            let fields = fields.iter();
            let sizes = fields.map(|(name, value)| name.len() + 24 + size(value));
            sizes.sum::<usize>() + 24
        }
        _ => 24,
    }
}
