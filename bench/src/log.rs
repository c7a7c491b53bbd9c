//! What the activity log costs: filling it, asking it, and waiting for it.
//!
//! Everything is made for the run and gone after it: a folder, a database, a gateway. Must never measure anybody's
//! own log.

mod disk;
mod durable;
mod fill;
mod pages;
mod place;
mod records;
mod report;
mod through;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;

use self::durable::Durable;
use self::fill::Filling;
use self::pages::Reading;
use self::place::Place;
use self::through::Through;
use crate::gateway;

/// How many records there are without an option.
const SQLITE_RECORDS: u64 = 1_000_000;
const POSTGRES_RECORDS: u64 = 100_000;
/// With fewer some questions would find nothing.
const FEWEST_RECORDS: u64 = 10_000;

/// How long a record may wait for its turn; a log that takes longer is broken.
const DEADLINE: Duration = Duration::from_secs(30);

/// What is measured, and where.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many records the log is filled with; without it 1000000, in PostgreSQL 100000
    #[arg(long, value_name = "N")]
    records: Option<u64>,

    /// Measure a log in PostgreSQL, in a database that is made for the run on the server of this URL
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,

    /// Where the files of the run are made; without it beside this program
    #[arg(long, value_name = "PATH")]
    folder: Option<PathBuf>,

    /// Seconds for each number of callers, of the log alone and through the gateway
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,

    /// The gateway to measure; without it `mcpproxy` beside this program
    #[arg(long, value_name = "PATH")]
    gateway: Option<PathBuf>,

    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
}

/// All that one run measured.
#[derive(Debug)]
struct Measurements {
    engine: &'static str,
    cores: usize,
    filling: Filling,
    reading: Reading,
    /// Records per second that the whole log takes in.
    through_log: f64,
    durable: Vec<Durable>,
    through: Vec<Through>,
}

/// Measures and reports.
pub(crate) async fn run(arguments: Arguments, progress: impl Fn(&str)) -> anyhow::Result<String> {
    let binary = gateway::find_binary(arguments.gateway)?;
    let folder = match arguments.folder {
        Some(folder) => folder,
        None => beside_this_program()?,
    };
    let usual = match arguments.postgres {
        Some(_) => POSTGRES_RECORDS,
        None => SQLITE_RECORDS,
    };
    let count = arguments.records.unwrap_or(usual);
    ensure!(
        count >= FEWEST_RECORDS,
        "--records must be {FEWEST_RECORDS} or more: with fewer some questions find nothing"
    );
    let time = Duration::from_secs(arguments.seconds);
    let place = Place::make(&folder, arguments.postgres.as_deref()).await?;
    let filling = fill::fill(&place, count, &progress).await?;
    let reading = pages::read(&place.archive()?, &filling.extent, pages::TIMES, &progress).await?;
    progress("writing through the whole log");
    let measurements = Measurements {
        engine: place.engine_name(),
        cores: std::thread::available_parallelism()?.get(),
        through_log: fill::rate_through_log(&place, count, fill::EACH_CALLER).await?,
        durable: durable::measure(&place, time, &progress).await?,
        through: through::measure(&place, &binary, time, &progress).await?,
        filling,
        reading,
    };
    Ok(if arguments.json {
        format!("{:#}\n", report::json(&measurements))
    } else {
        report::table(&measurements)
    })
}

fn beside_this_program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().ok();
    let folder = program.as_deref().and_then(|program| program.parent());
    let folder = folder.context("The path of this program is not known, use --folder")?;
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_small_log_is_filled_asked_verified_and_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::make(folder.path(), None).await.unwrap();
        let filling = fill::fill(&place, 2_000, &|_: &str| ()).await.unwrap();
        assert_eq!(filling.tenths.len(), 10);
        let archive = place.archive().unwrap();
        let reading = pages::read(&archive, &filling.extent, 5, &|_: &str| ()).await;
        // More links than records: what writes has two.
        assert!(reading.unwrap().links > 2_000);
        fill::rate_through_log(&place, 2_000, 10).await.unwrap();
        let durable = durable::measure(&place, Duration::ZERO, &|_: &str| ()).await;
        assert_eq!(durable.unwrap().len(), crate::measure::CLIENTS.len());
        let verdict = archive.verify(|_, _| ()).await.unwrap();
        assert!(verdict.ok, "{:?}", verdict.problem);
    }
}
