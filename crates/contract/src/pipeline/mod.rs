//! One call, in a straight line. Reading [`Service::call`] and `Execution::attempt` is reading the
//! contract: nothing else ever runs a handler.

mod cache;
mod failure_hints;
mod metrics;
mod observe;
mod panics;
mod redact;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use jiff::Timestamp;
use mcpproxy_support::rate::RateLimiter;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use crate::agent_hints::{AgentHints, HintWarning, Severity, Suggestion, WarningType};
use crate::registry::{Parsed, Registered, Registry, nearest_name};
use crate::tool::error::ViolationKind;
use crate::tool::output::ResultOutcome;
use crate::{
    CategoryEffect, CategoryName, ContractViolation, ContractViolations, ErrorCategory,
    ResultMetadata, Rule, Tool, ToolContext, ToolError, ToolResult, Version,
};
use cache::{Cache, CacheKey, Outdating};
pub(crate) use failure_hints::{KnownBeside, failed_with};
pub use metrics::METRICS_FORMAT;
use metrics::{Counters, Metrics};
use panics::panicked;

/// Pause before the one repetition, so that what was away has a moment to come back.
const PAUSE_BEFORE_RETRY: Duration = Duration::from_millis(25);

/// Answers calls to the tools of a registry.
#[derive(Debug)]
pub struct Service {
    registry: Registry,
    cache: Cache,
    /// Calls to tools that have a limit, by the tool's index and the caller; none where the host counts them.
    limits: Option<RateLimiter<(usize, String)>>,
    metrics: Metrics,
}

/// One call of a tool that exists.
struct Execution<'a> {
    service: &'a Service,
    /// Place of the tool in the registry.
    index: usize,
    tool: &'a Registered,
    context: &'a ToolContext,
}

/// Answer of an attempt that worked.
struct Answered {
    data: Value,
    hints: AgentHints,
    cached: bool,
}

/// Outcome of a call for log and metrics: the data and whether it was cached, or the error.
type FinishedCall<'a> = Result<(&'a Value, bool), &'a ToolError>;

impl Registry {
    /// The service that answers calls to these tools. Every tool that is to be replaced must have
    /// its replacement here.
    pub fn into_service(mut self) -> Result<Service, ContractViolations> {
        let missing = self.tools.iter().filter_map(|tool| {
            let replacement = tool.definition.deprecated?.replacement;
            (!self.by_name.contains_key(replacement)).then(|| ContractViolation {
                tool: tool.definition.name.clone(),
                rule: Rule::DeprecationReplacement,
                message: format!("the replacement '{replacement}' is not registered"),
            })
        });
        self.refused.extend(missing);
        ContractViolations::none_or(std::mem::take(&mut self.refused))?;
        panics::keep_stacks();
        let definitions = self.tools.iter().map(|tool| &tool.definition);
        Ok(Service {
            metrics: Metrics::new(definitions),
            cache: Cache::new(),
            limits: Some(RateLimiter::default()),
            registry: self,
        })
    }
}

impl Service {
    /// A service of one tool, under the name and version of that tool; several tools make a
    /// [`Registry`]. Tells everything that is wrong with the tool.
    pub fn of<T: Tool>(tool: T) -> Result<Self, ContractViolations> {
        Registry::new(T::NAME, T::definition().version)
            .with(tool)
            .into_service()
    }

    /// Counts no calls from now on.
    pub(crate) fn end_limits(&mut self) {
        self.limits = None;
    }

    /// Calls a tool. Whatever happens, there is a result, with hints and metadata.
    pub async fn call(&self, name: &str, arguments: Value, context: &ToolContext) -> ToolResult {
        let started = Instant::now();
        let Some(&index) = self.registry.by_name.get(name) else {
            let known = self.registry.by_name.keys().map(String::as_str);
            let error = ToolError::unknown_tool(name, nearest_name(name, known));
            self.metrics.unknown.count(error.code());
            observe::unknown_tool(name, &error, context);
            return self.seal(name, self.registry.version, Err(error), context, started);
        };
        let execution = Execution {
            service: self,
            index,
            tool: &self.registry.tools[index],
            context,
        };
        execution.run(arguments, started).await
    }

    /// The only place where a result is made.
    fn seal(
        &self,
        name: &str,
        tool_version: Version,
        attempt: Result<Answered, ToolError>,
        context: &ToolContext,
        started: Instant,
    ) -> ToolResult {
        let cached = attempt.as_ref().is_ok_and(|answered| answered.cached);
        let (outcome, mut hints) = match attempt {
            Ok(answered) => (ResultOutcome::Data(answered.data), answered.hints),
            Err(error) => {
                let hints = self.hints_of(name, &error);
                (ResultOutcome::Error(error.published().clone()), hints)
            }
        };
        let timestamp = Timestamp::now();
        let execution_time = milliseconds(started.elapsed());
        if !cached {
            let by = format!("{}/{name}", self.registry.name);
            hints.stamp(timestamp, by, execution_time);
        }
        ToolResult {
            outcome,
            agent_hints: hints,
            metadata: ResultMetadata {
                tool_version,
                timestamp,
                execution_time,
                service_version: self.registry.version,
                trace_id: context.trace_id.clone(),
                correlation_id: context.correlation_id,
                cached,
            },
        }
    }

