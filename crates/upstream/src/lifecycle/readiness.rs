//! Readiness of one upstream, for all who read it and wait for it.
//!
//! The upstream's task and its refresher write here, callers read. One channel has it all, so that a call
//! that finds its server ready and its tools current looks once.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::ListedKind;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::client::incoming::Announcements;
use crate::offerings::OfferedLists;
use crate::offerings::subscriptions::ResourceSubscriptions;
use crate::protocol::connection::UpstreamConnection;
use crate::{CallError, UpstreamState};

/// A failure younger than this answers callers at once instead of being tried again.
const FAILURE_STANDS_FOR: Duration = Duration::from_secs(1);

/// Readiness of one upstream.
#[derive(Debug)]
pub(crate) struct Readiness {
    facts: watch::Sender<ReadinessFacts>,
    /// Wakes the upstream's task.
    pub(crate) wake_task: Notify,
    /// Wakes who lists each kind.
    wake_lists: [Notify; ListedKind::ALL.len()],
    /// Resources that clients are notified of.
    pub(crate) subscriptions: Arc<ResourceSubscriptions>,
}

/// Facts behind [`UpstreamState`].
#[derive(Debug)]
pub(crate) struct ReadinessFacts {
    pub(crate) state: UpstreamState,
    /// Connection to call through; there exactly while the state is ready.
    pub(crate) connection: Option<NumberedConnection>,
    /// Number of failures since the upstream was configured, and the time of the last.
    failures: u64,
    failed_at: Instant,
    /// Somebody waits for the upstream's task to act.
    pub(crate) is_wanted: bool,
    /// Offerings of the server and their age.
    pub(crate) lists: OfferedLists,
}

/// Connection with its number; the next one has a higher number.
pub(crate) type NumberedConnection = (Arc<UpstreamConnection>, u64);

/// Connection that calls go through.
#[derive(Debug, Clone)]
pub(crate) struct LiveConnection {
    pub(crate) connection: Arc<UpstreamConnection>,
    /// Counts connections; the next one has a higher number.
    pub(crate) number: u64,
    /// Changes whenever the server's tools do.
    pub(crate) edition: u64,
}

/// Need of a caller that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Connection with a higher number than this.
    ConnectionAfter(u64),
    /// Listing of a kind that nothing made stale before the caller asked.
    Listing(ListedKind),
}

/// Wait of one caller.
struct ReadinessWait {
    need: Need,
    /// Epoch that the listing has to cover.
    required: Option<u64>,
    /// Failures that were known when this caller asked for another attempt.
    failures_seen: Option<u64>,
}

/// State of a wait.
enum WaitState {
    Met(LiveConnection),
    Refused(CallError),
    /// Wait on; wake the task first if it has to act.
    Waiting {
        wakes_task: bool,
    },
}

// === impl Readiness ===

impl Readiness {
    pub(crate) fn new(state: UpstreamState) -> Self {
        let (facts, _) = watch::channel(ReadinessFacts {
            state,
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
    pub(crate) fn note<T>(&self, note: impl FnOnce(&mut ReadinessFacts) -> T) -> Option<T> {
        let mut noted = None;
        self.facts.send_if_modified(|facts| {
            noted = Some(note(facts));
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
                && self.note(|facts| facts.lists.freshness_mut(kind).renew()) == Some(true)
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
        self.note(|facts| std::mem::take(&mut facts.is_wanted)) == Some(true)
    }

    /// Waits until what is needed is there.
    ///
    /// Nothing is lost if the future is dropped: it only watches.
    pub(crate) async fn wait(
        &self,
        need: Need,
        deadline: Instant,
    ) -> Result<LiveConnection, CallError> {
        if let Some(live) = self.read().current(need) {
            return Ok(live);
        }
        let started = Instant::now();
        let mut watcher = self.facts.subscribe();
        let mut wait = ReadinessWait {
            need,
            required: None,
            failures_seen: None,
        };
        loop {
            watcher.mark_unchanged();
            match self.note(|facts| wait.judge(facts)) {
                Some(WaitState::Met(live)) => return Ok(live),
                Some(WaitState::Refused(error)) => return Err(error),
                Some(WaitState::Waiting { wakes_task: true }) => {
                    self.wake_task.notify_one();
                    if let Need::Listing(kind) = need {
                        self.wake_lists[kind.index()].notify_one();
                    }
                }
                _ => {}
            }
            if tokio::time::timeout_at(deadline, watcher.changed())
                .await
                .is_err()
            {
                return Err(CallError::Timeout {
                    after: started.elapsed(),
                    sent: false,
                });
            }
        }
    }

    /// Waits until the upstream has stopped for good.
    pub(crate) async fn stopped(&self) {
        let mut watcher = self.facts.subscribe();
        // The sender lives as long as the readiness does, so this ends with the state.
        let _ = watcher
            .wait_for(|facts| facts.state == UpstreamState::Stopped)
            .await;
    }
}

impl Announcements for Readiness {
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
    fn current(&self, need: Need) -> Option<LiveConnection> {
        let is_met = match need {
            Need::ConnectionAfter(after) => self.connection.as_ref()?.1 > after,
            Need::Listing(kind) => self.lists.freshness(kind).is_current(),
        };
        if is_met { self.live() } else { None }
    }

    fn live(&self) -> Option<LiveConnection> {
        let (connection, number) = self.connection.as_ref()?;
        Some(LiveConnection {
            connection: Arc::clone(connection),
            number: *number,
            edition: self.lists.edition,
        })
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
    fn judge(&mut self, facts: &mut ReadinessFacts) -> WaitState {
        match &facts.state {
            UpstreamState::Ready { .. } => self.judge_ready(facts),
            UpstreamState::Starting => WaitState::Waiting { wakes_task: false },
            UpstreamState::Idle => {
                facts.is_wanted = true;
                WaitState::Waiting { wakes_task: true }
            }
            UpstreamState::Failed { reason, .. } => {
                let is_old = facts.failed_at.elapsed() >= FAILURE_STANDS_FOR;
                match self.failures_seen {
                    // Our own attempt is still to come.
                    Some(seen) if seen == facts.failures => WaitState::Waiting { wakes_task: true },
                    None if is_old => {
                        self.failures_seen = Some(facts.failures);
                        facts.is_wanted = true;
                        WaitState::Waiting { wakes_task: true }
                    }
                    _ => WaitState::Refused(CallError::Unavailable {
                        reason: Arc::clone(reason),
                    }),
                }
            }
            UpstreamState::Stopped => {
                WaitState::Refused(CallError::unavailable("the server is stopped"))
            }
        }
    }

    fn judge_ready(&mut self, facts: &mut ReadinessFacts) -> WaitState {
        let still_waiting = WaitState::Waiting { wakes_task: false };
        let Need::Listing(kind) = self.need else {
            return facts
                .current(self.need)
                .map_or(still_waiting, WaitState::Met);
        };
        let Some(live) = facts.live() else {
            return still_waiting;
        };
        let freshness = facts.lists.freshness_mut(kind);
        let required = *self.required.get_or_insert_with(|| freshness.required());
        match freshness.outcome(required) {
            Some(Ok(())) => WaitState::Met(live),
            Some(Err(error)) => WaitState::Refused(error),
            None => {
                freshness.renew();
                WaitState::Waiting { wakes_task: true }
            }
        }
    }
}

#[cfg(test)]
mod tests;
