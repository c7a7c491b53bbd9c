//! Task of an upstream: connects, waits, and connects again.
//!
//! Only the task enters states. Calls do not pass through it.

mod opening;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcpproxy_wire::ListedKind;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use self::opening::OpeningProblem;
use super::shared::SharedUpstream;
use super::start::Start;
use crate::backoff::{self, WELL_AFTER};
use crate::process::environment;
use crate::process::installers::installs_first;
use crate::process::start_slots::{QueuedStart, StartSlot};
use crate::protocol::connection::UpstreamConnection;
use crate::spec::TransportSpec;
use crate::transport::stdio::{DEFAULT_GRACE, stopping};
use crate::transport::{Greeting, LostConnection};
use crate::{StartAttempt, StartWait, UpstreamState, lock};

/// Pause before a program is looked for again that was not there.
const LOOKUP_PAUSE: Duration = Duration::from_mins(1);

/// Lost sessions in a row that are followed by a new one at once.
const EXPIRIES_FORGIVEN: u32 = 2;

/// Task of one upstream.
struct UpstreamTask {
    shared: Arc<SharedUpstream>,
    stop: watch::Receiver<Option<Duration>>,
    /// Place among those that start which it has already.
    queued: Option<QueuedStart>,
    failures_in_a_row: u32,
    /// Reason of the last failure or loss, since the server was last ready.
    last_error: Option<Arc<str>>,
    /// Whether the failure was told that the server has not recovered from.
    has_told_failure: bool,
    /// Connection that is being opened.
    attempt: Option<Arc<UpstreamConnection>>,
    /// Whether a server that says nothing may just be slow: what was concluded from its
    /// silence before turned out wrong.
    awaits_slow_server: bool,
    /// Keeps the lists current, as long as the server is connected.
    refresher: JoinSet<()>,
}

/// Time to connect next.
enum NextConnect {
    Now,
    After(Duration),
    WhenWanted,
    Never,
}

/// Way to try a server again that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    /// After a pause that gets longer with each failure.
    Later,
    /// Whenever what it needs may be there. To look costs nothing.
    WhenThere,
    /// When it is configured in another way, or restarted: it cannot get better by itself.
    WhenConfigured,
}

/// Runs until the upstream is stopped or its last handle dropped.
///
/// `queued` is its place among those that start, if it is a program.
pub(crate) async fn run(
    shared: Arc<SharedUpstream>,
    queued: Option<QueuedStart>,
    stop: watch::Receiver<Option<Duration>>,
) {
    let mut next = NextConnect::Now;
    let mut task = UpstreamTask {
        shared,
        stop,
        queued,
        failures_in_a_row: 0,
        last_error: None,
        has_told_failure: false,
        attempt: None,
        awaits_slow_server: false,
        refresher: JoinSet::new(),
    };
    while task.rest(&next).await {
        next = task.connect().await;
    }
    if let Some(log) = &task.shared.log {
        log.close().await;
    }
    task.enter(&UpstreamState::Stopped);
    task.shared.readiness.subscriptions.end();
}

impl UpstreamTask {
    /// Waits for the time to connect; false if it never comes.
    async fn rest(&mut self, next: &NextConnect) -> bool {
        let until = match next {
            NextConnect::Now => return true,
            NextConnect::Never => return false,
            NextConnect::After(pause) => Some(Instant::now() + *pause),
            NextConnect::WhenWanted => None,
        };
        let readiness = Arc::clone(&self.shared.readiness);
        loop {
            tokio::select! {
                _ = stopping(&mut self.stop) => return false,
                () = sleep_until_due(until) => return true,
                () = readiness.wake_task.notified() => if readiness.take_wanted() { return true },
            }
        }
    }

    /// Connects and stays as long as the connection holds.
    async fn connect(&mut self) -> NextConnect {
        let mut stop = self.stop.clone();
        let opened = tokio::select! {
            opened = self.open() => opened,
            grace = stopping(&mut stop) => {
                self.abandon(grace).await;
                return NextConnect::Never;
            }
        };
        match opened {
            Ok(connection) => {
                self.attempt = None;
                let next = self.serve(&connection).await;
                self.refresher = JoinSet::new();
                next
            }
            Err(problem) => {
                self.abandon(Duration::ZERO).await;
                self.fail(&problem.text, problem.retry)
            }
        }
    }