    fn hints_of(&self, name: &str, error: &ToolError) -> AgentHints {
        let counters = self.registry.by_name.get(name);
        let counters = counters.map(|&index| self.metrics.tools[index].broken_of_all());
        let violations = error.violations().iter();
        let strange = violations.filter(|one| one.kind == ViolationKind::StrangeName);
        let known = KnownBeside {
            helpers: error.suggestions().len() as u64,
            broken_of_all: counters.unwrap_or_default(),
            strange: strange.count() as u64,
        };
        let hints = failed_with(error.published(), error.retry_after(), known);
        let suggestions = error.suggestions().iter().cloned();
        let mut hints = suggestions.fold(hints, AgentHints::suggest);
        hints.retain_suggestions(|action| self.can_suggest(action));
        hints
    }

    /// Whether an action may be suggested: a tool of this service, or one that is named as that of another, which only
    /// a gateway in front of both can look up.
    fn can_suggest(&self, action: &str) -> bool {
        self.registry.by_name.contains_key(action) || Suggestion::is_elsewhere(action)
    }

    /// The tools that answer.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Counts so far, as `OpenMetrics` text: executions, how long they took, errors by category, hits and
    /// misses of the cache, refusals, calls that were given up, and results that broke the contract.
    pub fn metrics(&self) -> String {
        metrics::to_text(std::iter::once((None, &self.metrics)))
    }

    /// Metrics of several services as one text. Each sample has the name of its service as label `server`.
    pub fn metrics_of<'a>(services: impl IntoIterator<Item = (&'a str, &'a Self)>) -> String {
        let services = services.into_iter();
        metrics::to_text(services.map(|(name, service)| (Some(name), &service.metrics)))
    }

    /// Counts a call that the host of the service refused, so that it never came here.
    pub fn count_refusal(&self, tool: &str, code: &'static str) {
        let index = self.registry.by_name.get(tool);
        let refusals = index.map(|&index| &self.metrics.tools[index].refused);
        refusals.unwrap_or(&self.metrics.unknown).count(code);
    }
}

