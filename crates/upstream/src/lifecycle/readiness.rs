//! Readiness of one upstream, for all who read it and wait for it.
//!
//! The upstream's task and its refresher write here, callers read. One channel has it all, so that a call
//! that finds its server ready and its tools current looks once.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::ListedKind;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::change_counters::ChangeCounters;
use crate::call_error::until_deadline;
use crate::client::incoming::Announcements;
use crate::offerings::OfferedLists;
use crate::offerings::subscriptions::ResourceSubscriptions;
use crate::protocol::connection::UpstreamConnection;
use crate::{CallError, StartAttempt, StartWait, UpstreamState};

/// Time for which a failure answers callers at once instead of being tried again.
const FAILURE_STANDS_FOR: Duration = Duration::from_secs(1);

/// Readiness of one upstream.
pub(crate) struct Readiness {
    facts: watch::Sender<ReadinessFacts>,
    /// Wakes the upstream's task.
    pub(crate) wake_task: Notify,
    /// Wakes who lists each kind.
    wake_lists: [Notify; ListedKind::ALL.len()],
    /// Changes that the server announces, and calls that may cause them.
    pub(crate) changes: ChangeCounters,
    /// Resources that clients are notified of.
    pub(crate) subscriptions: Arc<ResourceSubscriptions>,
}

/// Facts behind [`UpstreamState`].
pub(crate) struct ReadinessFacts {
    pub(crate) state: UpstreamState,
    /// Connection to call through; there exactly while the state is ready.
    pub(crate) connection: Option<Arc<UpstreamConnection>>,
    /// Number of failures since the upstream was configured, and the time of the last.
    failures: u64,
    failed_at: Instant,
    /// Somebody waits for the upstream's task to act.
    pub(crate) is_wanted: bool,
    /// Offerings of the server and their age.
    pub(crate) lists: OfferedLists,
}

/// Connection that calls go through.
#[derive(Clone)]
pub(crate) struct LiveConnection {
    pub(crate) connection: Arc<UpstreamConnection>,
    /// Changes whenever the server's tools do.
    pub(crate) edition: u64,
}

/// Need of a caller that waits.
#[derive(Clone, Copy)]
pub(crate) enum Need<'a> {
    /// Connection, whichever there is.
    Connection,
    /// Connection that follows this one.
    ConnectionAfter(&'a Arc<UpstreamConnection>),
    /// Listing of a kind that nothing made stale before the caller asked.
    Listing(ListedKind),
}

/// Wait of one caller.
#[derive(Default)]
struct ReadinessWait {
    /// Epoch that the listing has to cover.
    required: Option<u64>,
    /// Failures that were known when this caller asked for another attempt.
    failures_seen: Option<u64>,
}

// === impl Readiness ===

impl Readiness {
    /// Readiness of an upstream that starts.
    pub(crate) fn new() -> Self {
        let facts = watch::Sender::new(ReadinessFacts {
            state: UpstreamState::Starting(StartAttempt::begin(1, StartWait::Answer, None)),
            connection: None,
            failures: 0,
            failed_at: Instant::now(),
            is_wanted: false,
            lists: OfferedLists::default(),
        });
        Self {
            facts,
            wake_task: Notify::new(),
            wake_lists: Default::default(),
            changes: ChangeCounters::default(),
            subscriptions: Arc::default(),
        }
    }

