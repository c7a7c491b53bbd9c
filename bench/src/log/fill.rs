//! Filling a log, and how fast that goes.
//!
//! The records are written by the very code the gateway writes with, each batch in one commit that is on disk before
//! the next begins. Must never count the making of the records, which no gateway has to do.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use mcpproxy_activity::{Engine, store::OpenStore};
use mcpproxy_activity::{Filter, Log, RecordKind, RecordOutcome, Status, postgres, sqlite};
use mcpproxy_policy::{Caller, Operation};
use mcpproxy_redact::Redactor;
use serde_json::json;
use tokio::task::JoinSet;

use super::place::Place;
use super::records::{Extent, Maker};
use crate::stats::float;

/// How many records are in one commit: what the log takes for a full batch.
pub(crate) const BATCH: u64 = 500;
/// How many calls are recorded at the same time when the whole log is measured.
const CALLERS: u64 = 64;
/// How many calls each of them makes in a real run: together more than the log lets wait.
pub(crate) const EACH_CALLER: u64 = 800;

/// How the filling went.
#[derive(Debug)]
pub(crate) struct Filling {
    /// What is there now.
    pub(crate) extent: Extent,
    /// How long each tenth of the records took.
    pub(crate) tenths: Vec<Duration>,
    /// How many bytes they take, indexes included.
    pub(crate) bytes: u64,
}

/// Fills an empty place with so many records.
pub(crate) async fn fill(
    place: &Place,
    count: u64,
    progress: &impl Fn(&str),
) -> anyhow::Result<Filling> {
    fs::DirBuilder::new().mode(0o700).create(place.data_dir())?;
    let extent = Extent::until_now(count);
    let mut maker = Maker::new(extent);
    let mut tenths = Vec::new();
    let mut opened = open(place)?;
    for tenth in 1..=10 {
        let until = count * tenth / 10;
        let from = count * (tenth - 1) / 10;
        progress(&format!("filling the log, {from} records so far"));
        let mut spent = Duration::ZERO;
        for start in (from..until).step_by(usize::try_from(BATCH)?) {
            let batch = maker.batch(BATCH.min(until - start));
            let began = Instant::now();
            opened.journal.append(&batch)?;
            spent += began.elapsed();
            // Lets a signal through, whose handling nobody else would get to.
            tokio::task::yield_now().await;
        }
        tenths.push(spent);
    }
    drop(opened);
    note_end(place, &maker)?;
    let bytes = place.size().await?;
    ensure_count(place, count).await?;
    Ok(Filling {
        extent,
        tenths,
        bytes,
    })
}

/// Records per second that a log with so many records takes in from many callers, until all are on disk.
pub(crate) async fn rate_through_log(place: &Place, there: u64, each: u64) -> anyhow::Result<f64> {
    let log = Log::start(&place.options(), Arc::new(Redactor::new([])))?;
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let log = log.clone();
        callers.spawn(async move {
            for _ in 0..each {
                record_read(&log).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.context("A caller failed")??;
    }
    log.stop().await;
    let elapsed = began.elapsed();
    ensure_count(place, there + CALLERS * each).await?;
    Ok(float(CALLERS * each) / elapsed.as_secs_f64())
}

async fn ensure_count(place: &Place, expected: u64) -> anyhow::Result<()> {
    let found = place.archive()?.count(&Filter::default()).await?;
    ensure!(
        found == expected,
        "{found} records are there, {expected} were written"
    );
    Ok(())
}

impl Filling {
    /// Records per second in all.
    pub(crate) fn rate(&self) -> f64 {
        float(self.extent.count) / self.tenths.iter().sum::<Duration>().as_secs_f64()
    }

    /// Records per second in the first and in the last tenth.
    pub(crate) fn rates_at_ends(&self) -> (f64, f64) {
        let rate = |time: Option<&Duration>| {
            let seconds = time.copied().unwrap_or_default().as_secs_f64();
            float(self.extent.count / 10) / seconds
        };
        (rate(self.tenths.first()), rate(self.tenths.last()))
    }
}

fn open(place: &Place) -> anyhow::Result<OpenStore> {
    Ok(match place.engine() {
        Engine::Sqlite => sqlite::open(&place.data_dir().join("state.db"))?,
        Engine::Postgres(url) => postgres::open(&url)?,
    })
}

/// Leaves the file that tells how far a chain goes, as a gateway does that stopped in order, so that the log is one
/// that can be verified and continued.
fn note_end(place: &Place, maker: &Maker) -> anyhow::Result<()> {
    let folder = place.data_dir().join("chains");
    fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let line = format!("{:020} {} closed\n", maker.head.seq, maker.head.hash);
    let file = folder.join(format!("serve-{}.head", maker.chain));
    fs::write(file, line).context("The end of the chain could not be noted")
}

async fn record_read(log: &Log) -> anyhow::Result<()> {
    let caller = Arc::new(Caller {
        session_id: Some("bench".to_owned()),
        client_name: Some("mcpproxy-bench".to_owned()),
        client_version: Some("1".to_owned()),
        ..Caller::default()
    });
    let mut entry = log.open(RecordKind::ToolCall, &caller, Some(Operation::Read));
    entry.set_tool("echo", "echo");
    entry.set_declared_intent(json!({ "operation_type": "read", "reason": "measuring the log" }));
    entry.set_arguments(r#"{"text":"hello, this is about as long as a short question"}"#);
    entry
        .begin_sending(Instant::now() + super::DEADLINE)
        .await?;
    entry
        .close(RecordOutcome {
            status: Status::Success,
            error: None,
            response: Some(r#"{"content":[{"type":"text","text":"hello"}]}"#),
        })
        .await?;
    Ok(())
}
