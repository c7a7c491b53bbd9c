//! The schedule of a run: starts, idle memory, then load at each number of clients.
//!
//! Direct and gateway alternate in short slices, and each pair turns the order round, so that whatever the machine
//! does in the background meets both alike. Must never compare numbers of two different runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, ensure};

use crate::call::{CallTemplate, Operation};
use crate::client::Target;
use crate::gateway::{EchoProcess, EchoServer, GatewayProcess};
use crate::load::{Generator, Route, Tally, Window};
use crate::process::Memory;
use crate::protocol::Protocol;
use crate::section::Section;
use crate::stats::{P50, P99, Samples, float, microseconds};

/// The numbers of clients that are measured.
pub(crate) const CLIENTS: [usize; 3] = [1, 16, 64];

/// How often the gateway is started for the time of a start; odd, so that the median is one of them.
const STARTS: usize = 7;
/// Time without any call before memory is read, so that what a call left behind for later is done.
const IDLE: Duration = Duration::from_secs(2);
/// The counted part of a slice: hundreds of calls at least, and short against changes of the machine's mood.
pub(crate) const SLICE: Duration = Duration::from_millis(250);
/// The uncounted part before it.
pub(crate) const SETTLE: Duration = Duration::from_millis(25);

/// What is to be measured for one section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The gateway.
    pub(crate) binary: &'a Path,
    /// Another gateway that it is compared with, in place of the upstream itself.
    pub(crate) baseline: Option<&'a Path>,
    /// Which upstream, and what is spoken.
    pub(crate) section: Section,
    /// What the measured call does.
    pub(crate) operation: Operation,
    /// The time for each number of clients, both sides together.
    pub(crate) level_time: Duration,
}

/// All that was measured for one section.
#[derive(Debug)]
pub(crate) struct Measurements {
    /// Which upstream both sides have, and what was spoken.
    pub(crate) section: Section,
    /// What the measured call does.
    pub(crate) operation: Operation,
    /// What the gateway was compared with.
    pub(crate) other: &'static str,
    /// Cores that generator, upstream and gateway shared.
    pub(crate) cores: usize,
    /// From the start of the process to the first answered `tools/list`.
    pub(crate) starts: Samples,
    /// Memory of the gateway before any load.
    pub(crate) memory_before: Memory,
    /// Memory of the gateway after all load.
    pub(crate) memory_after: Memory,
    /// One entry for each number of clients.
    pub(crate) levels: Vec<Level>,
}

/// What was measured with one number of clients.
#[derive(Debug)]
pub(crate) struct Level {
    /// How many clients called at the same time.
    pub(crate) clients: usize,
    /// The echo upstream itself, or the gateway it is compared with.
    pub(crate) direct: Measured,
    /// The same through the gateway.
    pub(crate) gateway: Measured,
    /// Each pair of slices by itself, which shows how steady the machine was.
    pub(crate) pairs: Vec<Pair>,
    /// Processor time of the gateway for each call it served.
    pub(crate) processor_per_call: Duration,
    /// The same of the gateway it is compared with, where it is one.
    pub(crate) processor_of_baseline: Option<Duration>,
}

/// What one pair of slices would have said alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    /// The gateway's share of the direct rate.
    pub(crate) share: f64,
    /// Microseconds that the gateway added to the middle latency.
    pub(crate) added_p50: f64,
}

/// One side of a level.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Counted calls.
    pub(crate) calls: u64,
    /// Counted calls per second of counted time.
    pub(crate) rate: f64,
    /// The middle latency.
    pub(crate) p50: Duration,
    /// The latency that one call in a hundred exceeds.
    pub(crate) p99: Duration,
}

