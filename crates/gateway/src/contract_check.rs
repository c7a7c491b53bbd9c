//! Servers that announce the tool contract are watched.
//!
//! What such a tool answers is checked when it is passed on, and what it publishes when it is listed. Nothing is repaired
//! or held back here: what a server said is passed on as it came, and what it breaks is told in the result's `_meta`, in
//! `status`, and once in the log, and is counted.

#[cfg(feature = "bench")]
mod benchmark;
mod published;
mod watched;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_activity::{PublishedStore, StoreError};
use mcpproxy_catalog::{CatalogTool, Snapshot};
use mcpproxy_contract::{ContractViolation, Rule};
use mcpproxy_contract_check as check;
use mcpproxy_policy::Warning;
use mcpproxy_wire::{CallResult, Json, RpcError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[cfg(feature = "bench")]
pub use self::benchmark::AnswerChecks;
use self::published::{Comparison, KnownTools, accepted, compared};
pub use self::watched::{BrokenRule, ContractStatus};
use self::watched::{SeenAnswer, SeenViolations, WatchedServers};
use crate::background::Background;
use crate::records::Records;
use crate::request::cut;
use crate::settings::LiveSettings;

/// Code of the warning.
pub(crate) const CONTRACT_VIOLATED: &str = "CONTRACT_VIOLATED";

/// Number of violations that one result is passed on with; `contract check` and `status` have all of them.
const TOLD: usize = 5;

/// Number of violations of definitions that a line of the log names.
const LOGGED: usize = 5;

/// Most of a server's text that goes into a message, in characters.
const TEXT_LIMIT: usize = 500;

/// Time that the store may take to say what a server published, while a caller waits for a refusal.
const LOOKUP_TIME: Duration = Duration::from_secs(1);

/// Reason why nothing is computed any more.
const STOPPING: &str = "the gateway is stopping";

/// Code of JSON-RPC by which a server asks for a visit to an address before the call can be made.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Rules of definitions that each call of the tool is warned of: what callers rely on and the server broke.
const TOLD_WITH_CALLS: [Rule; 7] = [
    Rule::CacheableFits,
    Rule::DeprecationNotice,
    Rule::RemovalKept,
    Rule::NameKept,
    Rule::ParametersKept,
    Rule::OutputKept,
    Rule::MajorRenamed,
];

/// Tools whose present definition counts as published from now on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AcceptedTools {
    /// Tools whose definition was replaced by the one that is announced now.
    pub replaced: Vec<String>,
    /// Tools that are not announced any more, and are forgotten.
    pub forgotten: Vec<String>,
}

impl AcceptedTools {
    /// Whether everything was as published already.
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.forgotten.is_empty()
    }
}

/// Watch over the servers that announce the tool contract.
pub(crate) struct ContractWatch {
    servers: Mutex<WatchedServers>,
    published: PublishedStore,
    settings: Arc<LiveSettings>,
    background: Background,
    /// Held while a list is compared with what was published, so that it is one at a time.
    comparing: tokio::sync::Mutex<()>,
    /// Lists that are yet to be compared.
    waiting: AtomicU64,
    /// Whether some server published a tool that it does not announce any more.
    has_lost_names: AtomicBool,
}

impl ContractWatch {
    /// Watch that has seen nothing yet.
    pub(crate) fn new(
        settings: &Arc<LiveSettings>,
        records: &Records,
        background: &Background,
    ) -> Self {
        Self {
            servers: Mutex::default(),
            published: records.log().published_tools(),
            settings: Arc::clone(settings),
            background: background.clone(),
            comparing: tokio::sync::Mutex::default(),
            waiting: AtomicU64::default(),
            has_lost_names: AtomicBool::default(),
        }
    }

    /// Checks an answer of a tool that announces the contract, and warns of what it breaks; the agent hints in it, decoded.
    /// `has_changed` tells that the server announced a change during the call, and nothing but this call can have caused
    /// it.
    pub(crate) fn check_answer(
        &self,
        entry: &CatalogTool,
        result: &CallResult,
        has_changed: bool,
        warnings: &mut Vec<Warning>,
    ) -> Value {
        let (seen, hints) = seen_in(&self.servers, entry, result, has_changed);
        let (server, tool) = (entry.server(), entry.name());
        self.tell(server, tool, &seen.first);
        let count = seen.all.len();
        for violation in seen.all.into_iter().take(TOLD) {
            warnings.push(self.warning(entry.qualified(), &violation));
        }
        if count > TOLD {
            let message = format!(
                "Tool '{}' breaks the tool contract in {} more places; `mcpproxy contract check {server}` shows them",
                entry.qualified(),
                count - TOLD
            );
            warnings.push(Warning {
                code: CONTRACT_VIOLATED,
                message,
            });
        }
        hints
    }

