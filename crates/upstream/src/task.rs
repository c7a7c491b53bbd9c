//! The one task of an upstream: connects, lists, waits, and connects again.
//!
//! It is the only one to enter states and to call the observer. Calls do not pass through it.

mod opening;

use mcpproxy_wire::Method;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::backoff;
use crate::board::Live;
use crate::connection::{Connection, Greeting, Lost};
use crate::listing::{self, Known};
use crate::shared::Shared;
use crate::shelf::keeper::Keeper;
use crate::spec::Transport;
use crate::{CallError, State};

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

/// The task's own memory.
struct Task {
    shared: Arc<Shared>,
    stop: watch::Receiver<Option<Duration>>,
    /// The listing the observer knows.
    known: Option<Known>,
    /// Counts listings that differ from the one before.
    edition: u64,
    /// Counts connections.
    connections: u64,
    /// When a listing was last tried.
    listed_at: Instant,
    failures_in_a_row: u32,
    /// A connection that is being opened.
    attempt: Option<Arc<Connection>>,
    /// Whether a server that says nothing may just be slow: what was concluded from its
    /// silence before turned out wrong.
    is_patient: bool,
    /// Lists what the server has besides tools, as long as it is connected.
    keeper: Option<Keeper>,
}

/// When to connect next.
enum Next {
    Now,
    After(Duration),
    WhenWanted,
    Never,
}

/// Runs until the upstream is stopped or its last handle dropped.
pub(crate) async fn run(shared: Arc<Shared>, stop: watch::Receiver<Option<Duration>>) {
    let mut next = match shared.board.look().state {
        State::Idle => Next::WhenWanted,
        _ => Next::Now,
    };
    let mut task = Task {
        shared,
        stop,
        known: None,
        edition: 0,
        connections: 0,
        listed_at: Instant::now(),
        failures_in_a_row: 0,
        attempt: None,
        is_patient: false,
        keeper: None,
    };
    while task.rest(&next).await {
        next = task.connect().await;
    }
    task.enter(&State::Stopped);
    task.shared.board.shelf.watched.end();
}

// === impl Task: the life of an upstream ===

impl Task {
    /// Waits for the time to connect; false if it never comes.
    async fn rest(&mut self, next: &Next) -> bool {
        let until = match next {
            Next::Now => return true,
            Next::Never => return false,
            Next::After(pause) => Some(Instant::now() + *pause),
            Next::WhenWanted => None,
        };
        let board = Arc::clone(&self.shared.board);
        loop {
            tokio::select! {
                _ = stopping(&mut self.stop) => return false,
                () = sleep_until_due(until) => return true,
                () = board.bell.notified() => if board.take_wanted() { return true },
            }
        }
    }

    /// Connects and stays as long as the connection holds.
    async fn connect(&mut self) -> Next {
        self.enter(&State::Starting);
        let mut stop = self.stop.clone();
        let opened = tokio::select! {
            opened = opening::open(self) => opened,
            grace = stopping(&mut stop) => {
                self.abandon(grace).await;
                return Next::Never;
            }
        };
        match opened {
            Ok(connection) => {
                self.attempt = None;
                let next = self.serve(&connection).await;
                self.keeper = None;
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
    async fn serve(&mut self, connection: &Arc<Connection>) -> Next {
        let since = Instant::now();
        let mut idle_check = self.idle_stop().map(|idle| since + idle);
        let board = Arc::clone(&self.shared.board);
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
                    board.change(|progress| progress.connection = None);
                    connection.stop(Duration::ZERO).await;
                    return self.lose(&lost, since);
                }
                () = board.bell.notified() => {}
                () = sleep_until_due(listing_due) => {}
                () = sleep_until_due(idle_check) => match self.rest_when_idle() {
                    Ok(()) => {
                        connection.stop(DROPPED_GRACE).await;
                        return Next::WhenWanted;
                    }
                    Err(later) => idle_check = Some(later),
                }
            }
        }
    }

    async fn end(&self, connection: &Connection, grace: Duration) -> Next {
        self.shared
            .board
            .change(|progress| progress.connection = None);
        connection.stop(grace).await;
        Next::Never
    }

    fn lose(&mut self, lost: &Lost, since: Instant) -> Next {
        if since.elapsed() >= WELL_AFTER {
            self.failures_in_a_row = 0;
            tracing::warn!(server = %self.shared.spec.name, reason = %lost.reason, "lost, connecting again");
            return Next::Now;
        }
        if lost.is_expired && self.failures_in_a_row < EXPIRIES_FORGIVEN {
            self.failures_in_a_row += 1;
            return Next::Now;
        }
        self.fail(&lost.reason)
    }