    /// Facts of now; they must not be held across an await.
    pub(crate) fn read(&self) -> watch::Ref<'_, ReadinessFacts> {
        self.facts.borrow()
    }

    /// Changes the facts and wakes all who wait.
    pub(crate) fn change(&self, change: impl FnOnce(&mut ReadinessFacts)) {
        self.facts.send_modify(change);
    }

    /// Changes the facts without waking anybody.
    pub(crate) fn note<T: Default>(&self, note: impl FnOnce(&mut ReadinessFacts) -> T) -> T {
        let mut noted = T::default();
        self.facts.send_if_modified(|facts| {
            noted = note(facts);
            false
        });
        noted
    }

    /// Makes the tools stale after a call that may have changed them, where the server would not say
    /// so itself. The next caller has them listed.
    pub(crate) fn mark_stale_unless_announced(&self) {
        self.note(|facts| {
            let tools = facts.lists.freshness_mut(ListedKind::Tool);
            if !tools.is_announced {
                tools.mark_stale();
            }
        });
    }

    /// Has lists renewed that are too old, but for tools, without waiting for it.
    pub(crate) fn renew(&self) {
        for kind in ListedKind::ALL {
            // Most who ask find nothing old, and wake nobody.
            if kind != ListedKind::Tool
                && !self.read().lists.freshness(kind).is_current()
                && self.note(|facts| facts.lists.freshness_mut(kind).renew())
            {
                self.wake_lists[kind.index()].notify_one();
            }
        }
    }

    /// Waits until a kind may have to be listed.
    pub(crate) async fn list_wanted(&self, kind: ListedKind) {
        self.wake_lists[kind.index()].notified().await;
    }

    /// Whether somebody waits for the task to act; asking answers it.
    pub(crate) fn take_wanted(&self) -> bool {
        self.note(|facts| std::mem::take(&mut facts.is_wanted))
    }

    /// Whether anybody waits.
    pub(crate) fn is_awaited(&self) -> bool {
        self.facts.receiver_count() > 0
    }

    /// Waits until what is needed is there.
    ///
    /// Nothing is lost if the future is dropped: it only watches.
    pub(crate) async fn wait(
        &self,
        need: Need<'_>,
        deadline: Instant,
    ) -> Result<LiveConnection, CallError> {
        // The facts are read and let go before they are changed.
        let met = self.read().current_or_aging(need);
        if let Some((live, aging)) = met {
            if let Some(kind) = aging {
                self.note(|facts| facts.lists.freshness_mut(kind).renew_early());
                self.wake_lists[kind.index()].notify_one();
            }
            return Ok(live);
        }
        let mut watcher = self.facts.subscribe();
        let mut wait = ReadinessWait::default();
        let waiting = async {
            loop {
                watcher.mark_unchanged();
                if let Some(outcome) = self.note(|facts| wait.judge(need, facts)) {
                    return outcome;
                }
                self.wake_task.notify_one();
                if let Need::Listing(kind) = need {
                    self.wake_lists[kind.index()].notify_one();
                }
                // The sender lives as long as the readiness does, so this ends with a change.
                let _ = watcher.changed().await;
            }
        };
        let waited = until_deadline(deadline, false, waiting).await;
        waited.map_err(|late| self.explained(late))?
    }

    /// Error of a wait that took too long, with what the server was doing, if it was starting.
    pub(super) fn explained(&self, late: CallError) -> CallError {
        match (&late, &self.read().state) {
            (CallError::Timeout { after, .. }, UpstreamState::Starting(start)) => {
                CallError::StillStarting {
                    after: *after,
                    start: Box::new(start.clone()),
                }
            }
            _ => late,
        }
    }

    /// Waits until the upstream is starting no more.
    pub(crate) async fn started(&self) {
        let is_started =
            |facts: &ReadinessFacts| !matches!(facts.state, UpstreamState::Starting(_));
        let mut watcher = self.facts.subscribe();
        // Where it waits for its turn, it sees that somebody waits for it.
        self.wake_task.notify_one();
        let _ = watcher.wait_for(is_started).await;
    }

    /// Waits until the upstream has stopped for good.
    pub(crate) async fn stopped(&self) {
        let is_stopped = |facts: &ReadinessFacts| facts.state == UpstreamState::Stopped;
        let _ = self.facts.subscribe().wait_for(is_stopped).await;
    }
}

impl Announcements for Readiness {
    fn change_announced(&self) {
        self.changes.announced();
    }

