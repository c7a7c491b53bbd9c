//! The same call that writes made directly, through a strict gateway and through a balanced one, and the disk alone,
//! all in turns.
//!
//! What a durable record costs a caller can be read off one line then. Must never compare slices of different runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::{Value, json};

use super::disk::{Disk, Flush};
use super::place::Place;
use crate::call::{CallTemplate, Operation};
use crate::client::Target;
use crate::gateway::{EchoProcess, GatewayProcess};
use crate::load::{Generator, Route, Tally, Window};
use crate::measure::{CLIENTS, Measured, SETTLE, SLICE};
use crate::protocol::Protocol;
use crate::section::Section;
use crate::upstream::Upstream;

/// What all of it is measured with. One protocol is enough, because it is the log that is measured.
const SECTION: Section = Section {
    upstream: Upstream::Bare,
    protocol: Protocol::Session,
};

/// How many slices one round has: each of the three ways, and the disk.
const TURNS: u32 = 4;

/// What was measured with one number of clients.
#[derive(Debug)]
pub(crate) struct Through {
    /// How many clients called at the same time.
    pub(crate) clients: usize,
    /// The upstream itself.
    pub(crate) direct: Measured,
    /// Recorded before it is sent, and again before it is answered.
    pub(crate) strict: Measured,
    /// Recorded a moment later.
    pub(crate) balanced: Measured,
    /// The disk alone.
    pub(crate) flush: Flush,
}

/// The two gateways and what they stand in front of.
struct Cast {
    echo: EchoProcess,
    strict: GatewayProcess,
    balanced: GatewayProcess,
}

/// Measures each number of clients for so long, all ways together.
pub(crate) async fn measure(
    place: &Place,
    binary: &Path,
    level_time: Duration,
    progress: &impl Fn(&str),
) -> anyhow::Result<Vec<Through>> {
    let cast = Cast::start(place, binary).await?;
    let mut disk = Disk::new(place.folder())?;
    let mut levels = Vec::new();
    for clients in CLIENTS {
        progress(&format!("calling through gateways, {clients} clients"));
        let level = cast.level(&mut disk, clients, level_time).await;
        levels.push(level.map_err(|error| anyhow!(cast.strict.said(&format!("{error:#}"))))?);
    }
    cast.strict.stop().await?;
    cast.balanced.stop().await?;
    Ok(levels)
}

impl Cast {
    async fn start(place: &Place, binary: &Path) -> anyhow::Result<Self> {
        let echo = EchoProcess::start(SECTION).await?;
        let start = async |durability: &str| {
            let mut setting = place.store_setting();
            setting["activity"] = json!({ "durability": durability });
            start(place.folder(), binary, &echo, &setting).await
        };
        let strict = start("strict").await?;
        let balanced = start("balanced").await?;
        Ok(Self {
            echo,
            strict,
            balanced,
        })
    }

    async fn level(
        &self,
        disk: &mut Disk,
        clients: usize,
        level_time: Duration,
    ) -> anyhow::Result<Through> {
        let direct = Arc::new(Target {
            name: "direct",
            address: self.echo.at.address,
            protocol: SECTION.protocol,
            call: CallTemplate::direct(Operation::Write),
        });
        let cores = std::thread::available_parallelism()?.get();
        let [strict, balanced] = [Generator::start(cores)?, Generator::start(cores)?];
        for (generator, gateway) in [(&strict, &self.strict), (&balanced, &self.balanced)] {
            let target = Arc::new(target(gateway));
            generator.connect(&direct, &target, clients).await?;
        }
        let slice = async |generator: &Generator, side| {
            let window = Window::from_now(SETTLE, SLICE);
            generator.slice(side, window).await
        };
        let rounds = rounds(level_time);
        let mut tallies = [Tally::default(), Tally::default(), Tally::default()];
        // The first round warms everything and is not counted; who goes first changes from round to round.
        for round in 0..=rounds {
            for turn in 0..TURNS {
                let tally = match (round + turn) % TURNS {
                    0 => (0, slice(&strict, Route::Direct).await?),
                    1 => (1, slice(&strict, Route::Gateway).await?),
                    2 => (2, slice(&balanced, Route::Gateway).await?),
                    _ => {
                        disk.slice(SLICE)?;
                        continue;
                    }
                };
                if round > 0 {
                    tallies[tally.0].merge(tally.1);
                }
            }
            if round == 0 {
                disk.take();
            }
        }
        let [direct, strict, balanced] = tallies;
        Ok(Through {
            clients,
            direct: Measured::from_tally(direct, rounds)?,
            strict: Measured::from_tally(strict, rounds)?,
            balanced: Measured::from_tally(balanced, rounds)?,
            flush: disk.take(),
        })
    }
}

async fn start(
    folder: &Path,
    binary: &Path,
    echo: &EchoProcess,
    setting: &Value,
) -> anyhow::Result<GatewayProcess> {
    let mut gateway = GatewayProcess::start_with(binary, echo.at, folder, setting)?;
    let target = target(&gateway);
    gateway.first_call(&target).await?;
    Ok(gateway)
}

fn target(gateway: &GatewayProcess) -> Target {
    Target {
        name: "gateway",
        address: gateway.address,
        protocol: SECTION.protocol,
        call: CallTemplate::through_gateway(Operation::Write),
    }
}

/// As many rounds as fit, and two at least.
fn rounds(level_time: Duration) -> u32 {
    let round = (SLICE + SETTLE) * TURNS;
    u32::try_from(level_time.as_millis() / round.as_millis())
        .unwrap_or(u32::MAX)
        .max(2)
}
