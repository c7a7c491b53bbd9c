//! Task of an upstream: connects, lists, waits, and connects again.
//!
//! Only the task enters states and calls the observer. Calls do not pass through it.

mod opening;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcpproxy_wire::Method;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::readiness::LiveConnection;
use super::shared::SharedUpstream;
use crate::offerings::listing::{self, ReportedListing};
use crate::offerings::refresher::OfferingsRefresher;
use crate::protocol::connection::UpstreamConnection;
use crate::protocol::greeting::Greeting;
use crate::spec::TransportSpec;
use crate::transport::LostConnection;
use crate::{CallError, UpstreamState, backoff};

/// A connection that held this long was well: its loss is followed by a new one at once.
const WELL_AFTER: Duration = Duration::from_secs(10);
/// So many lost sessions in a row are followed by a new one at once.
const EXPIRIES_FORGIVEN: u32 = 2;
/// Announced changes are listed at once, but not more often than this unless a caller waits.
const UNASKED_LISTING_PAUSE: Duration = Duration::from_millis(250);
/// How long until a listing that failed is tried again without a caller.
const LISTING_RETRY: Duration = Duration::from_secs(5);
/// How long a server has to end by itself when the last handle is dropped.
const DROPPED_GRACE: Duration = Duration::from_secs(2);

/// Task of one upstream.
struct UpstreamTask {
    shared: Arc<SharedUpstream>,
    stop: watch::Receiver<Option<Duration>>,
    /// Listing that the observer knows.
    reported: Option<ReportedListing>,
    /// Counts listings that differ from the one before.
    edition: u64,
    /// Counts connections.
    connections: u64,
    /// Time when a listing was last tried.
    listed_at: Instant,
    failures_in_a_row: u32,
    /// Connection that is being opened.
    attempt: Option<Arc<UpstreamConnection>>,
    /// Whether a server that says nothing may just be slow: what was concluded from its
    /// silence before turned out wrong.
    awaits_slow_server: bool,
    /// Lists the offerings besides tools, as long as the server is connected.
    refresher: Option<OfferingsRefresher>,
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
        reported: None,
        edition: 0,
        connections: 0,
        listed_at: Instant::now(),
        failures_in_a_row: 0,
        attempt: None,
        awaits_slow_server: false,
        refresher: None,
    };
    while task.rest(&next).await {
        next = task.connect().await;
    }
    task.enter(&UpstreamState::Stopped);
    task.shared.readiness.offerings.subscriptions.end();
}

// === impl UpstreamTask: the life of an upstream ===

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
                self.refresher = None;
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
            attempt.stop(grace).await;
        }
    }

    /// Keeps the listing current until the connection ends.
    async fn serve(&mut self, connection: &Arc<UpstreamConnection>) -> NextConnect {
        let since = Instant::now();
        let mut idle_check = self.idle_stop().map(|idle| since + idle);
        let readiness = Arc::clone(&self.shared.readiness);
        loop {
            let listing_due = self.listing_due();
            if listing_due.is_some_and(|due| due <= Instant::now()) {
                let mut stop = self.stop.clone();
                tokio::select! {
                    () = self.list_again(connection) => continue,
                    grace = stopping(&mut stop) => return self.end(connection, grace).await,
                }
            }
            tokio::select! {
                grace = stopping(&mut self.stop) => return self.end(connection, grace).await,
                lost = connection.lost() => {
                    readiness.change(|facts| facts.connection = None);
                    connection.stop(Duration::ZERO).await;
                    return self.lose(&lost, since);
                }
                () = readiness.wake_task.notified() => {}
                () = sleep_until_due(listing_due) => {}
                () = sleep_until_due(idle_check) => match self.rest_when_idle() {
                    Ok(()) => {
                        connection.stop(DROPPED_GRACE).await;
                        return NextConnect::WhenWanted;
                    }
                    Err(later) => idle_check = Some(later),
                }
            }
        }
    }

    async fn end(&self, connection: &UpstreamConnection, grace: Duration) -> NextConnect {
        self.shared
            .readiness
            .change(|facts| facts.connection = None);
        connection.stop(grace).await;
        NextConnect::Never
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
        let reason: Arc<str> = self.shared.mask.apply(reason).into();
        tracing::warn!(server = %self.shared.spec.name, %reason, ?retry_in, "not available");
        let state = UpstreamState::Failed {
            reason,
            attempt: self.failures_in_a_row,
            retry_in,
        };
        self.shared
            .readiness
            .change(|facts| facts.set_failed(state.clone()));
        self.observe(&state);
        NextConnect::After(retry_in)
    }
}

// === impl UpstreamTask: states ===

