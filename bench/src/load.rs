//! The load generator: many clients on few threads, the same code for both targets.
//!
//! Each lane is a thread with a current-thread runtime, and there are as many lanes as cores. With one lane only,
//! the generator would be the limit of the direct side as soon as a request costs it more than it costs the echo
//! upstream, and a direct side held down like that makes every gateway look good. With a work-stealing runtime,
//! tasks and their wake-ups would move between cores while they are measured. Lanes that keep their connections
//! leave one limit for both sides: the processor time the machine has. On a machine of two cores that time is
//! shared by the generator, the upstream and, on one side, the gateway, so the share the gateway reaches there is
//! (generator + upstream) / (generator + upstream + gateway) in cost of a call; it is not softened by idle cores.
//!
//! Must never run both targets at once, and must never count a call that was not checked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::client::{Connection, Target};
use crate::stats::Samples;

/// An answer that takes longer than this ends the run.
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// Which of the two targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The echo upstream itself.
    Direct,
    /// The echo upstream behind the gateway.
    Gateway,
}

/// When a slice counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Calls that end before this are not counted: caches and cores settle on the target first.
    pub(crate) opens: Instant,
    /// Calls that end after this are not counted, and each client's first of them is its last.
    pub(crate) closes: Instant,
}

/// What a slice, or several, came to.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// All calls made, counted or not; what processor time is divided by.
    pub(crate) made: u64,
    /// Nanoseconds of each counted call.
    pub(crate) latencies: Vec<u64>,
}

/// All lanes.
pub(crate) struct Generator {
    lanes: Vec<mpsc::Sender<Command>>,
}

enum Command {
    /// Opens clients on both targets in place of those that are open.
    Connect {
        targets: [Arc<Target>; 2],
        numbers: Vec<usize>,
        done: oneshot::Sender<anyhow::Result<()>>,
    },
    /// Runs all clients of one target for one slice.
    Slice {
        side: Route,
        window: Window,
        done: oneshot::Sender<anyhow::Result<Tally>>,
    },
}

/// The clients of one thread.
#[derive(Default)]
struct Lane {
    direct: Vec<Connection>,
    gateway: Vec<Connection>,
}

impl Window {
    /// A slice that begins now.
    pub(crate) fn from_now(settle: Duration, length: Duration) -> Self {
        let opens = Instant::now() + settle;
        Self {
            opens,
            closes: opens + length,
        }
    }
}

impl Tally {
    /// The counted latencies, ready for percentiles.
    pub(crate) fn samples(self) -> Samples {
        Samples::new(self.latencies)
    }

    /// Adds what another client or slice came to.
    pub(crate) fn merge(&mut self, other: Self) {
        self.made += other.made;
        self.latencies.extend(other.latencies);
    }
}

impl Generator {
    /// Starts the lanes; their threads end when this is dropped.
    pub(crate) fn start(lanes: usize) -> anyhow::Result<Self> {
        let lanes = (0..lanes.max(1))
            .map(|_| start_lane())
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { lanes })
    }

    /// Opens `clients` clients on each target, dealt out over the lanes, and checks one full answer on each.
    pub(crate) async fn connect(
        &self,
        direct: &Arc<Target>,
        gateway: &Arc<Target>,
        clients: usize,
    ) -> anyhow::Result<()> {
        let mut pending = Vec::new();
        for (index, lane) in self.lanes.iter().enumerate() {
            let (done, answer) = oneshot::channel();
            let command = Command::Connect {
                targets: [Arc::clone(direct), Arc::clone(gateway)],
                numbers: (index..clients).step_by(self.lanes.len()).collect(),
                done,
            };
            submit(lane, command).await?;
            pending.push(answer);
        }
        for answer in pending {
            answer.await.context(LANE_ENDED)??;
        }
        Ok(())
    }

    /// Runs every client of one target as fast as answers come, until the window closes.
    pub(crate) async fn slice(&self, side: Route, window: Window) -> anyhow::Result<Tally> {
        let mut pending = Vec::new();
        for lane in &self.lanes {
            let (done, answer) = oneshot::channel();
            submit(lane, Command::Slice { side, window, done }).await?;
            pending.push(answer);
        }
        let mut tally = Tally::default();
        for answer in pending {
            tally.merge(answer.await.context(LANE_ENDED)??);
        }
        Ok(tally)
    }
}

const LANE_ENDED: &str = "A thread of the load generator ended early";

async fn submit(lane: &mpsc::Sender<Command>, command: Command) -> anyhow::Result<()> {
    // The error carries the command, which says nothing to a person.
    lane.send(command)
        .await
        .map_err(|_| anyhow::anyhow!(LANE_ENDED))
}