    /// Warns of an error of JSON-RPC that a tool of the contract answered with: it has no agent hints.
    pub(crate) fn check_error(
        &self,
        entry: &CatalogTool,
        error: &RpcError,
        warnings: &mut Vec<Warning>,
    ) {
        // With this one the server asks for something, as a result may.
        if error.code == URL_ELICITATION_REQUIRED {
            return;
        }
        let message = format!(
            "it answered with an error of JSON-RPC ({}: {}), which has no agentHints; an error is a result with isError, error, agentHints and metadata",
            error.code, error.message
        );
        self.warn(entry, Rule::HintsPresent, message, false, warnings);
    }

    /// Warns of a tool that its server still offers although the day of its removal has come.
    pub(crate) fn check_removed(&self, entry: &CatalogTool, warnings: &mut Vec<Warning>) {
        let deprecation = entry.terms().and_then(|terms| terms.deprecation.as_ref());
        let Some(removal) = deprecation.and_then(|one| one.removal_date) else {
            return;
        };
        let message = check::still_offered(removal);
        self.warn(entry, Rule::RemovalKept, message, true, warnings);
    }

    /// Warns of a tool that its server published as one of the contract, and offers no more, or not as such.
    pub(crate) fn check_kept(&self, server: &str, tool: &str, warnings: &mut Vec<Warning>) {
        // Calls of tools without a contract come by here, and nearly no server breaks this rule.
        if !self.has_lost_names.load(Ordering::Relaxed) {
            return;
        }
        let lost = self.lock().lost(server, tool);
        if let Some(violation) = lost {
            warnings.push(self.warning(&format!("{server}:{tool}"), &violation));
        }
    }

    fn warn(
        &self,
        entry: &CatalogTool,
        rule: Rule,
        message: String,
        stands: bool,
        warnings: &mut Vec<Warning>,
    ) {
        let violation = ContractViolation {
            tool: entry.name().to_string(),
            rule,
            message,
        };
        let is_first = self.lock().broken(entry.server(), &violation, stands);
        if is_first {
            self.tell(
                entry.server(),
                entry.name(),
                std::slice::from_ref(&violation),
            );
        }
        warnings.push(self.warning(entry.qualified(), &violation));
    }

