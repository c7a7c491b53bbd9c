//! What the tools of a service did, counted.
//!
//! Counting is a few additions without a lock, so that it may stand in the way of every call.
//! Counters only ever grow, and nothing that a caller sent becomes a label.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{ErrorCategory, PublishedDefinition};

mod prometheus;

pub use prometheus::{
    CACHE_HITS, CACHE_MISSES, CONTRACT_VIOLATIONS, ERRORS, EXECUTION_SECONDS, EXECUTIONS,
    RATE_LIMITED,
};

/// The upper bounds of the histogram, in microseconds and as they are published in seconds. They
/// hold the bounds of the promises on response times (0.1 and 1 second) and of the deadlines (1, 10
/// and 60 seconds), so that both can be read off exactly.
const BOUNDS: [(u64, &str); 15] = [
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
    (60_000_000, "60"),
];

/// The counters of all tools of a service. A tool is named by its place in the list they were made
/// from; a place that does not exist counts nothing.
#[derive(Debug)]
pub struct Metrics {
    tools: Vec<Counters>,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// With data that was computed for this call. For a cacheable tool this is a miss.
    Data,
    /// With data that was kept from an earlier call.
    Cached,
    /// With an error.
    Failed(ErrorCategory),
}

/// What one tool did so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolMetrics {
    /// The name of the tool.
    pub tool: String,
    /// How many calls there were, whatever came of them.
    pub executions: u64,
    /// How many of these failed, by the group of the error.
    pub errors: ErrorCounts,
    /// How often a kept result was used; none for a tool whose results are not kept.
    pub cache: Option<CacheCounts>,
    /// How many calls were refused because the caller called too often. They count as executions
    /// that failed with a business error as well.
    pub rate_limited: u64,
    /// How many results broke the contract.
    pub contract_violations: u64,
    /// How long the executions took.
    pub execution_time: Histogram,
}

/// Errors by their group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorCounts {
    /// See [`ErrorCategory::Validation`].
    pub validation: u64,
    /// See [`ErrorCategory::Business`].
    pub business: u64,
    /// See [`ErrorCategory::System`].
    pub system: u64,
}

/// Answers with data of a cacheable tool, by where the data came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounts {
    /// From an earlier call.
    pub hits: u64,
    /// Computed for the call.
    pub misses: u64,
}

/// How long executions took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// For each upper bound, how many executions took at most so long.
    pub buckets: Vec<(Duration, u64)>,
    /// How many executions there were.
    pub count: u64,
    /// How long they took together.
    pub sum: Duration,
}

/// The counters of one tool.
#[derive(Debug)]
struct Counters {
    tool: String,
    cacheable: bool,
    data: AtomicU64,
    cached: AtomicU64,
    validation: AtomicU64,
    business: AtomicU64,
    system: AtomicU64,
    rate_limited: AtomicU64,
    contract_violations: AtomicU64,
    /// Executions by the first bound they kept, and last those that kept none.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

// === impl Metrics ===

impl Metrics {
    /// Counters at zero, one set for each tool.
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a PublishedDefinition>) -> Self {
        Self {
            tools: tools.into_iter().map(Counters::new).collect(),
        }
    }

    /// A call was executed, or refused before that. Every call counts here once.
    pub fn executed(&self, tool: usize, elapsed: Duration, outcome: Finished) {
        if let Some(counters) = self.tools.get(tool) {
            counters.executed(elapsed, outcome);
        }
    }

    /// A call was refused because its caller called too often. It is to be counted by
    /// [`Metrics::executed`] as well.
    pub fn rate_limited(&self, tool: usize) {
        if let Some(counters) = self.tools.get(tool) {
            add(&counters.rate_limited, 1);
        }
    }

    /// A result broke the contract. The execution itself is counted by [`Metrics::executed`].
    pub fn violated(&self, tool: usize) {
        if let Some(counters) = self.tools.get(tool) {
            add(&counters.contract_violations, 1);
        }
    }

