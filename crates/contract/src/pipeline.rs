//! One call, in a straight line. Reading [`Service::call`] and `Service::attempt` is reading the
//! contract: nothing else ever runs a handler.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use jiff::Timestamp;
use mcpproxy_support::rate::RateLimiter;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use crate::agent_hints::{AgentHints, HintWarning, Severity, WarningType, failed};
use crate::cache::{Cache, CacheKey};
use crate::dyn_tool::{Parsed, Registered};
use crate::metrics::{Finished, Metrics};
use crate::output::{ResultMetadata, ResultOutcome, ToolResult};
use crate::params::nearest_name;
use crate::registry::Registry;
use crate::{
    CategoryEffect, CategoryName, ContractViolations, Tool, ToolContext, ToolError, Version,
    observe,
};

/// How long to wait before the one repetition, so that what was away has a moment to come back.
const PAUSE_BEFORE_RETRY: Duration = Duration::from_millis(25);

/// Answers calls to the tools of a registry.
#[derive(Debug)]
pub struct Service {
    registry: Registry,
    cache: Cache,
    /// Calls to tools that have a limit, by the tool's index and the caller.
    limits: RateLimiter<(usize, String)>,
    metrics: Metrics,
}

/// What came of an attempt that worked.
struct Answered {
    data: Value,
    hints: AgentHints,
    cached: bool,
}

impl Service {
    /// A service of one tool, under the name and version of that tool; several tools make a
    /// [`Registry`]. Tells everything that is wrong with the tool.
    pub fn of<T: Tool>(tool: T) -> Result<Self, ContractViolations> {
        Registry::new(T::NAME, T::definition().version)
            .with(tool)
            .into_service()
    }

    pub(crate) fn new(registry: Registry) -> Self {
        let definitions = registry.tools.iter().map(|tool| &tool.definition);
        Self {
            metrics: Metrics::new(definitions),
            cache: Cache::new(),
            limits: RateLimiter::default(),
            registry,
        }
    }

    /// Calls a tool. Whatever happens, there is a result, with hints and metadata.
    pub async fn call(&self, name: &str, arguments: Value, context: &ToolContext) -> ToolResult {
        let started = Instant::now();
        let Some(&index) = self.registry.by_name.get(name) else {
            let known = self.registry.by_name.keys().map(String::as_str);
            let error = ToolError::unknown_tool(name, nearest_name(name, known));
            return self.seal(name, self.registry.version, Err(error), context, started);
        };
        let tool = &self.registry.tools[index];
        let span = observe::span(name, context);
        async {
            observe::start(tool, &arguments);
            let under_way = observe::UnderWay::begin();
            let attempt = self.attempt(index, tool, arguments, context);
            // A rule on a parameter is the author's code as well as the handler is.
            let attempt = AssertUnwindSafe(attempt).catch_unwind().await;
            let attempt = attempt.unwrap_or_else(|panic| Err(panicked(&*panic)));
            under_way.ended();
            self.finish(index, tool, attempt, context, started)
        }
        .instrument(span)
        .await
    }

    /// The straight line: permissions, rate limit, parameters, cache, deadline and handler, check.
    async fn attempt(
        &self,
        index: usize,
        tool: &Registered,
        arguments: Value,
        context: &ToolContext,
    ) -> Result<Answered, ToolError> {
        refuse_removed(tool, context)?;
        check_permissions(tool, context)?;
        self.check_rate(index, tool, context)?;
        let params = tool.tool.parse(arguments, &tool.input_schema)?;

        let key = cache_key(index, tool, context, &params);
        if let Some(key) = &key
            && let Some((data, hints)) = self.cache.get(key, Instant::now())
        {
            return Ok(Answered {
                data,
                hints,
                cached: true,
            });
        }
        let epoch = self.cache.epoch();
        // Dropped after the handler ran, failed, or was given up: it may have taken effect.
        let outdating = (!tool.definition.effect.is_read()).then(|| self.cache.outdating());
        let ran = run(tool, &params, context).await;
        drop(outdating);
        let (data, hints) = self.check_result(index, tool, ran?)?;
        if let (Some(key), Some(ttl)) = (key, tool.definition.cache_ttl) {
            let ttl = Duration::from_secs(u64::from(ttl));
            self.cache
                .put(key, epoch, (&data, &hints), (Instant::now(), ttl));
        }
        Ok(Answered {
            data,
            hints,
            cached: false,
        })
    }