fn start_lane() -> anyhow::Result<mpsc::Sender<Command>> {
    let (sender, receiver) = mpsc::channel(1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("The load generator could not start its runtime")?;
    std::thread::Builder::new()
        .name("load".to_owned())
        .spawn(move || runtime.block_on(Lane::default().run(receiver)))
        .context("The load generator could not start a thread")?;
    Ok(sender)
}

impl Lane {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        // An answer that nobody waits for belongs to a run that was given up.
        while let Some(command) = commands.recv().await {
            match command {
                Command::Connect {
                    targets,
                    numbers,
                    done,
                } => {
                    let _ = done.send(self.connect(targets, &numbers).await);
                }
                Command::Slice { side, window, done } => {
                    let _ = done.send(self.slice(side, window).await);
                }
            }
        }
    }

    async fn connect(
        &mut self,
        [direct, gateway]: [Arc<Target>; 2],
        numbers: &[usize],
    ) -> anyhow::Result<()> {
        self.direct = open_all(&direct, numbers).await?;
        self.gateway = open_all(&gateway, numbers).await?;
        Ok(())
    }

    async fn slice(&mut self, side: Route, window: Window) -> anyhow::Result<Tally> {
        let connections = match side {
            Route::Direct => &mut self.direct,
            Route::Gateway => &mut self.gateway,
        };
        let mut running = JoinSet::new();
        for connection in connections.drain(..) {
            running.spawn(drive(connection, window));
        }
        let mut tally = Tally::default();
        // One deadline for the lane instead of a timer for every call, which would cost on the measured path.
        let deadline = tokio::time::Instant::from_std(window.closes + ANSWER_DEADLINE);
        let finished = tokio::time::timeout_at(deadline, async {
            while let Some(client) = running.join_next().await {
                let (connection, counted) =
                    client.context("A client of the generator failed")??;
                connections.push(connection);
                tally.merge(counted);
            }
            anyhow::Ok(())
        });
        finished
            .await
            .with_context(|| format!("A call to {side:?} was not answered in time"))??;
        Ok(tally)
    }
}

async fn open_all(target: &Arc<Target>, numbers: &[usize]) -> anyhow::Result<Vec<Connection>> {
    let mut connections = Vec::with_capacity(numbers.len());
    for number in numbers {
        let open = async {
            let mut connection = Connection::open(Arc::clone(target), *number).await?;
            connection.call_checked().await?;
            anyhow::Ok(connection)
        };
        let connection = tokio::time::timeout(ANSWER_DEADLINE, open)
            .await
            .with_context(|| format!("The {} target did not answer in time", target.name))??;
        connections.push(connection);
    }
    Ok(connections)
}

async fn drive(mut connection: Connection, window: Window) -> anyhow::Result<(Connection, Tally)> {
    let mut tally = Tally::default();
    loop {
        let timing = connection.call().await?;
        tally.made += 1;
        if (window.opens..window.closes).contains(&timing.finished) {
            let nanoseconds = timing.latency.as_nanos();
            tally
                .latencies
                .push(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        }
        if timing.finished >= window.closes {
            return Ok((connection, tally));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::call::{CallTemplate, Operation};
    use crate::protocol::Protocol;
    use crate::section::{Protocols, Section};
    use crate::upstream::Upstream;

    /// Enough for many calls; no test depends on how many.
    const LENGTH: Duration = Duration::from_millis(50);

    fn target(name: &'static str, call: CallTemplate) -> Arc<Target> {
        let section = Section {
            upstream: Upstream::Bare,
            protocol: Protocol::Session,
        };
        target_on(section, name, call)
    }

    fn target_on(section: Section, name: &'static str, call: CallTemplate) -> Arc<Target> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Arc::new(Target {
            name,
            address: section
                .upstream
                .start(section.protocol, listener, 2)
                .unwrap(),
            protocol: section.protocol,
            call,
        })
    }

    #[tokio::test]
    async fn every_call_of_both_operations_to_both_upstreams_in_both_eras_is_counted_once() {
        let of = |upstream| Section::chosen(Protocols::Both, Some(upstream));
        let sections = [of(Upstream::Bare), of(Upstream::Sdk)].concat();
        let both = [Operation::Read, Operation::Write];
        let all = sections
            .into_iter()
            .flat_map(|section| both.map(|one| (section, one)));
        for (section, operation) in all {
            let target = target_on(section, "echo", CallTemplate::direct(operation));
            let generator = Generator::start(2).unwrap();
            generator.connect(&target, &target, 5).await.unwrap();
            let mut all = Tally::default();
            // A busy machine may let a window pass by; that all of them pass by means that nothing is counted.
            for side in [Route::Direct, Route::Gateway].into_iter().cycle().take(8) {
                let window = Window::from_now(Duration::ZERO, LENGTH);
                let tally = generator.slice(side, window).await.unwrap();
                let counted = u64::try_from(tally.latencies.len()).unwrap();
                // Exactly the last call of each client ends after the window.
                assert_eq!(tally.made - counted, 5);
                all.merge(tally);
            }
            assert!(!all.latencies.is_empty());
        }
    }

    #[tokio::test]
    async fn calls_before_the_window_opens_are_made_and_not_counted() {
        let target = target("echo", CallTemplate::direct(Operation::Read));
        let generator = Generator::start(1).unwrap();
        generator.connect(&target, &target, 1).await.unwrap();
        let closes = Instant::now() + LENGTH;
        let window = Window {
            opens: closes + LENGTH,
            closes,
        };
        let tally = generator.slice(Route::Direct, window).await.unwrap();
        assert!(tally.made > 0);
        assert_eq!(tally.latencies, [0; 0]);
    }

    #[tokio::test]
    async fn an_error_answer_ends_the_run_with_its_body() {
        let good = target("direct", CallTemplate::direct(Operation::Read));
        let bad = target("gateway", CallTemplate::tool("missing"));
        let generator = Generator::start(1).unwrap();
        let error = generator.connect(&good, &bad, 1).await.unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains("The gateway target failed"), "{message}");
        assert!(message.contains("Unknown tool: missing"), "{message}");
    }

    #[tokio::test]
    async fn an_error_answer_in_the_middle_of_a_slice_ends_it_with_its_body() {
        let bad = target("direct", CallTemplate::tool("missing"));
        let connection = Connection::open(bad, 0).await.unwrap();
        let error = drive(connection, Window::from_now(Duration::ZERO, LENGTH))
            .await
            .unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains("Unknown tool: missing"), "{message}");
    }
}
