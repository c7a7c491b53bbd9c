//! What is known of one upstream, for all who ask and wait.
//!
//! The upstream's task writes here, callers read. A listing is current as long as nothing
//! made it stale: each such event is a mark, and a listing that began at mark `n` covers
//! every mark up to `n`. So a caller waits for a listing that began after it asked, callers
//! share one listing, and no clock has to be compared with another.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::shelf::Shelf;
use crate::{CallError, State};

/// How long a listing is believed of a server that neither announces changes nor says how long.
pub(crate) const BELIEVED_FOR: Duration = Duration::from_secs(1);
/// The longest that is believed of a server that says how long: a tool that becomes dangerous
/// must not pass for harmless much longer, whatever was promised.
pub(crate) const BELIEVED_AT_MOST: Duration = Duration::from_secs(10);
/// A failure younger than this answers callers at once instead of being tried again.
const FAILURE_STANDS_FOR: Duration = Duration::from_secs(1);

/// What is known of one upstream.
#[derive(Debug)]
pub(crate) struct Board {
    progress: watch::Sender<Progress>,
    /// Wakes the upstream's task.
    pub(crate) bell: Notify,
    /// What it lists besides tools.
    pub(crate) shelf: Shelf,
}

/// The facts behind [`State`].
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) state: State,
    /// The connection to call through; there exactly while the state is ready.
    pub(crate) connection: Option<Live>,
    /// How often the upstream failed since it was configured, and when last.
    failures: u64,
    failed_at: Instant,
    /// Somebody waits for the upstream's task to act.
    pub(crate) wanted: bool,
    /// Whether the server tells when its tools change.
    pub(crate) announces: bool,
    /// Whether it told of a change since the last listing began. Some do that without having said
    /// before that they would.
    pub(crate) told: bool,
    marks: u64,
    listed: Option<Listed>,
    /// The last re-listing that failed: the mark it would have covered, and why.
    refusal: Option<(u64, CallError)>,
}

/// A connection and which one it is.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) connection: Arc<Connection>,
    /// Counts connections; the next one has a higher number.
    pub(crate) number: u64,
    /// Changes whenever the server's tools do.
    pub(crate) edition: u64,
}

/// The newest listing.
#[derive(Debug, Clone, Copy)]
struct Listed {
    covers: u64,
    at: Instant,
    believed_for: Duration,
}

/// What a caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// A connection with a higher number than this.
    ConnectionAfter(u64),
    /// A listing that nothing made stale before the caller asked.
    Listing,
}

/// One caller's wait.
struct Wait {
    need: Need,
    /// The mark a listing has to cover.
    required: Option<u64>,
    /// The failures that were known when this caller asked for another attempt.
    failures_seen: Option<u64>,
}

enum Verdict {
    Met(Live),
    Refused(CallError),
    /// Wait on; ring the bell first if the task has to act.
    Wait {
        ring: bool,
    },
}

// === impl Board ===

impl Board {
    pub(crate) fn new(state: State) -> Self {
        let (progress, _) = watch::channel(Progress {
            state,
            connection: None,
            failures: 0,
            failed_at: Instant::now(),
            wanted: false,
            announces: false,
            told: false,
            marks: 0,
            listed: None,
            refusal: None,
        });
        Self {
            progress,
            bell: Notify::new(),
            shelf: Shelf::default(),
        }
    }

