//! Readiness of one upstream, for all who read it and wait for it.
//!
//! The upstream's task writes here, callers read. A listing is current as long as nothing made it
//! stale. Each event that does begins a new epoch, and a listing that began in epoch `n` covers
//! every epoch up to `n`. So a caller waits for a listing that began after it asked, callers share
//! one listing, and no clock has to be compared with another.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::listed_item::ListedKind;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::client::incoming::Announcements;
use crate::offerings::Offerings;
use crate::protocol::connection::UpstreamConnection;
use crate::{CallError, UpstreamState};

/// Time that a listing is believed of a server that neither announces changes nor says how long.
pub(crate) const BELIEVED_FOR: Duration = Duration::from_secs(1);
/// Longest that is believed of a server that says how long: a tool that becomes dangerous must not
/// pass for harmless much longer, whatever was promised.
pub(crate) const BELIEVED_AT_MOST: Duration = Duration::from_secs(10);
/// A failure younger than this answers callers at once instead of being tried again.
const FAILURE_STANDS_FOR: Duration = Duration::from_secs(1);

/// Readiness of one upstream.
#[derive(Debug)]
pub(crate) struct Readiness {
    facts: watch::Sender<ReadinessFacts>,
    /// Wakes the upstream's task.
    pub(crate) wake_task: Notify,
    /// Offerings besides tools.
    pub(crate) offerings: Arc<Offerings>,
}

/// Facts behind [`UpstreamState`].
#[derive(Debug)]
pub(crate) struct ReadinessFacts {
    pub(crate) state: UpstreamState,
    /// Connection to call through; there exactly while the state is ready.
    pub(crate) connection: Option<LiveConnection>,
    /// Number of failures since the upstream was configured, and the time of the last.
    failures: u64,
    failed_at: Instant,
    /// Somebody waits for the upstream's task to act.
    pub(crate) is_wanted: bool,
    /// Whether the server announces changes of its tools.
    pub(crate) announces: bool,
    /// Whether it announced a change since the last listing began. Some do that without having
    /// declared before that they would.
    pub(crate) has_announced: bool,
    /// Counts the events that made the listing stale.
    epoch: u64,
    listed: Option<ToolsListed>,
    /// Last listing that failed: the epoch it would have covered, and why.
    refusal: Option<(u64, CallError)>,
}

/// Connection that calls go through.
#[derive(Debug, Clone)]
pub(crate) struct LiveConnection {
    pub(crate) connection: Arc<UpstreamConnection>,
    /// Counts connections; the next one has a higher number.
    pub(crate) number: u64,
    /// Changes whenever the server's tools do.
    pub(crate) edition: u64,
}

/// Newest listing of the tools.
#[derive(Debug, Clone, Copy)]
struct ToolsListed {
    /// Epoch in which it began.
    covers: u64,
    at: Instant,
    believed_for: Duration,
}

/// Need of a caller that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Connection with a higher number than this.
    ConnectionAfter(u64),
    /// Listing that nothing made stale before the caller asked.
    Listing,
}

