//! What the tools of a service did, counted for Prometheus.
//!
//! The counters of a tool are taken from their families once, so that counting a call looks nothing up; and nothing
//! that a caller sent becomes a label.

use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use crate::{ErrorCategory, PublishedDefinition};

/// Upper bounds of the histogram in seconds. The bounds of the promises on response times (0.1 and 1) and of the
/// deadlines (1, 10 and 60) are among them, so that both can be read off exactly.
const BOUNDS: [f64; 15] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// Counters of all tools of a service. A tool is named by its place in the list they were made from; a place that does
/// not exist counts nothing.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: prometheus_client::registry::Registry,
    tools: Vec<Counters>,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Finished {
    /// With data that was computed for this call. For a cacheable tool this is a miss.
    Data,
    /// With data that was kept from an earlier call.
    Cached,
    /// With an error.
    Failed(ErrorCategory),
}

/// Counters of one tool.
#[derive(Debug)]
struct Counters {
    executions: Counter,
    validation: Counter,
    business: Counter,
    system: Counter,
    /// Hits and misses; none for a tool whose results are not kept.
    cache: Option<(Counter, Counter)>,
    rate_limited: Counter,
    contract_violations: Counter,
    seconds: Histogram,
}

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

// === impl Metrics ===

impl Metrics {
    /// Counters at zero, one set for each tool.
    pub(crate) fn new<'a>(tools: impl Iterator<Item = &'a PublishedDefinition>) -> Self {
        let mut registry = prometheus_client::registry::Registry::with_prefix("mcp_tool");
        let mut counters = |name: &str, help: &str| {
            let family = Family::<Labels, Counter>::default();
            registry.register(name, help, family.clone());
            family
        };
        let executions = counters("executions", "Calls, whatever came of them");
        let errors = counters("errors", "Calls that failed, by category");
        let hits = counters("cache_hits", "Answers kept from an earlier call");
        let misses = counters(
            "cache_misses",
            "Answers of cacheable tools that were computed",
        );
        let rate_limited = counters("rate_limited", "Calls of callers that called too often");
        let violations = counters("contract_violations", "Results that broke the contract");
        let seconds: Family<Labels, Histogram> =
            Family::new_with_constructor(|| Histogram::new(BOUNDS));
        registry.register(
            "execution_seconds",
            "How long calls took, in seconds",
            seconds.clone(),
        );
        let of_tool = |definition: &PublishedDefinition| {
            let tool: Labels = vec![("tool", definition.name.clone())];
            let failed = |category: &str| {
                let mut labels = tool.clone();
                labels.push(("category", category.to_owned()));
                errors.get_or_create_owned(&labels)
            };
            Counters {
                executions: executions.get_or_create_owned(&tool),
                validation: failed("validation"),
                business: failed("business"),
                system: failed("system"),
                cache: definition.cacheable.then(|| {
                    let hits = hits.get_or_create_owned(&tool);
                    (hits, misses.get_or_create_owned(&tool))
                }),
                rate_limited: rate_limited.get_or_create_owned(&tool),
                contract_violations: violations.get_or_create_owned(&tool),
                seconds: seconds.get_or_create_owned(&tool),
            }
        };
        let tools = tools.map(of_tool).collect();
        Self { registry, tools }
    }

    /// Counts a call that was executed, or refused before that. Every call counts here once.
    pub(crate) fn executed(&self, tool: usize, elapsed: Duration, outcome: Finished) {
        let Some(counters) = self.tools.get(tool) else {
            return;
        };
        counters.executions.inc();
        counters.seconds.observe(elapsed.as_secs_f64());
        let counter = match (outcome, &counters.cache) {
            (Finished::Data, Some((_, misses))) => misses,
            (Finished::Cached, Some((hits, _))) => hits,
            (Finished::Data | Finished::Cached, None) => return,
            (Finished::Failed(ErrorCategory::Validation), _) => &counters.validation,
            (Finished::Failed(ErrorCategory::Business), _) => &counters.business,
            (Finished::Failed(ErrorCategory::System), _) => &counters.system,
        };
        counter.inc();
    }

    /// Counts a refusal because a caller called too often, besides [`Metrics::executed`].
    pub(crate) fn rate_limited(&self, tool: usize) {
        if let Some(counters) = self.tools.get(tool) {
            counters.rate_limited.inc();
        }
    }

    /// Counts a result that broke the contract, besides [`Metrics::executed`].
    pub(crate) fn violated(&self, tool: usize) {
        if let Some(counters) = self.tools.get(tool) {
            counters.contract_violations.inc();
        }
    }

    /// Metrics as `OpenMetrics` text, which Prometheus reads.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
