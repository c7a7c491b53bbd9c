//! Counters of the tools of a service, for Prometheus.
//!
//! A tool has its counters from the beginning, so that counting a call looks nothing up; and nothing that a caller sent
//! becomes a label.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

use super::FinishedCall;
use crate::{ErrorCategory, PublishedDefinition};

/// Media type of the text that metrics are given out as.
pub const METRICS_FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the histogram in seconds. The bounds of the promises on response times (0.1 and 1) and of the
/// deadlines (1, 10 and 60) are among them, so that both can be read off exactly.
const BOUNDS: [f64; 15] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// Categories of errors, in the order of `ErrorCategory`.
const CATEGORIES: [&str; 3] = ["validation", "business", "system"];

/// Tool that refusals of names without a tool count for. No tool can be named so: its name has a verb and a noun.
const NO_TOOL: &str = "unknown";

/// Counters of all tools of a service.
#[derive(Debug)]
pub(super) struct Metrics {
    /// In the order of the list they were made from.
    pub(super) tools: Vec<Counters>,
    /// Calls of names that no tool has.
    pub(super) unknown: Refusals,
}

/// Counters of one tool.
#[derive(Debug)]
pub(super) struct Counters {
    tool: String,
    executions: Counter,
    /// Errors: validation, business, system.
    errors: [Counter; 3],
    /// Hits and misses; none for a tool whose results are not kept.
    cache: Option<(Counter, Counter)>,
    /// Refusals because a caller called too often; each is an execution as well.
    pub(super) rate_limited: Counter,
    /// Results that broke the contract; each is an execution as well.
    pub(super) contract_violations: Counter,
    /// Calls that their callers gave up; none of them is an execution.
    pub(super) abandoned: Counter,
    /// Calls that were refused before the tool began.
    pub(super) refused: Refusals,
    seconds: Histogram,
}

/// Refusals by their code. Codes are words of a program and nothing that a caller chooses, so there are few.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<BTreeMap<&'static str, Counter>>);

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

/// Samples of one metric, each with its labels.
#[derive(Debug)]
struct Samples<M>(Vec<(Labels, M)>);

/// Metrics of several services as one text, each with the label `server` where it has a name there.
pub(super) fn to_text<'a>(
    services: impl Iterator<Item = (Option<&'a str>, &'a Metrics)>,
) -> String {
    let (mut tools, mut refused) = (Vec::new(), Vec::new());
    for (server, metrics) in services {
        let labels_of = |tool: &str| {
            let server = server.map(|name| ("server", name.to_owned()));
            let tool = ("tool", tool.to_owned());
            server.into_iter().chain([tool]).collect::<Labels>()
        };
        refused.extend(metrics.unknown.samples(&labels_of(NO_TOOL)));
        for tool in &metrics.tools {
            let labels = labels_of(&tool.tool);
            refused.extend(tool.refused.samples(&labels));
            tools.push((labels, tool));
        }
    }
    let counted = |of: fn(&Counters) -> Option<&Counter>| {
        let samples = tools.iter().filter_map(|(labels, tool)| {
            let counter = of(tool)?.clone();
            Some((labels.clone(), counter))
        });
        Samples(samples.collect())
    };
    let errors = tools.iter().flat_map(|(labels, tool)| {
        let categories = CATEGORIES.into_iter().zip(&tool.errors);
        categories.map(|(category, count)| (with(labels, "category", category), count.clone()))
    });
    let seconds = tools.iter();
    let seconds = seconds.map(|(labels, tool)| (labels.clone(), tool.seconds.clone()));

    let mut registry = Registry::with_prefix("mcp_tool");
    let mut add = |name: &str, help: &str, samples| registry.register(name, help, samples);
    let executions = counted(|tool| Some(&tool.executions));
    add(
        "executions",
        "Calls that ended, whatever came of them",
        executions,
    );
    let help = "Calls that failed, by category";
    add("errors", help, Samples(errors.collect()));
    let hits = counted(|tool| tool.cache.as_ref().map(|(hits, _)| hits));
    add("cache_hits", "Answers kept from an earlier call", hits);
    let misses = counted(|tool| tool.cache.as_ref().map(|(_, misses)| misses));
    let help = "Answers of cacheable tools that were computed";
    add("cache_misses", help, misses);
    let limited = counted(|tool| Some(&tool.rate_limited));
    add(
        "rate_limited",
        "Calls of callers that called too often",
        limited,
    );
    let violations = counted(|tool| Some(&tool.contract_violations));
    add(
        "contract_violations",
        "Results that broke the contract",
        violations,
    );
    let abandoned = counted(|tool| Some(&tool.abandoned));
    add(
        "abandoned",
        "Calls that their callers gave up before they ended",
        abandoned,
    );
    let help = "Calls that were refused before the tool began, by the code of the refusal";
    add("refused", help, Samples(refused));
    let help = "How long calls took, in seconds";
    registry.register("execution_seconds", help, Samples(seconds.collect()));

    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.to_owned()));
    labels
}

// === impl Metrics ===

impl Metrics {
    /// Counters at zero, one set for each tool.
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a PublishedDefinition>) -> Self {
        Self {
            tools: tools.map(Counters::new).collect(),
            unknown: Refusals::default(),
        }
    }
}

// === impl Counters ===

impl Counters {
    /// Calls so far, and those of them that broke: nothing that was sent was to blame.
    pub(super) fn broken_of_all(&self) -> (u64, u64) {
        let broken = &self.errors[ErrorCategory::System as usize];
        (broken.get(), self.executions.get())
    }

    fn new(definition: &PublishedDefinition) -> Self {
        let refused = Refusals::default();
        let possible = [
            ("INVALID_ARGUMENTS", true),
            ("FORBIDDEN", !definition.permissions.is_empty()),
            ("RATE_LIMITED", definition.rate_limit.is_some()),
            ("TOOL_REMOVED", definition.deprecated.is_some()),
        ];
        // A rate can be computed from the first refusal on where there was a zero before it.
        for (code, _) in possible.into_iter().filter(|(_, can_be)| *can_be) {
            refused.counter(code);
        }
        Self {
            tool: definition.name.clone(),
            executions: Counter::default(),
            errors: Default::default(),
            cache: definition.cacheable.then(Default::default),
            rate_limited: Counter::default(),
            contract_violations: Counter::default(),
            abandoned: Counter::default(),
            refused,
            seconds: Histogram::new(BOUNDS),
        }
    }

    /// Counts a call that was executed, or refused before that. Every call that ends counts here once.
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

// === impl Refusals ===

impl Refusals {
    /// Counts a refusal.
    pub(super) fn count(&self, code: &'static str) {
        self.counter(code).inc();
    }

    fn counter(&self, code: &'static str) -> Counter {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counters.entry(code).or_default().clone()
    }

    fn samples(&self, labels: &Labels) -> Vec<(Labels, Counter)> {
        let counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = counters.iter();
        let samples = samples.map(|(code, count)| (with(labels, "code", code), count.clone()));
        samples.collect()
    }
}

// === impl Samples ===

impl<M: EncodeMetric + TypedMetric> EncodeMetric for Samples<M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, metric) in &self.0 {
            metric.encode(encoder.encode_family(labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