/// Wait of one caller.
struct ReadinessWait {
    need: Need,
    /// Epoch that a listing has to cover.
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
            announces: false,
            has_announced: false,
            epoch: 0,
            listed: None,
            refusal: None,
        });
        Self {
            facts,
            wake_task: Notify::new(),
            offerings: Arc::default(),
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

    /// Makes the listing stale without waking anybody: the next caller asks for another.
    pub(crate) fn mark_stale(&self) {
        self.facts.send_if_modified(|facts| {
            facts.epoch += 1;
            false
        });
    }

    /// Makes the listing stale after a call that may have changed the server's tools, where
    /// the server would not say so itself.
    pub(crate) fn mark_stale_unless_announced(&self) {
        self.facts.send_if_modified(|facts| {
            facts.epoch += u64::from(!facts.announces);
            false
        });
    }

    /// Begins a listing, which will cover the epoch given back.
    pub(crate) fn begin_listing(&self) -> u64 {
        let mut epoch = 0;
        self.facts.send_if_modified(|facts| {
            facts.is_wanted = false;
            facts.has_announced = false;
            epoch = facts.epoch;
            false
        });
        epoch
    }

    /// Whether somebody waits for the task to act; asking answers it.
    pub(crate) fn take_wanted(&self) -> bool {
        let mut wanted = false;
        self.facts.send_if_modified(|facts| {
            wanted = std::mem::take(&mut facts.is_wanted);
            false
        });
        wanted
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
            let mut state = WaitState::Waiting { wakes_task: false };
            self.facts.send_if_modified(|facts| {
                state = wait.judge(facts);
                false
            });
            match state {
                WaitState::Met(live) => return Ok(live),
                WaitState::Refused(error) => return Err(error),
                WaitState::Waiting { wakes_task } => {
                    if wakes_task {
                        self.wake_task.notify_one();
                    }
                }
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
    /// Makes the listing stale and has it renewed right away.
    fn tools_changed(&self) {
        self.mark_stale();
        self.facts.send_if_modified(|facts| {
            facts.has_announced = true;
            false
        });
        self.wake_task.notify_one();
    }

    /// Sets whether changes are announced from now on. Those of before may have been missed.
    fn set_tools_announced(&self, is_announced: bool) {
        self.change(|facts| facts.announces = is_announced);
        if is_announced {
            self.tools_changed();
        }
    }

    fn lists_changed(&self, kinds: &[ListedKind]) {
        self.offerings.announce(kinds);
    }

    fn resource_updated(&self, uri: &str) {
        self.offerings.subscriptions.update(uri);
    }

    fn subscriptions_acknowledged(&self, uris: &[String]) {
        self.offerings.subscriptions.acknowledge(uris);
    }
}

// === impl ReadinessFacts ===

impl ReadinessFacts {
    /// Connection that meets a need, if there is one already; the path nearly every call takes.
    fn current(&self, need: Need) -> Option<LiveConnection> {
        let live = self.connection.as_ref()?;
        let is_met = match need {
            Need::ConnectionAfter(number) => live.number > number,
            Need::Listing => self.is_listing_current(),
        };
        is_met.then(|| live.clone())
    }

    fn is_listing_current(&self) -> bool {
        self.listed.is_some_and(|listed| {
            listed.covers >= self.epoch
                && (self.announces || listed.at.elapsed() < listed.believed_for)
        })
    }

    /// Whether something happened that no listing covers yet, nor failed to.
    pub(crate) fn is_listing_due(&self) -> bool {
        let covered = self.listed.map_or(0, |listed| listed.covers);
        let refused = self.refusal.as_ref().map_or(0, |(epoch, _)| *epoch);
        self.epoch > covered.max(refused)
    }

    /// Whether the last listing failed and none came after.
    pub(crate) fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// Takes a listing that began in the epoch and is known to the observer.
    pub(crate) fn set_listed(&mut self, covers: u64, time_to_live: Option<Duration>) {
        self.listed = Some(ToolsListed {
            covers,
            at: Instant::now(),
            believed_for: time_to_live.map_or(BELIEVED_FOR, |time| time.min(BELIEVED_AT_MOST)),
        });
        self.refusal = None;
        self.is_wanted &= self.is_listing_due();
    }

    /// Takes the failure of a listing that began in the epoch.
    pub(crate) fn set_refused(&mut self, epoch: u64, error: CallError) {
        self.refusal = Some((epoch, error));
        self.is_wanted &= self.is_listing_due();
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
        if let Need::ConnectionAfter(_) = self.need {
            return facts
                .current(self.need)
                .map_or(WaitState::Waiting { wakes_task: false }, WaitState::Met);
        }
        let Some(live) = facts.connection.clone() else {
            return WaitState::Waiting { wakes_task: false };
        };
        let required = match self.required {
            Some(required) => required,
            None if facts.is_listing_current() => return WaitState::Met(live),
            None => {
                // Stale by age, or by an epoch whose listing failed: this is a new epoch.
                if !facts.is_listing_due() {
                    facts.epoch += 1;
                }
                *self.required.insert(facts.epoch)
            }
        };
        if facts.listed.is_some_and(|listed| listed.covers >= required) {
            return WaitState::Met(live);
        }
        match &facts.refusal {
            Some((epoch, error)) if *epoch >= required => WaitState::Refused(error.clone()),
            _ => {
                facts.is_wanted = true;
                WaitState::Waiting { wakes_task: true }
            }
        }
    }
}

#[cfg(test)]
mod tests;