impl UpstreamTask {
    fn enter(&self, state: &UpstreamState) {
        self.shared.readiness.change(|facts| {
            facts.state = state.clone();
            facts.connection = None;
            facts.announces = false;
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
        self.connections += 1;
        let state = UpstreamState::Ready {
            since: SystemTime::now(),
            server_info: greeting.server_info,
            revision: greeting.revision,
            pid: connection.pid(),
        };
        let live = LiveConnection {
            connection: Arc::clone(connection),
            number: self.connections,
            edition: self.edition,
        };
        self.shared.readiness.change(|facts| {
            facts.state = state.clone();
            facts.connection = Some(live);
            facts.announces |= greeting.announces;
            facts.set_listed(epoch, time_to_live);
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
    /// A caller takes its slot before it looks for the connection, and the connection goes
    /// only while every slot is free, so no call is cut off.
    fn rest_when_idle(&self) -> Result<(), Instant> {
        let idle = self.idle_stop().unwrap_or(Duration::MAX);
        let due = self.shared.last_used() + idle;
        if due > Instant::now() {
            return Err(due);
        }
        let mut is_free = false;
        self.shared.readiness.change(|facts| {
            is_free = self.shared.slots.available_permits() == self.shared.slot_count
                && !self.shared.readiness.offerings.subscriptions.is_in_use();
            if is_free {
                facts.state = UpstreamState::Idle;
                facts.connection = None;
                facts.is_wanted = false;
            }
        });
        if !is_free {
            return Err(Instant::now() + idle);
        }
        self.observe(&UpstreamState::Idle);
        Ok(())
    }
}

// === impl UpstreamTask: listings ===

impl UpstreamTask {
    /// Time when the tools have to be listed again, if at all.
    fn listing_due(&self) -> Option<Instant> {
        let facts = self.shared.readiness.read();
        if facts.is_listing_due() {
            if facts.is_wanted {
                return Some(Instant::now());
            }
            let paced = self.listed_at + UNASKED_LISTING_PAUSE;
            return (facts.announces || facts.has_announced).then_some(paced);
        }
        (facts.is_refused() && facts.announces).then(|| self.listed_at + LISTING_RETRY)
    }

    /// Lists the tools of a server that is ready.
    async fn list_again(&mut self, connection: &UpstreamConnection) {
        let epoch = self.shared.readiness.begin_listing();
        let deadline = Instant::now() + self.shared.spec.timeout;
        let mut outcome = self.list(connection, deadline).await;
        if let Err(CallError::Disconnected { sent: true, .. }) = outcome {
            // A listing changes nothing, so it can be repeated. If the server is gone, this
            // attempt says so.
            outcome = self.list(connection, deadline).await;
        }
        let edition = self.edition;
        self.shared.readiness.change(|facts| match outcome {
            Ok(time_to_live) => {
                facts.set_listed(epoch, time_to_live);
                if let Some(live) = &mut facts.connection {
                    live.edition = edition;
                }
            }
            // The connection is lost. Callers wait for the next one, which is listed anew.
            Err(CallError::Disconnected { sent: false, .. }) => {}
            Err(CallError::Timeout { after, .. }) => {
                facts.set_refused(epoch, CallError::Timeout { after, sent: false });
            }
            Err(error) => {
                let reason = explain(Method::ToolsList, &error);
                let reason = self.shared.mask.apply(&reason);
                facts.set_refused(epoch, CallError::unavailable(reason));
            }
        });
    }

    /// Lists the tools; gives back how long the server says that they stay as they are.
    async fn list(
        &mut self,
        connection: &UpstreamConnection,
        deadline: Instant,
    ) -> Result<Option<Duration>, CallError> {
        let listing = listing::list_tools(connection, deadline).await;
        self.listed_at = Instant::now();
        let listing = listing?;
        let time_to_live = listing.time_to_live;
        self.report(listing);
        Ok(time_to_live)
    }

    /// Tells the observer about a listing that differs from the one it knows.
    fn report(&mut self, listing: listing::ToolListing) {
        let name = Arc::clone(&self.shared.spec.name);
        listing.log(&name, self.reported.as_ref());
        let reported = listing.reported();
        let is_new = self
            .reported
            .as_ref()
            .is_none_or(|before| !before.has_tools_of(&reported));
        self.reported = Some(reported);
        if is_new {
            self.edition += 1;
            self.shared.runtime.observer.listed(&name, listing.tools);
        }
    }
}

/// Explanation for people of what went wrong with a request of our own.
fn explain(method: Method, error: &CallError) -> String {
    let method = method.as_str();
    match error {
        CallError::Timeout { after, .. } => {
            format!("it did not answer {method} within {} ms", after.as_millis())
        }
        CallError::Rpc(error) => format!("it answers {method} with an error: {error}"),
        CallError::Malformed { reason } => {
            format!("it does not answer {method} properly: {reason}")
        }
        other => other.to_string(),
    }
}

/// Waits until the upstream has to stop; gives the grace its server has.
async fn stopping(stop: &mut watch::Receiver<Option<Duration>>) -> Duration {
    match stop.wait_for(Option::is_some).await {
        Ok(grace) => grace.unwrap_or(DROPPED_GRACE),
        // The last handle is gone.
        Err(_) => DROPPED_GRACE,
    }
}

async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