    /// Opens a connection, in a slot of its own if that takes a program. The slot is given back at the end at the latest.
    async fn open(&mut self) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
        // What the process before wrote is nothing that this attempt has to say.
        self.shared.begin_tail();
        let slot = self.start_slot().await;
        let start = Start::begin(slot);
        opening::open(self, &start).await
    }

    /// Enters the state of a server that starts, and waits for a slot where a program has to be started.
    async fn start_slot(&mut self) -> Option<StartSlot> {
        let shared = Arc::clone(&self.shared);
        let TransportSpec::Stdio(stdio) = &shared.spec.transport else {
            self.enter_start(StartWait::Answer);
            return None;
        };
        let wait = if installs_first(stdio) {
            StartWait::Installation
        } else {
            StartWait::Answer
        };
        let queued = self.queued.take();
        let mut queued = queued.unwrap_or_else(|| shared.runtime.start_slots.enter());
        if let Some(slot) = queued.take_at_once() {
            self.enter_start(wait);
            return Some(slot);
        }
        self.enter_start(StartWait::Slot);
        let slot = wait_for_slot(&mut queued, &shared).await;
        self.wait_for(wait);
        Some(slot)
    }

    fn enter_start(&self, wait: StartWait) {
        let attempt = self.failures_in_a_row.saturating_add(1);
        let start = StartAttempt::begin(attempt, wait, self.last_error.clone());
        self.enter(&UpstreamState::Starting(start));
    }

    /// Takes note of what the start waits for now.
    fn wait_for(&self, wait: StartWait) {
        self.shared.readiness.note(|facts| facts.set_wait(wait));
    }

    /// Ends a connection that did not get as far as being used.
    async fn abandon(&mut self, grace: Duration) {
        if let Some(attempt) = self.attempt.take() {
            attempt.link.stop(grace).await;
        }
    }

    /// Waits until the connection ends.
    async fn serve(&mut self, connection: &Arc<UpstreamConnection>) -> NextConnect {
        let since = Instant::now();
        let mut idle_check = self.idle_stop().map(|idle| since + idle);
        let readiness = Arc::clone(&self.shared.readiness);
        loop {
            tokio::select! {
                grace = stopping(&mut self.stop) => {
                    readiness.change(|facts| facts.connection = None);
                    connection.link.stop(grace).await;
                    return NextConnect::Never;
                }
                lost = connection.link.lost() => {
                    readiness.change(|facts| facts.connection = None);
                    connection.link.stop(Duration::ZERO).await;
                    return self.lose(&lost, since);
                }
                () = sleep_until_due(idle_check) => match self.rest_when_idle() {
                    Ok(()) => {
                        connection.link.stop(DEFAULT_GRACE).await;
                        return NextConnect::WhenWanted;
                    }
                    Err(later) => idle_check = Some(later),
                }
            }
        }
    }

    fn lose(&mut self, lost: &LostConnection, since: Instant) -> NextConnect {
        self.last_error = Some(self.shared.mask.apply(&lost.reason).into());
        self.shared.log(&format!("lost: {}", lost.reason));
        if since.elapsed() >= WELL_AFTER {
            self.failures_in_a_row = 0;
            tracing::warn!(server = %self.shared.spec.name, reason = %lost.reason, "lost, connecting again");
            return NextConnect::Now;
        }
        if lost.is_expired && self.failures_in_a_row < EXPIRIES_FORGIVEN {
            self.failures_in_a_row += 1;
            return NextConnect::Now;
        }
        self.fail(&lost.reason, Retry::Later)
    }

    fn fail(&mut self, reason: &str, retry: Retry) -> NextConnect {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let attempt = self.failures_in_a_row;
        let retry_in = match retry {
            Retry::Later => Some(backoff::server_delay(attempt)),
            Retry::WhenThere => Some(LOOKUP_PAUSE),
            Retry::WhenConfigured => None,
        };
        let reason = self.shared.mask.apply(reason);
        let transport = &self.shared.spec.transport;
        let lines = self.shared.last_lines(usize::MAX);
        let reason = environment::with_advice(&reason, transport, &lines);
        let reason: Arc<str> = reason.into();
        self.shared
            .log(&format!("attempt {attempt} failed: {reason}"));
        self.last_error = Some(Arc::clone(&reason));
        let name = &self.shared.spec.name;
        let wait = retry_in.map(|wait| tracing::field::display(backoff::in_log(wait)));
        let is_news = !std::mem::replace(&mut self.has_told_failure, true);
        if is_news {
            tracing::warn!(server = %name, %reason, retry_in = wait, "not available");
        } else {
            tracing::info!(server = %name, %reason, attempt, retry_in = wait, "still not available");
        }
        let state = UpstreamState::Failed {
            reason,
            attempt,
            since: SystemTime::now(),
            retry_in,
        };
        let readiness = &self.shared.readiness;
        readiness.change(|facts| facts.set_failed(state.clone()));
        if is_news {
            self.observe(&state);
        }
        retry_in.map_or(NextConnect::WhenWanted, NextConnect::After)
    }

    fn enter(&self, state: &UpstreamState) {
        self.shared.readiness.change(|facts| {
            facts.state = state.clone();
            facts.connection = None;
            facts.lists.freshness_mut(ListedKind::Tool).is_announced = false;
        });
        self.observe(state);
    }

    fn publish(
        &mut self,
        connection: &Arc<UpstreamConnection>,
        greeting: Greeting,
        epoch: u64,
        time_to_live: Option<Duration>,
    ) {
        let state = UpstreamState::Ready {
            since: SystemTime::now(),
            server_info: greeting.server_info,
            revision: greeting.revision,
            pid: connection.link.pid(),
        };
        self.shared.readiness.change(|facts| {
            facts.state = state.clone();
            facts.connection = Some(Arc::clone(connection));
            facts.is_wanted = false;
            let tools = facts.lists.freshness_mut(ListedKind::Tool);
            tools.is_announced |= greeting.announces;
            tools.set_listed(epoch, time_to_live);
        });
        self.last_error = None;
        self.has_told_failure = false;
        self.shared.log("ready");
        tracing::info!(server = %self.shared.spec.name, "ready");
        self.observe(&state);
    }

    fn observe(&self, state: &UpstreamState) {
        let name = &self.shared.spec.name;
        self.shared.runtime.observer.state_changed(name, state);
    }

    fn idle_stop(&self) -> Option<Duration> {
        // Only a program takes memory while nobody calls it.
        let is_program = matches!(self.shared.spec.transport, TransportSpec::Stdio(_));
        self.shared.spec.idle_stop.filter(|_| is_program)
    }

    /// Goes idle unless the upstream is in use; the error is when to look again.
    ///
    /// A caller takes its slot before it looks for the connection, and the connection goes only while every
    /// slot is free and nobody waits for a list, so neither a call nor a listing on request is cut off.
    fn rest_when_idle(&self) -> Result<(), Instant> {
        let idle = self.idle_stop().unwrap_or(Duration::MAX);
        let due = *lock(&self.shared.last_used) + idle;
        if due > Instant::now() {
            return Err(due);
        }
        let readiness = &self.shared.readiness;
        let is_free = readiness.note(|facts| {
            let is_free = self.shared.slots.is_unused()
                && !readiness.subscriptions.is_in_use()
                && !readiness.is_awaited();
            if is_free {
                facts.state = UpstreamState::Idle;
                facts.connection = None;
                facts.is_wanted = false;
            }
            is_free
        });
        if !is_free {
            self.shared.touch();
            return Err(Instant::now() + idle);
        }
        self.observe(&UpstreamState::Idle);
        Ok(())
    }
}

/// Waits for a slot, before others and then beyond the limit as long as somebody waits for the server.
async fn wait_for_slot(queued: &mut QueuedStart, shared: &SharedUpstream) -> StartSlot {
    let (readiness, patience) = (&shared.readiness, shared.runtime.call_patience);
    let mut overdue = None;
    loop {
        if readiness.is_awaited() {
            queued.go_first();
            let due = *overdue.get_or_insert_with(|| Instant::now() + patience);
            if due <= Instant::now() {
                queued.go_beyond_the_limit();
                return queued.slot().await;
            }
        } else {
            // The next who calls wakes this.
            overdue = None;
        }
        tokio::select! {
            slot = queued.slot() => return slot,
            () = readiness.wake_task.notified() => {}
            () = sleep_until_due(overdue) => {}
        }
    }
}

async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
