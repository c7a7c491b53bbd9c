//! Counters of the tools of a service, for Prometheus.
//!
//! The counters of a tool are taken from their families once, so that counting a call looks nothing up; and nothing
//! that a caller sent becomes a label.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use super::FinishedCall;
use crate::PublishedDefinition;

/// Upper bounds of the histogram in seconds. The bounds of the promises on response times (0.1 and 1) and of the
/// deadlines (1, 10 and 60) are among them, so that both can be read off exactly.
const BOUNDS: [f64; 15] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// Counters of all tools of a service.
#[derive(Debug)]
pub(super) struct Metrics {
    pub(super) registry: prometheus_client::registry::Registry,
    /// In the order of the list they were made from.
    pub(super) tools: Vec<Counters>,
}

/// Counters of one tool.
#[derive(Debug)]
pub(super) struct Counters {
    executions: Counter,
    /// Errors: validation, business, system.
    errors: [Counter; 3],
    /// Hits and misses; none for a tool whose results are not kept.
    cache: Option<(Counter, Counter)>,
    /// Refusals because a caller called too often; each is an execution as well.
    pub(super) rate_limited: Counter,
    /// Results that broke the contract; each is an execution as well.
    pub(super) contract_violations: Counter,
    seconds: Histogram,
}

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

// === impl Metrics ===

impl Metrics {
    /// Counters at zero, one set for each tool.
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a PublishedDefinition>) -> Self {
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
                errors: ["validation", "business", "system"].map(failed),
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
}

// === impl Counters ===

impl Counters {
    /// Counts a call that was executed, or refused before that. Every call counts here once.
    pub(super) fn executed(&self, elapsed: Duration, outcome: &FinishedCall<'_>) {
        self.executions.inc();
        self.seconds.observe(elapsed.as_secs_f64());
        match (outcome, &self.cache) {
            (Ok((_, true)), Some((hits, _))) => hits.inc(),
            (Ok((_, false)), Some((_, misses))) => misses.inc(),
            (Ok(_), None) => return,
            (Err(error), _) => self.errors[error.published().category as usize].inc(),
        };
    }
}