    /// Compares the tools of a server with what it published as tools of the contract, and tells what is wrong with them.
    /// Called when its list has changed, and when a day begins: dates pass while nothing changes.
    pub(crate) fn listed(self: &Arc<Self>, server: &str, snapshot: &Snapshot) {
        let Some(state) = snapshot.server(server) else {
            return;
        };
        let tools: Vec<_> = state.tools().cloned().collect();
        let (watch, server) = (Arc::clone(self), server.to_owned());
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Schemas are compiled and the store is asked for this, which no call should wait for.
        self.background.spawn(async move {
            let one_at_a_time = watch.comparing.lock().await;
            watch.compare(&server, &tools).await;
            drop(one_at_a_time);
            watch.waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Whether every list that came was compared with what was published.
    pub(crate) fn is_settled(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Names of the servers that are watched.
    pub(crate) fn watched(&self) -> Vec<Arc<str>> {
        self.lock().names()
    }

    async fn compare(&self, server: &str, tools: &[Arc<CatalogTool>]) {
        let stored = self.published.of_server(server).await;
        if let Err(problem) = &stored {
            tracing::debug!(%problem, server, "what a server published could not be read");
        }
        let stored = stored.ok();
        // A server that announces nothing any more may have done so before the gateway was started.
        let announces = tools.iter().any(|tool| tool.announces_contract());
        let has_published = stored.as_ref().is_some_and(|stored| !stored.is_empty());
        if !announces && !has_published && !self.lock().is_watched(server) {
            return;
        }
        let can_store = stored.is_some();
        let texts = self.texts(tools);
        let work = move || {
            let tools = KnownTools::parse(texts.into_iter());
            let found = definition_problems(&tools);
            let comparison = compared(stored.as_deref(), &tools, Timestamp::now());
            (comparison, found, tools)
        };
        let Some((comparison, found, tools)) = self.background.compute(work).await else {
            return;
        };
        log_definition_problems(server, &found);
        let standing = comparison.broken.iter().chain(&found);
        let standing = standing.filter(|one| TOLD_WITH_CALLS.contains(&one.rule));
        let first = self
            .lock()
            .listed(server, &tools, standing.cloned().collect());
        let has_lost_names = self.lock().has_lost_names();
        self.has_lost_names.store(has_lost_names, Ordering::Relaxed);
        for violation in &first {
            self.tell(server, &violation.tool, std::slice::from_ref(violation));
        }
        if can_store && let Err(problem) = self.store(server, &comparison).await {
            tracing::debug!(%problem, server, "what a server published could not be stored");
        }
    }

    /// Has what a server announces now count as what it published, whatever it breaks; of one tool, or of all. Nothing if
    /// there is no tool of that name, neither now nor before.
    pub(crate) async fn accept(
        &self,
        server: &str,
        tools: Vec<Arc<CatalogTool>>,
        only: Option<&str>,
    ) -> Result<Option<AcceptedTools>, StoreError> {
        let _one_at_a_time = self.comparing.lock().await;
        let stored = self.published.of_server(server).await?;
        let is_known = |name: &str| {
            stored.iter().any(|row| row.tool == name)
                || tools.iter().any(|tool| **tool.name() == *name)
        };
        if only.is_some_and(|only| !is_known(only)) {
            return Ok(None);
        }
        let texts = self.texts(&tools);
        let wanted = only.map(str::to_owned);
        let work = move || {
            let tools = KnownTools::parse(texts.into_iter());
            accepted(&stored, &tools, wanted.as_deref(), Timestamp::now())
        };
        let comparison = self.background.compute(work).await;
        let comparison = comparison.ok_or_else(|| StoreError::Unusable(STOPPING.to_owned()))?;
        self.store(server, &comparison).await?;
        self.compare(server, &tools).await;
        let replaced = comparison.to_store.into_iter().map(|row| row.tool);
        Ok(Some(AcceptedTools {
            replaced: replaced.collect(),
            forgotten: comparison.to_forget,
        }))
    }

    /// Whether a server published this tool, or another one, before it can have listed anything; nothing if it published
    /// none, or if nobody knows.
    pub(crate) async fn has_published(&self, server: &str, tool: &str) -> Option<bool> {
        let found = self.published.has_published(server, tool);
        let found = tokio::time::timeout(LOOKUP_TIME, found).await.ok()?;
        found.ok()?
    }

    /// Definitions of tools as their server sent them, without secrets.
    fn texts(&self, tools: &[Arc<CatalogTool>]) -> Vec<String> {
        let mask = self.settings.mask();
        let texts = tools.iter();
        texts
            .map(|tool| mask.apply(tool.tool().raw.text()).into_owned())
            .collect()
    }

    async fn store(&self, server: &str, comparison: &Comparison) -> Result<(), StoreError> {
        let mut stored = self.published.put(server, &comparison.to_store).await;
        for tool in &comparison.to_forget {
            stored = stored.and(self.published.forget(server, tool).await);
        }
        stored
    }

    /// Status of how a server keeps the contract; nothing if it announces none.
    pub(crate) fn status(&self, server: &str) -> Option<ContractStatus> {
        let status = self.lock().status(server)?;
        Some(self.masked(status))
    }

    /// How a server keeps the contract, with all that is remembered of what it broke; nothing if it announces none.
    pub(crate) fn everything(&self, server: &str) -> Option<ContractStatus> {
        let everything = self.lock().everything(server)?;
        Some(self.masked(everything))
    }

    fn masked(&self, mut status: ContractStatus) -> ContractStatus {
        let mask = self.settings.mask();
        let broken = status.broken.iter_mut();
        let messages =
            broken.flat_map(|one| std::iter::once(&mut one.message).chain(&mut one.more));
        messages.for_each(|message| *message = shortened(&mask.apply(message)));
        status
    }

    /// Counts of all violations, by server and rule.
    pub(crate) fn counts(&self) -> Vec<(Arc<str>, Rule, u64)> {
        self.lock().counts()
    }

    fn warning(&self, tool: &str, violation: &ContractViolation) -> Warning {
        let message = format!(
            "Tool '{tool}' breaks the tool contract that it announces: {}: {}",
            violation.rule.name(),
            violation.message
        );
        Warning {
            code: CONTRACT_VIOLATED,
            message: shortened(&self.settings.mask().apply(&message)),
        }
    }

    /// Tells the log of violations that were not there before.
    fn tell(&self, server: &str, tool: &str, violations: &[ContractViolation]) {
        for violation in violations {
            let message = shortened(&self.settings.mask().apply(&violation.message));
            let rule = violation.rule.name();
            tracing::warn!(server, tool, rule, "{CONTRACT_VIOLATED}: {message}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, WatchedServers> {
        locked(&self.servers)
    }
}

fn locked(servers: &Mutex<WatchedServers>) -> MutexGuard<'_, WatchedServers> {
    // Whoever panicked with it was counting; a count that is one short harms nobody.
    servers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Violations that an answer of a tool comes with, remembered among those that its server is known for; and the agent
/// hints in it, decoded.
fn seen_in(
    servers: &Mutex<WatchedServers>,
    entry: &CatalogTool,
    result: &CallResult,
    has_changed: bool,
) -> (SeenViolations, Value) {
    let structured = result.structured();
    let (mut outline, data) = outline(structured.as_ref());
    let answer = SeenAnswer {
        violations: check::result(&outline),
        confidence: outline["agentHints"]["confidence"].as_f64(),
        data,
        is_cached: outline["metadata"]["cached"] == true,
        has_changed,
    };
    let seen = locked(servers).answered(entry.server(), entry.name(), answer);
    let hints = outline.get_mut("agentHints").map(Value::take);
    (seen, hints.unwrap_or_default())
}

/// Faults of the definitions of those tools that announce the contract: a server may offer others beside them.
fn definition_problems(tools: &KnownTools) -> Vec<ContractViolation> {
    let mut found = check::tools(tools.values());
    let silent = found.iter().filter(|one| one.rule == Rule::Announced);
    let silent: HashSet<String> = silent.map(|one| one.tool.clone()).collect();
    found.retain(|one| !silent.contains(&one.tool));
    found
}

fn log_definition_problems(server: &str, found: &[ContractViolation]) {
    if found.is_empty() {
        return;
    }
    tracing::warn!(
        server,
        violations = found.len(),
        "definitions break the tool contract that they announce: {}. `mcpproxy contract check {server}` shows everything",
        named(found, LOGGED)
    );
}

/// Outline of a result that is checked, and the text of its data. The data may be large, and all that is checked of it is
/// whether there is any.
fn outline(structured: Option<&Json>) -> (Value, Option<&str>) {
    let Some(fields) = structured.and_then(Json::fields) else {
        return (Value::Null, None);
    };
    let mut outline = Map::new();
    let mut data = None;
    for name in ["data", "error", "agentHints", "metadata"] {
        let Some(raw) = fields.get(name) else {
            continue;
        };
        let value = match (name, raw.get()) {
            ("data", "null") => Value::Null,
            ("data", text) => {
                data = Some(text);
                Value::Bool(true)
            }
            (_, text) => mcpproxy_wire::json::decode_for_display(text),
        };
        outline.insert(name.to_owned(), value);
    }
    (Value::Object(outline), data)
}

/// First violations in one line.
fn named(found: &[ContractViolation], limit: usize) -> String {
    let one = |violation: &ContractViolation| match violation.tool.as_str() {
        "" => shortened(&violation.message),
        tool => shortened(&format!("{tool}: {}", violation.message)),
    };
    let mut named: Vec<String> = found.iter().take(limit).map(one).collect();
    if found.len() > limit {
        named.push(format!("and {} more", found.len() - limit));
    }
    named.join("; ")
}

/// Text that a server has a part in, short and on one line.
fn shortened(text: &str) -> String {
    cut(&text.replace(char::is_control, " "), TEXT_LIMIT)
}

#[cfg(test)]
mod tests;
