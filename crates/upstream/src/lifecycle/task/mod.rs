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

use super::shared::SharedUpstream;
use crate::backoff::{self, WELL_AFTER};
use crate::process::environment;
use crate::protocol::connection::UpstreamConnection;
use crate::spec::TransportSpec;
use crate::transport::stdio::{DEFAULT_GRACE, stopping};
use crate::transport::{Greeting, LostConnection};
use crate::{UpstreamState, lock};

/// Lost sessions in a row that are followed by a new one at once.
const EXPIRIES_FORGIVEN: u32 = 2;

/// Task of one upstream.
struct UpstreamTask {
    shared: Arc<SharedUpstream>,
    stop: watch::Receiver<Option<Duration>>,
    failures_in_a_row: u32,
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

/// Runs until the upstream is stopped or its last handle dropped.
pub(crate) async fn run(shared: Arc<SharedUpstream>, stop: watch::Receiver<Option<Duration>>) {
    let mut next = NextConnect::Now;
    let mut task = UpstreamTask {
        shared,
        stop,
        failures_in_a_row: 0,
        attempt: None,
        awaits_slow_server: false,
        refresher: JoinSet::new(),
    };
    while task.rest(&next).await {
        next = task.connect().await;
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
        self.enter(&UpstreamState::Starting);
        let mut stop = self.stop.clone();
        let opened = tokio::select! {
            opened = opening::open(self) => opened,
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
            Err(reason) => {
                self.abandon(Duration::ZERO).await;
                self.fail(&reason.into())
            }
        }
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
        if since.elapsed() >= WELL_AFTER {
            self.failures_in_a_row = 0;
            tracing::warn!(server = %self.shared.spec.name, reason = %lost.reason, "lost, connecting again");
            return NextConnect::Now;
        }
        if lost.is_expired && self.failures_in_a_row < EXPIRIES_FORGIVEN {
            self.failures_in_a_row += 1;
            return NextConnect::Now;
        }
        self.fail(&lost.reason)
    }

    fn fail(&mut self, reason: &Arc<str>) -> NextConnect {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let retry_in = backoff::delay(self.failures_in_a_row);
        let reason = self.shared.mask.apply(reason);
        let transport = &self.shared.spec.transport;
        let reason = environment::with_advice(&reason, transport, &self.shared.tail.lines());
        let reason: Arc<str> = reason.into();
        tracing::warn!(server = %self.shared.spec.name, %reason, ?retry_in, "not available");
        let state = UpstreamState::Failed {
            reason,
            attempt: self.failures_in_a_row,
            retry_in,
        };
        let readiness = &self.shared.readiness;
        readiness.change(|facts| facts.set_failed(state.clone()));
        self.observe(&state);
        NextConnect::After(retry_in)
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
        &self,
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

async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