    /// What each tool did so far, in the order of the tools.
    pub fn snapshot(&self) -> Vec<ToolMetrics> {
        self.tools.iter().map(Counters::snapshot).collect()
    }

    /// Metrics as text in the exposition format of Prometheus, version 0.0.4.
    pub fn to_prometheus(&self) -> String {
        prometheus::render(&self.snapshot())
    }
}

// === impl ToolMetrics ===

impl ToolMetrics {
    /// The share of executions that failed, 0 if there were none.
    pub fn error_rate(&self) -> f64 {
        share(self.errors.total(), self.executions).unwrap_or(0.0)
    }

    /// The share of answers with data that were kept from an earlier call. None for a tool whose
    /// results are not kept, and before the first answer.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        let cache = self.cache?;
        share(cache.hits, cache.hits.saturating_add(cache.misses))
    }
}

// === impl ErrorCounts ===

impl ErrorCounts {
    /// All errors together.
    pub fn total(&self) -> u64 {
        self.validation
            .saturating_add(self.business)
            .saturating_add(self.system)
    }
}

// === impl Counters ===

impl Counters {
    fn new(definition: &PublishedDefinition) -> Self {
        Self {
            tool: definition.name.clone(),
            cacheable: definition.cacheable,
            data: AtomicU64::new(0),
            cached: AtomicU64::new(0),
            validation: AtomicU64::new(0),
            business: AtomicU64::new(0),
            system: AtomicU64::new(0),
            rate_limited: AtomicU64::new(0),
            contract_violations: AtomicU64::new(0),
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            nanoseconds: AtomicU64::new(0),
        }
    }

    fn executed(&self, elapsed: Duration, outcome: Finished) {
        let counter = match outcome {
            Finished::Data => &self.data,
            Finished::Cached => &self.cached,
            Finished::Failed(ErrorCategory::Validation) => &self.validation,
            Finished::Failed(ErrorCategory::Business) => &self.business,
            Finished::Failed(ErrorCategory::System) => &self.system,
        };
        add(counter, 1);
        let bucket = BOUNDS
            .iter()
            .position(|(bound, _)| elapsed <= Duration::from_micros(*bound))
            .unwrap_or(BOUNDS.len());
        add(&self.buckets[bucket], 1);
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        add(&self.nanoseconds, nanoseconds);
    }

    fn snapshot(&self) -> ToolMetrics {
        let errors = ErrorCounts {
            validation: read(&self.validation),
            business: read(&self.business),
            system: read(&self.system),
        };
        let (data, cached) = (read(&self.data), read(&self.cached));
        ToolMetrics {
            tool: self.tool.clone(),
            executions: data.saturating_add(cached).saturating_add(errors.total()),
            errors,
            cache: self.cacheable.then_some(CacheCounts {
                hits: cached,
                misses: data,
            }),
            rate_limited: read(&self.rate_limited),
            contract_violations: read(&self.contract_violations),
            execution_time: self.histogram(),
        }
    }

    /// The count is the sum of what was read, so that the last bucket and the count agree even
    /// while calls are being counted.
    fn histogram(&self) -> Histogram {
        let counts: Vec<u64> = self
            .buckets
            .iter()
            .scan(0_u64, |count, counter| {
                *count = count.saturating_add(read(counter));
                Some(*count)
            })
            .collect();
        let bounds = BOUNDS
            .iter()
            .map(|(bound, _)| Duration::from_micros(*bound));
        Histogram {
            count: counts.last().copied().unwrap_or_default(),
            buckets: bounds.zip(counts).collect(),
            sum: Duration::from_nanos(read(&self.nanoseconds)),
        }
    }
}

/// Counters are independent of each other: no order between them has to be kept.
fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// A part of a whole, none if there is no whole.
#[expect(
    clippy::cast_precision_loss,
    reason = "a share needs no more digits than a float has"
)]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