impl Execution<'_> {
    /// The call between its first line in the log and its last.
    async fn run(&self, arguments: Value, started: Instant) -> ToolResult {
        let definition = &self.tool.definition;
        let span = observe::span(&definition.name, self.context);
        async {
            let secrets = observe::start(self.tool, &arguments);
            let under_way = observe::UnderWay(&self.counters().abandoned);
            // A rule on a parameter is the author's code as well as the handler is.
            let attempt = AssertUnwindSafe(self.attempt(arguments))
                .catch_unwind()
                .await;
            let attempt = match attempt.unwrap_or_else(|panic| Err(panicked(&*panic))) {
                Err(error) if self.changes() => Err(told_of_effect(error)),
                other => other.map(|answered| self.warned_of_removal(answered)),
            };
            std::mem::forget(under_way);
            let elapsed = started.elapsed();
            let outcome = attempt.as_ref().map(|one| (&one.data, one.cached));
            self.counters().executed(elapsed, &outcome);
            observe::end(self.tool, outcome, elapsed, &secrets);
            let (name, version) = (&definition.name, definition.version);
            self.service
                .seal(name, version, attempt, self.context, started)
        }
        .instrument(span)
        .await
    }

    /// The straight line: permissions, rate limit, parameters, cache, deadline and handler, check.
    async fn attempt(&self, arguments: Value) -> Result<Answered, ToolError> {
        let params = self.admit(arguments)?;
        let cache = &self.service.cache;
        let key = self.cache_key(&params);
        if let Some(key) = &key
            && let Some((data, hints)) = cache.get(key, Instant::now())
        {
            return Ok(Answered {
                data,
                hints,
                cached: true,
            });
        }
        let epoch = cache.epoch();
        // Dropped after the handler ran, failed, or was given up: it may have taken effect.
        let outdating = self.changes().then(|| Outdating(cache));
        let handled = self.handle(&params).await;
        drop(outdating);
        let (data, hints) = self.check_result(handled?)?;
        if let (Some(key), Some(ttl)) = (key, self.tool.definition.cache_ttl) {
            let ttl = Duration::from_secs(u64::from(ttl));
            cache.put(key, epoch, (&data, &hints), (Instant::now(), ttl));
        }
        Ok(Answered {
            data,
            hints,
            cached: false,
        })
    }

    /// Parameters of a call that may begin. What is refused is counted.
    fn admit(&self, arguments: Value) -> Result<Parsed, ToolError> {
        let admitted = (|| {
            self.refuse_removed()?;
            self.check_permissions()?;
            self.check_rate()?;
            self.tool.tool.parse(arguments, &self.tool.input_schema)
        })();
        admitted.inspect_err(|error| {
            if error.published().category != ErrorCategory::System {
                self.counters().refused.count(error.code());
            }
        })
    }

    /// The time of a deprecated tool ends; the date comes with the call, so that this needs no clock.
    fn refuse_removed(&self) -> Result<(), ToolError> {
        let Some(deprecated) = &self.tool.definition.deprecated else {
            return Ok(());
        };
        let (replacement, removal_date) = (deprecated.replacement, deprecated.removal_date);
        if !self.tool.definition.is_removed(self.context.timestamp) {
            observe::deprecated(self.tool, replacement);
            return Ok(());
        }
        let name = &self.tool.definition.name;
        Err(ToolError::removed(name, replacement, removal_date))
    }

    fn check_permissions(&self) -> Result<(), ToolError> {
        let definition = &self.tool.definition;
        match self.context.grants.missing(&definition.permissions) {
            missing if missing.is_empty() => Ok(()),
            missing => Err(ToolError::forbidden(&definition.name, &missing)),
        }
    }

    fn check_rate(&self) -> Result<(), ToolError> {
        let Some(limit) = self.tool.definition.rate_limit else {
            return Ok(());
        };
        let key = (self.index, self.context.limit_key());
        let window = Duration::from_millis(limit.window_ms);
        let Some(limits) = &self.service.limits else {
            return Ok(());
        };
        let admitted = limits.admit(key, limit.max_calls, window, Instant::now().into_std());
        admitted.map_err(|wait| {
            self.counters().rate_limited.inc();
            ToolError::rate_limited(&self.tool.definition.name, wait)
        })
    }

    /// Key under which a result may be kept; none for tools that must run every time, and for callers that cannot be
    /// told apart. The caller is part of it, so that nobody sees what was made for somebody else.
    fn cache_key(&self, params: &Parsed) -> Option<CacheKey> {
        let is_kept = self.tool.definition.cacheable && !self.changes();
        let caller = self.context.cache_key().filter(|_| is_kept)?;
        Some(CacheKey {
            tool: self.index,
            caller,
            params: params.canonical.clone(),
        })
    }

    /// The handler within its deadline, and a second time where that is safe and may help.
    async fn handle(&self, params: &Parsed) -> Result<(Value, AgentHints), ToolError> {
        let definition = &self.tool.definition;
        let allowed = definition.response_time.deadline();
        let deadline = Instant::now() + allowed;
        let repeated = async {
            match self.handle_once(params).await {
                Err(error) if error.is_transient() && self.may_repeat() => {
                    observe::retry(self.tool, &error);
                    tokio::time::sleep(PAUSE_BEFORE_RETRY).await;
                    self.handle_once(params).await
                }
                other => other,
            }
        };
        timeout_at(deadline, repeated).await.unwrap_or_else(|_| {
            let name = &definition.name;
            Err(if self.changes() {
                ToolError::outcome_unknown(name, allowed, definition.idempotent)
            } else {
                ToolError::timeout(name, allowed)
            })
        })
    }

    /// The handler; a panic costs this one call and nothing else.
    async fn handle_once(&self, params: &Parsed) -> Result<(Value, AgentHints), ToolError> {
        let calling = async { self.tool.tool.call(params, self.context).await };
        let called = AssertUnwindSafe(calling).catch_unwind().await;
        called.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    /// Checks what no type could refuse. Data that is null fails the call; a suggestion of a tool that is
    /// not registered is taken out, because the work is done and its data are good.
    fn check_result(
        &self,
        (data, mut hints): (Value, AgentHints),
    ) -> Result<(Value, AgentHints), ToolError> {
        if data.is_null() {
            self.counters().contract_violations.inc();
            return Err(ToolError::internal("the handler gave null as data"));
        }
        let removed = hints.retain_suggestions(|action| self.service.can_suggest(action));
        if !removed.is_empty() {
            self.counters().contract_violations.inc();
            observe::unknown_suggestions(self.tool, &removed);
        }
        Ok((data, hints))
    }

    fn warned_of_removal(&self, mut answered: Answered) -> Answered {
        let definition = &self.tool.definition;
        if let Some(deprecated) = &definition.deprecated {
            let (replacement, removal) = (deprecated.replacement, deprecated.removal_date);
            let message = format!("{} is removed on {removal}", definition.name);
            answered.hints = answered.hints.warn(HintWarning {
                suggested_fix: Some(format!("use {replacement}")),
                ..HintWarning::new(WarningType::Deprecation, Severity::Medium, message)
            });
        }
        answered
    }

    fn changes(&self) -> bool {
        self.tool.definition.effect != CategoryEffect::Reads
    }

    fn may_repeat(&self) -> bool {
        use CategoryName::{Analysis, Query};
        let definition = &self.tool.definition;
        matches!(definition.category, Query | Analysis) || definition.idempotent
    }

    fn counters(&self) -> &Counters {
        &self.service.metrics.tools[self.index]
    }
}

/// A mutation that failed on our side may have got far enough to change something.
fn told_of_effect(error: ToolError) -> ToolError {
    match error.published().category {
        ErrorCategory::System => error.with("may_have_taken_effect", true),
        _ => error,
    }
}

/// Milliseconds with three decimals: a fast tool takes less than one.
fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}