    fn set_tools_announced(&self, is_announced: bool) {
        self.change(|facts| {
            facts.lists.freshness_mut(ListedKind::Tool).is_announced = is_announced;
        });
        if is_announced {
            // Changes of before may have been missed.
            self.lists_changed(&[ListedKind::Tool]);
        }
    }

    /// Makes lists stale and has them renewed right away.
    fn lists_changed(&self, kinds: &[ListedKind]) {
        for kind in kinds {
            self.note(|facts| facts.lists.freshness_mut(*kind).announce());
            self.wake_lists[kind.index()].notify_one();
        }
    }

    fn resource_updated(&self, uri: &str) {
        self.subscriptions.update(uri);
    }

    fn subscriptions_acknowledged(&self, uris: &[String]) {
        self.subscriptions.acknowledge(uris);
    }
}

// === impl ReadinessFacts ===

impl ReadinessFacts {
    /// Connection that meets a need, if there is one already; the path nearly every call takes.
    fn current(&self, need: Need<'_>) -> Option<LiveConnection> {
        let is_met = match need {
            Need::Connection => true,
            Need::ConnectionAfter(before) => !Arc::ptr_eq(self.connection.as_ref()?, before),
            Need::Listing(kind) => self.lists.freshness(kind).is_current(),
        };
        if is_met { self.live() } else { None }
    }

    /// Current connection, with the kind whose list should be renewed before it is too old.
    fn current_or_aging(&self, need: Need<'_>) -> Option<(LiveConnection, Option<ListedKind>)> {
        let live = self.current(need)?;
        let aging = match need {
            Need::Listing(kind) if self.lists.freshness(kind).is_aging() => Some(kind),
            _ => None,
        };
        Some((live, aging))
    }

    fn live(&self) -> Option<LiveConnection> {
        Some(LiveConnection {
            connection: Arc::clone(self.connection.as_ref()?),
            edition: self.lists.edition,
        })
    }

    /// Takes note of what a starting server waits for now.
    pub(super) fn set_wait(&mut self, wait: StartWait) {
        if let UpstreamState::Starting(start) = &mut self.state {
            start.waiting_for = wait;
        }
    }

    /// Takes the failure or the loss of the upstream.
    pub(crate) fn set_failed(&mut self, state: UpstreamState) {
        self.state = state;
        self.connection = None;
        self.failures += 1;
        self.failed_at = Instant::now();
    }
}

// === impl ReadinessWait ===

impl ReadinessWait {
    /// Outcome of the wait; nothing as long as it is open.
    fn judge(
        &mut self,
        need: Need<'_>,
        facts: &mut ReadinessFacts,
    ) -> Option<Result<LiveConnection, CallError>> {
        match &facts.state {
            UpstreamState::Ready { .. } => {
                let Need::Listing(kind) = need else {
                    return facts.current(need).map(Ok);
                };
                let live = facts.live()?;
                let freshness = facts.lists.freshness_mut(kind);
                let required = *self.required.get_or_insert_with(|| freshness.required());
                let outcome = freshness.outcome(required);
                if outcome.is_none() {
                    freshness.renew();
                }
                outcome.map(|outcome| outcome.map(|()| live))
            }
            UpstreamState::Starting(_) => None,
            UpstreamState::Idle => {
                facts.is_wanted = true;
                None
            }
            UpstreamState::Failed {
                reason,
                retry_in: None,
                ..
            } => Some(Err(CallError::unavailable(Arc::clone(reason)))),
            UpstreamState::Failed { reason, .. } => {
                let is_old = facts.failed_at.elapsed() >= FAILURE_STANDS_FOR;
                match self.failures_seen {
                    // Our own attempt is still to come.
                    Some(seen) if seen == facts.failures => None,
                    None if is_old => {
                        self.failures_seen = Some(facts.failures);
                        facts.is_wanted = true;
                        None
                    }
                    _ => Some(Err(CallError::unavailable(Arc::clone(reason)))),
                }
            }
            UpstreamState::Stopped => Some(Err(CallError::unavailable("the server is stopped"))),
        }
    }
}

#[cfg(test)]
mod tests;
