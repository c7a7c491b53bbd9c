//! Results that are kept for a while, each for the caller it was made for.
//!
//! A mutation makes everything kept before it old: it may have changed what a query saw, and a
//! caller who has just written must not read what was there before.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::agent_hints::AgentHints;

/// The most results that are kept, and the most bytes of data in them: enough for the questions
/// an agent repeats, too little to trouble the machine.
const MOST_RESULTS: usize = 1_000;
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// A result larger than this would push out too many others.
const LARGEST_RESULT: usize = 1024 * 1024;

/// Cached results.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    kept: Mutex<CachedResults>,
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

#[derive(Debug, Default)]
struct CachedResults {
    results: HashMap<CacheKey, CachedResult>,
    /// In the order they were kept; the oldest goes first.
    order: VecDeque<(CacheKey, u64)>,
    bytes: usize,
    next: u64,
}

#[derive(Debug)]
struct CachedResult {
    data: Value,
    hints: AgentHints,
    until: Instant,
    epoch: Epoch,
    bytes: usize,
    number: u64,
}

// === impl Cache ===

impl Cache {
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
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let result = kept.results.get(key)?;
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
            number: 0,
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(key, result);
        kept.shrink();
    }
}

// === impl Outdating ===

impl Drop for Outdating<'_> {
    fn drop(&mut self) {
        self.0.epoch.fetch_add(1, Ordering::SeqCst);
    }
}

// === impl CachedResults ===

impl CachedResults {
    fn insert(&mut self, key: CacheKey, mut result: CachedResult) {
        result.number = self.next;
        self.next += 1;
        self.bytes += result.bytes;
        self.order.push_back((key.clone(), result.number));
        if let Some(former) = self.results.insert(key, result) {
            self.bytes -= former.bytes;
        }
    }

    /// Lets the oldest go until the bounds hold.
    fn shrink(&mut self) {
        while self.results.len() > MOST_RESULTS
            || self.bytes > MOST_BYTES
            || self.order.len() > 2 * MOST_RESULTS
        {
            let Some((key, number)) = self.order.pop_front() else {
                return;
            };
            // A result that was replaced since has a later place in the order.
            if self
                .results
                .get(&key)
                .is_some_and(|kept| kept.number == number)
                && let Some(gone) = self.results.remove(&key)
            {
                self.bytes -= gone.bytes;
            }
        }
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
