//! Cache of the results of one server, for tools whose definition says that they may be cached.
//!
//! A result is given to nobody but the caller it was made for. A call that may change something at the server makes
//! every result before it old: who has just written must not read what was there before. Services inside this program
//! have a cache of their own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcpproxy_catalog::CatalogTool;
use mcpproxy_policy::{Caller, Effect};
use mcpproxy_wire::json::{Fields, with_set_member};
use mcpproxy_wire::{CallResult, Json, JsonObject};
use sha2::{Digest, Sha256};

/// Most results of one server, and most bytes of them: enough for the questions that agents repeat, too little to
/// trouble the machine.
const MOST_RESULTS: usize = 500;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Largest result that is cached; a larger one would push out too many others.
const LARGEST_RESULT: usize = 256 * 1024;

/// Results of one server that may be given again.
#[derive(Debug, Default)]
pub(crate) struct ResultCache {
    answers: Mutex<HashMap<AnswerKey, CachedAnswer>>,
    /// Counts calls that may have changed something; results of an earlier count are old.
    changes: AtomicU64,
}

/// Key of a result: the hash of the tool, the caller and the arguments, none of which are stored.
type AnswerKey = [u8; 32];

#[derive(Debug)]
struct CachedAnswer {
    /// Result, which says that it was cached.
    answer: CallResult,
    /// Tool as it was listed: another definition may mean another answer.
    tool: Arc<CatalogTool>,
    until: Instant,
    changes: u64,
}

/// Place in the cache for the result of one call.
#[derive(Debug)]
pub(crate) struct CachePlace<'a> {
    cache: &'a ResultCache,
    key: AnswerKey,
    tool: &'a Arc<CatalogTool>,
    ttl: Duration,
    /// Changes when the call began: what came in between makes its result old.
    changes: u64,
}

/// Mark of a call that may change something. Makes every result so far old when it is dropped: a call that is given up
/// is dropped too.
#[derive(Debug)]
pub(crate) struct ChangingCall<'a>(&'a ResultCache);

// === impl ResultCache ===

impl ResultCache {
    /// Place for the result of a call; none where the tool has to run every time, or where the caller cannot be told
    /// from others.
    pub(crate) fn place<'a>(
        &'a self,
        tool: &'a Arc<CatalogTool>,
        caller: &Caller,
        arguments: &JsonObject,
    ) -> Option<CachePlace<'a>> {
        let ttl = tool.terms()?.cache_ttl?;
        // Whatever the definition says, what may change something has to run.
        let is_read = tool.effect() == Effect::Read;
        let key = caller.cache_key().filter(|_| is_read)?;
        let metadata = &caller.metadata;
        // A service may answer by what the client sent besides the arguments.
        let besides = metadata.iter();
        let besides = besides.flat_map(|(name, value)| [name, value.text()]);
        let mut hash = Sha256::new();
        for part in [tool.qualified(), &key, arguments.text()]
            .into_iter()
            .chain(besides)
        {
            // With the lengths in front, no two calls have the same bytes.
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        Some(CachePlace {
            cache: self,
            key: hash.finalize().into(),
            tool,
            ttl,
            changes: self.changes.load(Ordering::SeqCst),
        })
    }

    /// Mark of a call of a tool, if it may change something.
    pub(crate) fn changing(&self, effect: Effect) -> Option<ChangingCall<'_>> {
        (effect != Effect::Read).then(|| ChangingCall(self))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AnswerKey, CachedAnswer>> {
        // Each change of the map is one step, so a panic leaves it whole.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl CachePlace ===

impl CachePlace<'_> {
    /// Result of an earlier call, if it is still good.
    pub(crate) fn answer(&self, now: Instant) -> Option<CallResult> {
        let answers = self.cache.lock();
        let found = answers.get(&self.key)?;
        let is_good = found.is_good(self.changes, now) && Arc::ptr_eq(&found.tool, self.tool);
        is_good.then(|| found.answer.clone())
    }

    /// Caches the result of the call, if it is one that can be given again.
    pub(crate) fn put(self, result: &CallResult, now: Instant) {
        let changes = self.cache.changes.load(Ordering::SeqCst);
        let Some(answer) = as_cached(result).filter(|_| changes == self.changes) else {
            return;
        };
        let mut answers = self.cache.lock();
        make_room(&mut answers, size(&answer), changes, now);
        let cached = CachedAnswer {
            answer,
            tool: Arc::clone(self.tool),
            until: now + self.ttl,
            changes,
        };
        answers.insert(self.key, cached);
    }
}

// === impl CachedAnswer ===

impl CachedAnswer {
    fn is_good(&self, changes: u64, now: Instant) -> bool {
        self.until > now && self.changes == changes
    }
}

// === impl ChangingCall ===

impl Drop for ChangingCall<'_> {
    fn drop(&mut self) {
        // Old results go when room is needed: a call of a tool that caches nothing takes no lock.
        self.0.changes.fetch_add(1, Ordering::SeqCst);
    }
}

/// Forgets what is old, and everything where that is not enough: what is asked again comes back.
fn make_room(
    answers: &mut HashMap<AnswerKey, CachedAnswer>,
    size_of_new: usize,
    changes: u64,
    now: Instant,
) {
    let is_full = |answers: &HashMap<AnswerKey, CachedAnswer>| {
        let sizes = answers.values().map(|cached| size(&cached.answer));
        answers.len() >= MOST_RESULTS || sizes.sum::<usize>() + size_of_new > MOST_BYTES
    };
    if is_full(answers) {
        answers.retain(|_, cached| cached.is_good(changes, now));
    }
    if is_full(answers) {
        answers.clear();
    }
}

fn size(answer: &CallResult) -> usize {
    answer.json().text().len()
}

/// Result that says that it was cached; none of what is too large, failed, is no result yet, has no data, or was cached
/// by its own service, which knows how long it is good. That it failed may be told by its `error` alone.
fn as_cached(result: &CallResult) -> Option<CallResult> {
    if size(result) > LARGEST_RESULT || result.is_error() || result.asks_for_input() {
        return None;
    }
    let structured = result.structured()?;
    let fields = structured.fields()?;
    let has = |name| fields.get(name).is_some_and(|raw| raw.get() != "null");
    if has("error") || !has("data") {
        return None;
    }
    let metadata = structured.part(fields.get("metadata")?);
    let given = Fields::read(metadata.text())?;
    if given.get("cached").is_some_and(|raw| raw.get() == "true") {
        return None;
    }
    let cached = Json::of(&serde_json::Value::Bool(true));
    let metadata = with_set_member(&metadata, "cached", &cached);
    Some(result.with_structured(&with_set_member(&structured, "metadata", &metadata)))
}

#[cfg(test)]
mod tests;