    fn check_rate(
        &self,
        index: usize,
        tool: &Registered,
        context: &ToolContext,
    ) -> Result<(), ToolError> {
        let Some(limit) = tool.definition.rate_limit else {
            return Ok(());
        };
        let (key, now) = ((index, context.caller()), Instant::now().into_std());
        self.limits
            .admit(key, limit.max_calls(), limit.window(), now)
            .map_err(|wait| {
                self.metrics.rate_limited(index);
                ToolError::rate_limited(&tool.definition.name, wait)
            })
    }

    /// What no type could refuse. Data that is null fails the call; a suggestion of a tool that is
    /// not registered is taken out, because the work is done and its data are good.
    fn check_result(
        &self,
        index: usize,
        tool: &Registered,
        (data, mut hints): (Value, AgentHints),
    ) -> Result<(Value, AgentHints), ToolError> {
        if data.is_null() {
            self.metrics.violated(index);
            return Err(ToolError::internal("the handler gave null as data"));
        }
        let removed = hints.retain_suggestions(|action| self.registry.by_name.contains_key(action));
        if !removed.is_empty() {
            self.metrics.violated(index);
            observe::unknown_suggestions(tool, &removed);
        }
        Ok((data, hints))
    }

    fn finish(
        &self,
        index: usize,
        tool: &Registered,
        attempt: Result<Answered, ToolError>,
        context: &ToolContext,
        started: Instant,
    ) -> ToolResult {
        let attempt = match attempt {
            Err(error) if !tool.definition.effect.is_read() => Err(told_of_effect(error)),
            other => other.map(|answered| warned_of_removal(tool, answered)),
        };
        let elapsed = started.elapsed();
        let finished = match &attempt {
            Ok(answered) if answered.cached => Finished::Cached,
            Ok(_) => Finished::Data,
            Err(error) => Finished::Failed(error.category()),
        };
        self.metrics.executed(index, elapsed, finished);
        observe::end(
            tool,
            attempt
                .as_ref()
                .map(|answered| (&answered.data, answered.cached)),
            elapsed,
        );
        let definition = &tool.definition;
        self.seal(
            &definition.name,
            definition.version,
            attempt,
            context,
            started,
        )
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
                let hints = self.hints_of(&error);
                (ResultOutcome::Error(error.publish()), hints)
            }
        };
        let timestamp = Timestamp::now();
        let execution_time = milliseconds(started.elapsed());
        if !cached {
            hints.stamp(
                timestamp,
                format!("{}/{name}", self.registry.name),
                execution_time,
            );
        }
        let metadata = ResultMetadata {
            tool_version,
            timestamp,
            execution_time,
            service_version: self.registry.version,
            trace_id: context.trace_id.clone(),
            correlation_id: context.correlation_id,
            cached,
        };
        ToolResult::seal(outcome, hints, metadata)
    }

    fn hints_of(&self, error: &ToolError) -> AgentHints {
        let mut hints = failed(
            error.category(),
            error.code(),
            error.is_retryable(),
            error.retry_after(),
        );
        for suggestion in error.suggestions() {
            hints = hints.suggest(suggestion.clone());
        }
        hints.retain_suggestions(|action| self.registry.by_name.contains_key(action));
        hints
    }

    /// The tools that answer.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What was counted so far, as `OpenMetrics` text: executions, how long they took, errors by category, hits and
    /// misses of the cache, refusals of callers that called too often, and results that broke the contract.
    pub fn metrics(&self) -> String {
        self.metrics.to_text()
    }
}