/// Runs everything of one section.
pub(crate) async fn run(
    subject: Subject<'_>,
    progress: impl Fn(&str),
) -> anyhow::Result<Measurements> {
    let Subject {
        binary,
        section,
        operation,
        level_time,
        ..
    } = subject;
    let cores = std::thread::available_parallelism()?.get();
    let progress = |step: &str| progress(&format!("{}: {step}", section.name()));
    let echo = EchoProcess::start(section).await?;
    progress("measuring starts");
    let starts = measure_starts(binary, echo.at, operation).await?;

    let mut gateway = GatewayProcess::start(binary, echo.at)?;
    let through = gateway_target("gateway", &gateway, section.protocol, operation);
    gateway.first_call(&through).await?;
    progress("measuring idle memory");
    tokio::time::sleep(IDLE).await;
    let memory_before = gateway.usage()?.memory;

    let mut baseline = match subject.baseline {
        Some(binary) => Some(GatewayProcess::start(binary, echo.at)?),
        None => None,
    };
    let other = match &mut baseline {
        Some(process) => {
            let target = gateway_target("baseline", process, section.protocol, operation);
            process.first_call(&target).await?;
            target
        }
        None => direct_target(echo.at, operation),
    };
    let name = other.name;
    let plan = Plan {
        direct: Arc::new(other),
        gateway: Arc::new(through),
        cores,
        level_time,
    };
    let mut levels = Vec::new();
    for clients in CLIENTS {
        progress(&format!("measuring {clients} clients"));
        let level = plan.measure(&gateway, baseline.as_ref(), clients).await;
        levels.push(level.map_err(|error| anyhow!(gateway.said(&format!("{error:#}"))))?);
    }
    tokio::time::sleep(IDLE).await;
    let memory_after = gateway.usage()?.memory;
    gateway.stop().await?;
    if let Some(baseline) = baseline {
        baseline.stop().await?;
    }
    Ok(Measurements {
        section,
        operation,
        other: name,
        cores,
        starts,
        memory_before,
        memory_after,
        levels,
    })
}

async fn measure_starts(
    binary: &Path,
    upstream: EchoServer,
    operation: Operation,
) -> anyhow::Result<Samples> {
    let mut starts = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let mut gateway = GatewayProcess::start(binary, upstream)?;
        let target = gateway_target("gateway", &gateway, upstream.protocol, operation);
        let elapsed = gateway.first_list(&target).await?;
        starts.push(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        gateway.stop().await?;
    }
    Ok(Samples::new(starts))
}

/// What stays the same for every number of clients.
struct Plan {
    direct: Arc<Target>,
    gateway: Arc<Target>,
    cores: usize,
    level_time: Duration,
}

impl Plan {
    async fn measure(
        &self,
        process: &GatewayProcess,
        baseline: Option<&GatewayProcess>,
        clients: usize,
    ) -> anyhow::Result<Level> {
        // Fresh lanes for each level, so that no connection of the last one is left open.
        let generator = Generator::start(self.cores)?;
        generator
            .connect(&self.direct, &self.gateway, clients)
            .await?;
        // One pair that is not counted warms connections, pools and caches of both sides.
        measure_pair(&generator, 0).await?;
        let count = pair_count(self.level_time);
        let (mut direct, mut gateway) = (Tally::default(), Tally::default());
        let mut pairs = Vec::new();
        // Read around the whole level and not around each slice: work that the gateway puts off until after its
        // answers, such as writing its log, is part of what a call costs.
        let before = Spent::read(process, baseline)?;
        for number in 0..count {
            let (of_direct, of_gateway) = measure_pair(&generator, number).await?;
            pairs.extend(Pair::compare(&of_direct, &of_gateway));
            direct.merge(of_direct);
            gateway.merge(of_gateway);
        }
        let after = Spent::read(process, baseline)?;
        let per_call = |spent: Duration, tally: &Tally| {
            spent / u32::try_from(tally.made.max(1)).unwrap_or(u32::MAX)
        };
        let of_baseline = after.baseline.zip(before.baseline);
        Ok(Level {
            clients,
            processor_per_call: per_call(after.gateway.saturating_sub(before.gateway), &gateway),
            processor_of_baseline: of_baseline
                .map(|(after, before)| per_call(after.saturating_sub(before), &direct)),
            direct: Measured::from_tally(direct, count)?,
            gateway: Measured::from_tally(gateway, count)?,
            pairs,
        })
    }
}

/// The processor time that was spent so far.
struct Spent {
    gateway: Duration,
    baseline: Option<Duration>,
}

impl Spent {
    fn read(gateway: &GatewayProcess, baseline: Option<&GatewayProcess>) -> anyhow::Result<Self> {
        let baseline = baseline.map(GatewayProcess::usage).transpose()?;
        Ok(Self {
            gateway: gateway.usage()?.processor,
            baseline: baseline.map(|usage| usage.processor),
        })
    }
}