    /// Looks at the facts; they must not be held across an await.
    pub(crate) fn look(&self) -> watch::Ref<'_, Progress> {
        self.progress.borrow()
    }

    /// Changes the facts and wakes all who wait.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_modify(change);
    }

    /// Makes the listing stale without waking anybody: the next caller asks for another.
    pub(crate) fn mark_stale(&self) {
        self.progress.send_if_modified(|progress| {
            progress.marks += 1;
            false
        });
    }

    /// Makes the listing stale after a call that may have changed the server's tools, where
    /// the server would not say so itself.
    pub(crate) fn mark_stale_unless_announced(&self) {
        self.progress.send_if_modified(|progress| {
            progress.marks += u64::from(!progress.announces);
            false
        });
    }

    /// A listing begins that will cover the mark given back.
    pub(crate) fn begin_listing(&self) -> u64 {
        let mut mark = 0;
        self.progress.send_if_modified(|progress| {
            progress.wanted = false;
            progress.told = false;
            mark = progress.marks;
            false
        });
        mark
    }

    /// Whether somebody waits for the task to act; asking answers it.
    pub(crate) fn take_wanted(&self) -> bool {
        let mut wanted = false;
        self.progress.send_if_modified(|progress| {
            wanted = std::mem::take(&mut progress.wanted);
            false
        });
        wanted
    }

    /// Makes the listing stale and has it renewed right away.
    pub(crate) fn announce_change(&self) {
        self.mark_stale();
        self.progress.send_if_modified(|progress| {
            progress.told = true;
            false
        });
        self.bell.notify_one();
    }

    /// Tells whether changes are announced from now on. Those of before may have been missed.
    pub(crate) fn set_announces(&self, announces: bool) {
        self.change(|progress| progress.announces = announces);
        if announces {
            self.announce_change();
        }
    }

    /// Waits until what is needed is there.
    ///
    /// Nothing is lost if the future is dropped: it only watches.
    pub(crate) async fn wait(&self, need: Need, deadline: Instant) -> Result<Live, CallError> {
        if let Some(live) = self.look().current(need) {
            return Ok(live);
        }
        let started = Instant::now();
        let mut watcher = self.progress.subscribe();
        let mut wait = Wait {
            need,
            required: None,
            failures_seen: None,
        };
        loop {
            watcher.mark_unchanged();
            let mut verdict = Verdict::Wait { ring: false };
            self.progress.send_if_modified(|progress| {
                verdict = wait.judge(progress);
                false
            });
            match verdict {
                Verdict::Met(live) => return Ok(live),
                Verdict::Refused(error) => return Err(error),
                Verdict::Wait { ring } => {
                    if ring {
                        self.bell.notify_one();
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
        let mut watcher = self.progress.subscribe();
        // The sender lives as long as the board does, so this ends with the state.
        let _ = watcher
            .wait_for(|progress| progress.state == State::Stopped)
            .await;
    }
}

// === impl Progress ===

impl Progress {
    /// What is needed, if it is there already; the path nearly every call takes.
    fn current(&self, need: Need) -> Option<Live> {
        let live = self.connection.as_ref()?;
        let is_met = match need {
            Need::ConnectionAfter(number) => live.number > number,
            Need::Listing => self.is_listing_current(),
        };
        is_met.then(|| live.clone())
    }

    fn is_listing_current(&self) -> bool {
        self.listed.is_some_and(|listed| {
            listed.covers >= self.marks
                && (self.announces || listed.at.elapsed() < listed.believed_for)
        })
    }

    /// Whether something happened that no listing covers yet, nor failed to.
    pub(crate) fn has_news(&self) -> bool {
        let covered = self.listed.map_or(0, |listed| listed.covers);
        let refused = self.refusal.as_ref().map_or(0, |(mark, _)| *mark);
        self.marks > covered.max(refused)
    }

    /// Whether the last listing failed and none came after.
    pub(crate) fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// A listing that began at the mark is known to the observer.
    pub(crate) fn set_listed(&mut self, covers: u64, time_to_live: Option<Duration>) {
        self.listed = Some(Listed {
            covers,
            at: Instant::now(),
            believed_for: time_to_live.map_or(BELIEVED_FOR, |time| time.min(BELIEVED_AT_MOST)),
        });
        self.refusal = None;
        self.wanted &= self.has_news();
    }

    /// A listing that began at the mark failed.
    pub(crate) fn set_refused(&mut self, mark: u64, error: CallError) {
        self.refusal = Some((mark, error));
        self.wanted &= self.has_news();
    }

    /// The upstream failed, or was lost.
    pub(crate) fn set_failed(&mut self, state: State) {
        self.state = state;
        self.connection = None;
        self.failures += 1;
        self.failed_at = Instant::now();
    }
}

// === impl Wait ===

impl Wait {
    fn judge(&mut self, progress: &mut Progress) -> Verdict {
        match &progress.state {
            State::Ready { .. } => self.judge_ready(progress),
            State::Starting => Verdict::Wait { ring: false },
            State::Idle => {
                progress.wanted = true;
                Verdict::Wait { ring: true }
            }
            State::Failed { reason, .. } => {
                let is_old = progress.failed_at.elapsed() >= FAILURE_STANDS_FOR;
                match self.failures_seen {
                    // Our own attempt is still to come.
                    Some(seen) if seen == progress.failures => Verdict::Wait { ring: true },
                    None if is_old => {
                        self.failures_seen = Some(progress.failures);
                        progress.wanted = true;
                        Verdict::Wait { ring: true }
                    }
                    _ => Verdict::Refused(CallError::Unavailable {
                        reason: Arc::clone(reason),
                    }),
                }
            }
            State::Stopped => Verdict::Refused(CallError::unavailable("the server is stopped")),
        }
    }

    fn judge_ready(&mut self, progress: &mut Progress) -> Verdict {
        if let Need::ConnectionAfter(_) = self.need {
            return progress
                .current(self.need)
                .map_or(Verdict::Wait { ring: false }, Verdict::Met);
        }
        let Some(live) = progress.connection.clone() else {
            return Verdict::Wait { ring: false };
        };
        let required = match self.required {
            Some(required) => required,
            None if progress.is_listing_current() => return Verdict::Met(live),
            None => {
                // Stale by age, or by a mark whose listing failed: this is a new mark.
                if !progress.has_news() {
                    progress.marks += 1;
                }
                *self.required.insert(progress.marks)
            }
        };
        if progress
            .listed
            .is_some_and(|listed| listed.covers >= required)
        {
            return Verdict::Met(live);
        }
        match &progress.refusal {
            Some((mark, error)) if *mark >= required => Verdict::Refused(error.clone()),
            _ => {
                progress.wanted = true;
                Verdict::Wait { ring: true }
            }
        }
    }
}

#[cfg(test)]
mod tests;