    fn fail(&mut self, reason: &Arc<str>) -> Next {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let retry_in = backoff::delay(self.failures_in_a_row);
        let reason: Arc<str> = self.shared.mask.apply(reason).into();
        tracing::warn!(server = %self.shared.spec.name, %reason, ?retry_in, "not available");
        let state = State::Failed {
            reason,
            attempt: self.failures_in_a_row,
            retry_in,
        };
        self.shared
            .board
            .change(|progress| progress.set_failed(state.clone()));
        self.observe(&state);
        Next::After(retry_in)
    }
}

// === impl Task: states ===

impl Task {
    fn enter(&self, state: &State) {
        self.shared.board.change(|progress| {
            progress.state = state.clone();
            progress.connection = None;
            progress.announces = false;
        });
        self.observe(state);
    }

    fn publish(
        &mut self,
        connection: &Arc<Connection>,
        greeting: Greeting,
        mark: u64,
        time_to_live: Option<Duration>,
    ) {
        self.connections += 1;
        let state = State::Ready {
            since: SystemTime::now(),
            server_info: greeting.server_info,
            revision: greeting.revision,
            pid: connection.pid(),
        };
        let live = Live {
            connection: Arc::clone(connection),
            number: self.connections,
            edition: self.edition,
        };
        self.shared.board.change(|progress| {
            progress.state = state.clone();
            progress.connection = Some(live);
            progress.announces |= greeting.announces;
            progress.set_listed(mark, time_to_live);
        });
        tracing::info!(server = %self.shared.spec.name, "ready");
        self.observe(&state);
    }

    fn observe(&self, state: &State) {
        let name = &self.shared.spec.name;
        self.shared.runtime.observer.state_changed(name, state);
    }

    fn idle_stop(&self) -> Option<Duration> {
        // Only a program takes memory while nobody calls it.
        let is_program = matches!(self.shared.spec.transport, Transport::Stdio(_));
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
        self.shared.board.change(|progress| {
            is_free = self.shared.slots.available_permits() == self.shared.slot_count
                && !self.shared.board.shelf.watched.is_in_use();
            if is_free {
                progress.state = State::Idle;
                progress.connection = None;
                progress.wanted = false;
            }
        });
        if !is_free {
            return Err(Instant::now() + idle);
        }
        self.observe(&State::Idle);
        Ok(())
    }
}

// === impl Task: listings ===

impl Task {
    /// When the tools have to be listed again, if at all.
    fn listing_due(&self) -> Option<Instant> {
        let progress = self.shared.board.look();
        if progress.has_news() {
            if progress.wanted {
                return Some(Instant::now());
            }
            let paced = self.listed_at + UNASKED_LISTING_PAUSE;
            return (progress.announces || progress.told).then_some(paced);
        }
        (progress.is_refused() && progress.announces).then(|| self.listed_at + LISTING_RETRY)
    }

    /// Lists the tools of a server that is ready.
    async fn list_again(&mut self, connection: &Connection) {
        let mark = self.shared.board.begin_listing();
        let deadline = Instant::now() + self.shared.spec.timeout;
        let mut outcome = self.list(connection, deadline).await;
        if let Err(CallError::Disconnected { sent: true, .. }) = outcome {
            // A listing changes nothing, so it can be repeated. If the server is gone, this
            // attempt says so.
            outcome = self.list(connection, deadline).await;
        }
        let edition = self.edition;
        self.shared.board.change(|progress| match outcome {
            Ok(time_to_live) => {
                progress.set_listed(mark, time_to_live);
                if let Some(live) = &mut progress.connection {
                    live.edition = edition;
                }
            }
            // The connection is lost. CallRoutes wait for the next one, which is listed anew.
            Err(CallError::Disconnected { sent: false, .. }) => {}
            Err(CallError::Timeout { after, .. }) => {
                progress.set_refused(mark, CallError::Timeout { after, sent: false });
            }
            Err(error) => {
                let reason = explain(Method::ToolsList.as_str(), &error);
                let reason = self.shared.mask.apply(&reason);
                progress.set_refused(mark, CallError::unavailable(reason));
            }
        });
    }

    /// Lists the tools; gives back how long the server says that they stay as they are.
    async fn list(
        &mut self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<Option<Duration>, CallError> {
        let listing = listing::list(connection, deadline).await;
        self.listed_at = Instant::now();
        let listing = listing?;
        let time_to_live = listing.time_to_live;
        self.report(listing);
        Ok(time_to_live)
    }

    /// Tells the observer about a listing that differs from the one it knows.
    fn report(&mut self, listing: listing::Listing) {
        let name = Arc::clone(&self.shared.spec.name);
        listing.log(&name, self.known.as_ref());
        let known = listing.known();
        let is_new = self
            .known
            .as_ref()
            .is_none_or(|before| !before.has_tools_of(&known));
        self.known = Some(known);
        if is_new {
            self.edition += 1;
            self.shared.runtime.observer.listed(&name, listing.tools);
        }
    }
}

/// Says for people what went wrong with a request of our own.
fn explain(method: &str, error: &CallError) -> String {
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