/// The time of a deprecated tool ends; the date comes with the call, so that this needs no clock.
fn refuse_removed(tool: &Registered, context: &ToolContext) -> Result<(), ToolError> {
    let Some(deprecated) = &tool.definition.deprecated else {
        return Ok(());
    };
    let today = context.timestamp.to_zoned(jiff::tz::TimeZone::UTC).date();
    if today < deprecated.removal_date() {
        observe::deprecated(tool, deprecated.replacement());
        return Ok(());
    }
    let (name, replacement) = (&tool.definition.name, deprecated.replacement());
    Err(ToolError::removed(
        name,
        replacement,
        deprecated.removal_date(),
    ))
}

fn check_permissions(tool: &Registered, context: &ToolContext) -> Result<(), ToolError> {
    match context.grants.missing(&tool.definition.permissions) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(ToolError::forbidden(&tool.definition.name, &missing)),
    }
}

/// Where a result may be kept; nothing for tools that must run every time. The caller is part of
/// it, so that nobody sees what was made for somebody else.
fn cache_key(
    index: usize,
    tool: &Registered,
    context: &ToolContext,
    params: &Parsed,
) -> Option<CacheKey> {
    let is_kept = tool.definition.cacheable && tool.definition.effect.is_read();
    is_kept.then(|| CacheKey {
        tool: index,
        caller: context.caller(),
        params: params.canonical.clone(),
    })
}

/// The handler within its deadline, and a second time where that is safe and may help.
async fn run(
    tool: &Registered,
    params: &Parsed,
    context: &ToolContext,
) -> Result<(Value, AgentHints), ToolError> {
    let allowed = tool.definition.response_time.deadline();
    let deadline = Instant::now() + allowed;
    let repeated = async {
        match guarded(tool, params, context).await {
            Err(error) if error.is_transient() && may_repeat(tool) => {
                observe::retry(tool, &error);
                tokio::time::sleep(PAUSE_BEFORE_RETRY).await;
                guarded(tool, params, context).await
            }
            other => other,
        }
    };
    timeout_at(deadline, repeated).await.unwrap_or_else(|_| {
        let (name, idempotent) = (&tool.definition.name, tool.definition.idempotent);
        Err(match tool.definition.effect {
            CategoryEffect::Reads => ToolError::timeout(name, allowed),
            CategoryEffect::Writes | CategoryEffect::Destroys => {
                ToolError::outcome_unknown(name, allowed, idempotent)
            }
        })
    })
}

/// The handler; a panic costs this one call and nothing else.
async fn guarded(
    tool: &Registered,
    params: &Parsed,
    context: &ToolContext,
) -> Result<(Value, AgentHints), ToolError> {
    let calling = AssertUnwindSafe(async { tool.tool.call(params, context).await });
    let called = calling.catch_unwind().await;
    called.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// A panic as an error: what it said goes to the log.
fn panicked(panic: &(dyn std::any::Any + Send)) -> ToolError {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    ToolError::internal(format!("the tool panicked: {said}"))
}

fn may_repeat(tool: &Registered) -> bool {
    match tool.definition.category {
        CategoryName::Query | CategoryName::Analysis => true,
        CategoryName::Mutation | CategoryName::Generation => tool.definition.idempotent,
    }
}

/// A mutation that failed on our side may have got far enough to change something.
fn told_of_effect(error: ToolError) -> ToolError {
    match error.category() {
        crate::ErrorCategory::System => error.with("may_have_taken_effect", true),
        _ => error,
    }
}

fn warned_of_removal(tool: &Registered, mut answered: Answered) -> Answered {
    if let Some(deprecated) = &tool.definition.deprecated {
        let (replacement, removal) = (deprecated.replacement(), deprecated.removal_date());
        let message = format!("{} is removed on {removal}", tool.definition.name);
        answered.hints = answered.hints.warn(HintWarning {
            suggested_fix: Some(format!("use {replacement}")),
            ..HintWarning::new(WarningType::Deprecation, Severity::Medium, message)
        });
    }
    answered
}

/// With three decimals: a fast tool takes less than one.
fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}
