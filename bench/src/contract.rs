//! What the pipeline of the tool contract costs: the same trivial query as a plain function and through
//! [`Service::call`], in turns within one run.
//!
//! Every row first proves that its answer is the right one. Must never measure what a tool of its own would do: the
//! handler is the same in all rows, and its own time is the row to compare with.

mod report;
mod tools;

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;
use mcpproxy_contract::{Grants, Registry, Service, Tool, ToolContext, Version};
use serde_json::{Value, json};

use self::tools::{AddNumbers, CountSum, RecallSum};
use crate::stats::Samples;

/// How a batch is long against the cost of reading the clock, and short against what else the machine does.
const BATCH_TIME: Duration = Duration::from_millis(2);

/// What is measured, and how long.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many batches of each row, about 2 ms each
    #[arg(long, value_name = "N", default_value_t = 501)]
    batches: u32,

    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
}

/// One way to the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// The handler's own function, with parameters that are there already.
    Direct,
    /// Through the pipeline, answered anew.
    Uncached,
    /// Through the pipeline, answered from the cache.
    Cached,
    /// Through the pipeline with a rate limit, answered anew.
    Limited,
    /// No call at all: the ids and the time that an adapter makes for each call.
    Context,
}

/// The times of one case, in nanoseconds for each call.
#[derive(Debug)]
struct Row {
    case: Case,
    times: Samples,
}

/// All rows, measured with one kind of tracing.
#[derive(Debug)]
struct Section {
    tracing: &'static str,
    rows: Vec<Row>,
}

/// What is called.
struct Bench {
    service: Service,
    context: ToolContext,
}

/// Measures and reports.
pub(crate) async fn run(arguments: Arguments, progress: impl Fn(&str)) -> anyhow::Result<String> {
    ensure!(arguments.batches > 0, "--batches must be 1 or more");
    let bench = Bench::new()?;
    progress("without tracing");
    let mut sections = vec![Section {
        tracing: "tracing off",
        rows: bench.measure(arguments.batches).await?,
    }];
    // Only now: where a subscriber has been once, the macros of tracing never get as cheap again as without one.
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_ansi(false)
        .with_writer(std::io::sink)
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    progress("with tracing");
    sections.push(Section {
        tracing: "tracing at info into a sink",
        rows: bench.measure(arguments.batches).await?,
    });
    drop(guard);
    Ok(if arguments.json {
        format!("{:#}\n", report::json(&sections))
    } else {
        report::table(&sections)
    })
}

// === impl Bench ===

impl Bench {
    fn new() -> anyhow::Result<Self> {
        let service = Registry::new("numbers", Version::new(1, 0, 0))
            .with(AddNumbers)
            .with(RecallSum)
            .with(CountSum)
            .into_service()?;
        let grants = Grants::only(["numbers:read"]);
        let context = ToolContext::new("bench", "1.0.0", grants).in_session("1");
        Ok(Self { service, context })
    }

    /// All cases in turns, batch by batch, so that a machine that gets slower for a while slows all of them.
    async fn measure(&self, batches: u32) -> anyhow::Result<Vec<Row>> {
        let mut counts = Vec::new();
        for case in Case::ALL {
            self.prove(case).await?;
            counts.push((case, self.batch_size(case).await, Vec::new()));
        }
        for _ in 0..batches {
            for (case, count, times) in &mut counts {
                let time = self.batch(*case, *count).await;
                times.push(u64::try_from(time.as_nanos())? / u64::from(*count));
            }
        }
        let rows = counts.into_iter().map(|(case, _, times)| Row {
            case,
            times: Samples::new(times),
        });
        Ok(rows.collect())
    }

    /// How many calls fill the time of a batch.
    async fn batch_size(&self, case: Case) -> u32 {
        let mut count = 1;
        while self.batch(case, count).await < BATCH_TIME {
            count *= 2;
        }
        count
    }

    /// So many calls of a case; what they took together.
    async fn batch(&self, case: Case, count: u32) -> Duration {
        // A call takes its arguments away, so they are laid out before the clock runs.
        let laid_out = vec![tools::arguments(); count as usize];
        let (tool, params) = (black_box(AddNumbers), tools::numbers());
        let started = Instant::now();
        match case.tool() {
            Some(name) => {
                for arguments in laid_out {
                    black_box(self.service.call(name, arguments, &self.context).await);
                }
            }
            None if case == Case::Context => {
                for _ in 0..count {
                    let grants = Grants::Everything;
                    let _ = black_box(ToolContext::new("bench", "1.0.0", grants));
                }
            }
            None => {
                for _ in 0..count {
                    let answer = tool.call(black_box(&params), &self.context).await;
                    let _ = black_box(answer);
                }
            }
        }
        started.elapsed()
    }

    /// A fast wrong answer must not be reported.
    async fn prove(&self, case: Case) -> anyhow::Result<()> {
        let Some(name) = case.tool() else {
            return Ok(());
        };
        let mut result = Value::Null;
        for _ in 0..2 {
            let answer = self.service.call(name, tools::arguments(), &self.context);
            result = answer.await.to_json();
        }
        let is_right = result["data"] == json!({ "sum": 42 });
        let is_cached = result["metadata"]["cached"] == (case == Case::Cached);
        ensure!(is_right && is_cached, "{} answers {result}", case.name());
        Ok(())
    }
}

// === impl Case ===

impl Case {
    const ALL: [Self; 5] = [
        Self::Direct,
        Self::Uncached,
        Self::Cached,
        Self::Limited,
        Self::Context,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Direct => "the handler's own function",
            Self::Uncached => "Service::call, uncached",
            Self::Cached => "Service::call, cached",
            Self::Limited => "Service::call, with a rate limit",
            Self::Context => "the context of a call",
        }
    }

    /// The tool that is called through the pipeline.
    fn tool(self) -> Option<&'static str> {
        match self {
            Self::Direct | Self::Context => None,
            Self::Uncached => Some(AddNumbers::NAME),
            Self::Cached => Some(RecallSum::NAME),
            Self::Limited => Some(CountSum::NAME),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_short_run_has_every_row_with_and_without_tracing() {
        let arguments = |json| Arguments { batches: 1, json };
        let text = run(arguments(false), |_| ()).await.unwrap();
        for part in ["tracing off", "tracing at info", "uncached", "overhead"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let json: Value = run(arguments(true), |_| ()).await.unwrap().parse().unwrap();
        for section in ["tracing off", "tracing at info into a sink"] {
            let rows = json[section].as_object().unwrap();
            assert_eq!(rows.len(), Case::ALL.len(), "{json}");
            assert!(rows.values().all(|row| row["median_us"].is_number()));
        }
    }
}