async fn measure_pair(generator: &Generator, number: u32) -> anyhow::Result<(Tally, Tally)> {
    let slice = async |side| generator.slice(side, Window::from_now(SETTLE, SLICE)).await;
    if number.is_multiple_of(2) {
        let direct = slice(Route::Direct).await?;
        Ok((direct, slice(Route::Gateway).await?))
    } else {
        let gateway = slice(Route::Gateway).await?;
        Ok((slice(Route::Direct).await?, gateway))
    }
}

impl Level {
    /// The gateway's calls per second as a share of the direct ones.
    pub(crate) fn share(&self) -> f64 {
        self.gateway.rate / self.direct.rate
    }
}

impl Pair {
    /// Nothing when one side counted no call, which a very short stall of the machine can do to a slice.
    fn compare(direct: &Tally, gateway: &Tally) -> Option<Self> {
        let middle = |tally: &Tally| {
            let samples = Samples::new(tally.latencies.clone());
            samples.percentile(P50).map(microseconds)
        };
        let count = |tally: &Tally| u64::try_from(tally.latencies.len()).ok().map(float);
        Some(Self {
            added_p50: middle(gateway)? - middle(direct)?,
            share: count(gateway)? / count(direct)?,
        })
    }
}

impl Measured {
    /// What the slices of one side came to.
    pub(crate) fn from_tally(tally: Tally, slices: u32) -> anyhow::Result<Self> {
        let calls = u64::try_from(tally.latencies.len())?;
        ensure!(calls > 0, "No call ended while calls were counted");
        let samples = tally.samples();
        let percentile = |permille| samples.percentile(permille).unwrap_or_default();
        Ok(Self {
            calls,
            rate: float(calls) / (SLICE * slices).as_secs_f64(),
            p50: percentile(P50),
            p99: percentile(P99),
        })
    }
}

fn direct_target(upstream: EchoServer, operation: Operation) -> Target {
    Target {
        name: "direct",
        address: upstream.address,
        protocol: upstream.protocol,
        call: CallTemplate::direct(operation),
    }
}

fn gateway_target(
    name: &'static str,
    gateway: &GatewayProcess,
    protocol: Protocol,
    operation: Operation,
) -> Target {
    Target {
        name,
        address: gateway.address,
        protocol,
        call: CallTemplate::through_gateway(operation),
    }
}

/// As many pairs as fit, and two at least, so that each side goes first once.
fn pair_count(level_time: Duration) -> u32 {
    let pair = (SLICE + SETTLE) * 2;
    u32::try_from(level_time.as_millis() / pair.as_millis())
        .unwrap_or(u32::MAX)
        .max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(latencies: Vec<u64>) -> Tally {
        Tally { made: 0, latencies }
    }

    #[test]
    fn pairs_fill_the_time_and_are_never_fewer_than_two() {
        assert_eq!(pair_count(Duration::ZERO), 2);
        assert_eq!(pair_count(Duration::from_millis(1_650)), 3);
        assert_eq!(pair_count(Duration::from_secs(10)), 18);
    }

    #[test]
    fn rate_counts_only_the_counted_time() {
        let measured = Measured::from_tally(tally(vec![1_000; 500]), 4).unwrap();
        assert_eq!(measured.calls, 500);
        assert!((measured.rate - 500.0).abs() < 1e-6, "{}", measured.rate);
        assert_eq!(measured.p50, Duration::from_micros(1));
    }

    #[test]
    fn nothing_counted_is_an_error_and_not_a_fast_run() {
        assert!(Measured::from_tally(tally(Vec::new()), 4).is_err());
    }

    #[test]
    fn a_pair_compares_gateway_with_direct() {
        let pair = Pair::compare(&tally(vec![10_000; 120]), &tally(vec![25_000; 30])).unwrap();
        assert!((pair.share - 0.25).abs() < 1e-9, "{pair:?}");
        assert!((pair.added_p50 - 15.0).abs() < 1e-6, "{pair:?}");
        assert!(Pair::compare(&tally(Vec::new()), &tally(vec![1])).is_none());
        assert!(Pair::compare(&tally(vec![1]), &tally(Vec::new())).is_none());
    }
}
