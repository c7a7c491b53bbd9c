//! How long a call that writes waits for its record, without any gateway around it.
//!
//! Each write is what a strict call does: recorded on disk before it would be sent, and once more with its outcome
//! before it would be answered. Must never measure a log that is not strict.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use mcpproxy_activity::{Log, RecordKind, RecordOutcome, Status};
use mcpproxy_policy::{Caller, Operation};
use mcpproxy_redact::Redactor;
use serde_json::json;
use tokio::task::JoinSet;

use super::disk::{Disk, Flush};
use super::place::Place;
use crate::measure::{CLIENTS, SETTLE, SLICE};
use crate::stats::{Samples, float};

/// What was measured with one number of callers.
#[derive(Debug)]
pub(crate) struct Durable {
    /// How many calls were recorded at the same time.
    pub(crate) callers: usize,
    /// Writes per second, all callers together.
    pub(crate) rate: f64,
    /// Both commits of a call.
    pub(crate) whole: Samples,
    /// The commit before it would be sent.
    pub(crate) sending: Samples,
    /// The commit with its outcome.
    pub(crate) closing: Samples,
    /// The disk alone, in turns with that.
    pub(crate) flush: Flush,
}

/// Nanoseconds of each counted write.
#[derive(Default)]
struct Times {
    whole: Vec<u64>,
    sending: Vec<u64>,
    closing: Vec<u64>,
}

/// Measures each number of callers for so long, the disk alone included.
pub(crate) async fn measure(
    place: &Place,
    level_time: Duration,
    progress: &impl Fn(&str),
) -> anyhow::Result<Vec<Durable>> {
    let log = Log::start(&place.options(), Arc::new(Redactor::new([])))?;
    ensure!(log.policy().is_strict, "The log is not strict");
    let mut disk = Disk::new(place.folder())?;
    let mut levels = Vec::new();
    for callers in CLIENTS {
        progress(&format!("recording writes of {callers} callers"));
        levels.push(level(&log, &mut disk, callers, level_time).await?);
    }
    log.stop().await;
    Ok(levels)
}

async fn level(
    log: &Log,
    disk: &mut Disk,
    callers: usize,
    level_time: Duration,
) -> anyhow::Result<Durable> {
    // Warms the statements and the cache of the writer.
    slice(log, callers).await?;
    let slices = (level_time.as_millis() / (SLICE * 2 + SETTLE).as_millis()).max(2);
    let mut times = Times::default();
    for _ in 0..slices {
        times.merge(slice(log, callers).await?);
        disk.slice(SLICE)?;
    }
    let counted = u64::try_from(times.whole.len())?;
    ensure!(counted > 0, "No write ended while writes were counted");
    let seconds = SLICE.as_secs_f64() * float(u64::try_from(slices)?);
    Ok(Durable {
        callers,
        rate: float(counted) / seconds,
        whole: Samples::new(times.whole),
        sending: Samples::new(times.sending),
        closing: Samples::new(times.closing),
        flush: disk.take(),
    })
}

/// All callers record as fast as they can; what ends after the first moments counts.
async fn slice(log: &Log, callers: usize) -> anyhow::Result<Times> {
    let opens = Instant::now() + SETTLE;
    let closes = opens + SLICE;
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let log = log.clone();
        running.spawn(async move {
            let mut times = Times::default();
            loop {
                let [sending, closing] = write(&log).await?;
                let now = Instant::now();
                if (opens..closes).contains(&now) {
                    times.whole.push(sending + closing);
                    times.sending.push(sending);
                    times.closing.push(closing);
                }
                if now >= closes {
                    return anyhow::Ok(times);
                }
            }
        });
    }
    let mut times = Times::default();
    while let Some(caller) = running.join_next().await {
        times.merge(caller.context("A caller failed")??);
    }
    Ok(times)
}

/// One write; nanoseconds until it may be sent, and from its answer until that may be passed on.
async fn write(log: &Log) -> anyhow::Result<[u64; 2]> {
    let began = Instant::now();
    let caller = Arc::new(Caller {
        session_id: Some("bench".to_owned()),
        client_name: Some("mcpproxy-bench".to_owned()),
        client_version: Some("1".to_owned()),
        ..Caller::default()
    });
    let mut entry = log.open(RecordKind::ToolCall, &caller, Some(Operation::Write));
    entry.set_tool("echo", "store");
    entry.set_declared_intent(json!({ "operation_type": "write", "reason": "measuring the log" }));
    entry.set_arguments(r#"{"text":"hello, this is about as long as a short note"}"#);
    entry.begin_sending(began + super::DEADLINE).await?;
    let sent = Instant::now();
    entry
        .close(RecordOutcome {
            status: Status::Success,
            error: None,
            response: Some(r#"{"content":[{"type":"text","text":"hello"}]}"#),
        })
        .await?;
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Ok([nanoseconds(sent - began), nanoseconds(sent.elapsed())])
}

impl Times {
    fn merge(&mut self, other: Self) {
        self.whole.extend(other.whole);
        self.sending.extend(other.sending);
        self.closing.extend(other.closing);
    }
}
