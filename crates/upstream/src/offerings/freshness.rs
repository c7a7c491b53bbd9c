//! Freshness of a list: the one rule for when it is too old, for tools, prompts, resources and templates.
//!
//! A list is current as long as nothing made it stale and it is no older than it is believed. Each event
//! that makes it stale begins a new epoch, and a listing that began in epoch `n` covers every epoch up to
//! `n`. So whoever asks waits for a listing that began after that, all who ask share one listing, and no
//! clock has to be compared with another.

use std::time::Duration;

use mcpproxy_wire::{ListChanges, ListedKind};
use tokio::time::Instant;

use crate::CallError;

/// Longest that is believed of a server that says how long: a tool that becomes dangerous must not
/// pass for harmless much longer, whatever was promised.
const PROMISED_AT_MOST: Duration = Duration::from_secs(10);
/// Announced changes are listed at once, but not more often than this unless somebody waits.
const UNASKED_PAUSE: Duration = Duration::from_millis(250);

/// A list that will soon be too old is tried to be renewed no more often than this.
const RENEWAL_PAUSE: Duration = Duration::from_secs(1);

/// Limits of the rule for one kind.
#[derive(Debug)]
struct Limits {
    /// Time that a list is believed of a server that does not announce changes.
    silent: Duration,
    /// Time that a list is believed of a server that does.
    announced: Duration,
    /// Least that is believed of a server that says how long.
    promised: Duration,
    /// Time for which a failure answers those who ask.
    refused: Duration,
    /// Time until a listing that failed is tried again unasked at a server that announces changes.
    retry: Duration,
}

/// Limits for tools, whose annotations decide on calls. A server may announce nothing although it declared that it
/// would, so its list is renewed while calls go on, and no decision is taken on one of more than ten seconds.
const TOOLS: Limits = Limits {
    silent: Duration::from_secs(1),
    announced: Duration::from_secs(10),
    promised: Duration::ZERO,
    refused: Duration::ZERO,
    retry: Duration::from_secs(5),
};
/// Limits for other lists, on which nothing is decided. An announcement can get lost with the stream it was on.
const OTHERS: Limits = Limits {
    silent: Duration::from_secs(5),
    announced: Duration::from_mins(1),
    promised: Duration::from_secs(5),
    refused: Duration::from_secs(5),
    retry: Duration::from_mins(1),
};
/// Limits for lists that the server did not declare: they are asked for only when it announces a change.
const UNDECLARED: Limits = Limits {
    silent: Duration::MAX,
    promised: Duration::MAX,
    refused: Duration::MAX,
    ..OTHERS
};

/// Freshness of one list of a server.
#[derive(Debug)]
pub(crate) struct ListFreshness {
    limits: &'static Limits,
    /// Whether the server announces changes.
    pub(crate) is_announced: bool,
    /// Whether it announced a change since the last listing began. Some do that without having
    /// declared before that they would.
    has_announced: bool,
    wanted: Wanted,
    /// Counts the events that made the list stale.
    epoch: u64,
    newest: Option<NewestListing>,
    refusal: Option<Refusal>,
    /// Time when a listing was last tried.
    tried_at: Instant,
}

/// Need for a listing, by who asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Nobody.
    No,
    /// Somebody who found the list current, and soon too old.
    Early,
    /// Somebody who waits for it.
    Now,
}

/// Newest listing that succeeded.
#[derive(Debug)]
struct NewestListing {
    /// Epoch in which it began.
    covers: u64,
    at: Instant,
    believed_for: Duration,
}

/// Listing that failed, with none that succeeded after it.
#[derive(Debug)]
struct Refusal {
    /// Epoch that it would have covered.
    epoch: u64,
    at: Instant,
    error: CallError,
}

impl ListFreshness {
    /// Freshness of a list that nobody has listed yet.
    pub(crate) fn of(kind: ListedKind) -> Self {
        Self {
            limits: match kind {
                ListedKind::Tool => &TOOLS,
                ListedKind::Prompt | ListedKind::Resource | ListedKind::Template => &OTHERS,
            },
            is_announced: false,
            has_announced: false,
            wanted: Wanted::No,
            epoch: 0,
            newest: None,
            refusal: None,
            tried_at: Instant::now(),
        }
    }

    /// Begins a connection on which the server declares this of the list, but for tools.
    pub(crate) fn declare(&mut self, changes: Option<ListChanges>) {
        self.limits = changes.map_or(&UNDECLARED, |_| &OTHERS);
        self.is_announced = changes == Some(ListChanges::Announced);
        self.mark_stale();
    }

    /// Whether the list may be believed; the one decision that it is not too old.
    pub(crate) fn is_current(&self) -> bool {
        self.newest.as_ref().is_some_and(|newest| {
            let believed_for = if self.is_announced {
                self.limits.announced
            } else {
                newest.believed_for
            };
            newest.covers >= self.epoch
                && (believed_for == Duration::MAX || newest.at.elapsed() < believed_for)
        })
    }

    /// Whether a current list will soon be too old, and nobody has just tried to list it.
    pub(crate) fn is_aging(&self) -> bool {
        self.is_announced
            && self.wanted == Wanted::No
            && self.newest.as_ref().is_some_and(|newest| {
                newest.at.elapsed() >= self.limits.announced / 2
                    && self.tried_at.elapsed() >= RENEWAL_PAUSE
            })
    }

    /// Has a current list listed again, without anybody waiting for it.
    pub(crate) fn renew_early(&mut self) {
        if self.wanted == Wanted::No {
            self.wanted = Wanted::Early;
        }
    }

    /// Whether something happened that no listing covers yet, nor failed to.
    pub(crate) fn is_stale(&self) -> bool {
        let covered = self.newest.as_ref().map_or(0, |newest| newest.covers);
        let refused = self.refusal.as_ref().map_or(0, |refusal| refusal.epoch);
        self.epoch > covered.max(refused)
    }

    /// Makes the list stale; the next who asks has it listed.
    pub(crate) fn mark_stale(&mut self) {
        self.epoch += 1;
    }

    /// Makes the list stale because the server says so, and has it listed soon.
    pub(crate) fn announce(&mut self) {
        self.epoch += 1;
        self.has_announced = true;
    }

    /// Epoch that has to be covered for who asks now.
    pub(crate) fn required(&mut self) -> u64 {
        let is_refused = self
            .refusal
            .as_ref()
            .is_some_and(|refusal| refusal.at.elapsed() < self.limits.refused);
        if !self.is_current() && !self.is_stale() && !is_refused {
            // Stale by age, or by a failure that answers nobody any more.
            self.epoch += 1;
        }
        self.epoch
    }

    /// Outcome for who requires an epoch; nothing as long as it is open.
    pub(crate) fn outcome(&self, required: u64) -> Option<Result<(), CallError>> {
        match (&self.newest, &self.refusal) {
            (Some(newest), _) if newest.covers >= required => Some(Ok(())),
            (_, Some(refusal)) if refusal.epoch >= required => Some(Err(refusal.error.clone())),
            _ => None,
        }
    }

    /// Has a list that is not current listed, without waiting for it; tells whether that is due.
    pub(crate) fn renew(&mut self) -> bool {
        let required = self.required();
        if self.outcome(required).is_none() {
            self.wanted = Wanted::Now;
        }
        self.wanted != Wanted::No
    }

    /// Time when it has to be listed, if at all.
    pub(crate) fn due(&self) -> Option<Instant> {
        if self.wanted == Wanted::Early {
            return Some(Instant::now());
        }
        if !self.is_stale() {
            let refusal = self.refusal.as_ref().filter(|_| self.is_announced)?;
            return Some(refusal.at + self.limits.retry);
        }
        if self.wanted == Wanted::Now {
            return Some(Instant::now());
        }
        (self.is_announced || self.has_announced).then(|| self.tried_at + UNASKED_PAUSE)
    }

    /// Begins a listing, which will cover the epoch given back.
    pub(crate) fn begin(&mut self) -> u64 {
        self.wanted = Wanted::No;
        self.has_announced = false;
        self.tried_at = Instant::now();
        self.epoch
    }

    /// Takes a listing that began in the epoch and is known to the observer.
    pub(crate) fn set_listed(&mut self, covers: u64, time_to_live: Option<Duration>) {
        let Limits {
            silent, promised, ..
        } = *self.limits;
        let believed_for =
            time_to_live.map_or(silent, |time| time.min(PROMISED_AT_MOST).max(promised));
        let at = Instant::now();
        self.tried_at = at;
        self.newest = Some(NewestListing {
            covers,
            at,
            believed_for,
        });
        self.refusal = None;
        self.keep_wanted();
    }

    /// A listing has ended; only who waits for a later one still wants one.
    fn keep_wanted(&mut self) {
        if self.wanted == Wanted::Early || !self.is_stale() {
            self.wanted = Wanted::No;
        }
    }

    /// Takes the failure of a listing that began in the epoch; tells whether it is another than before.
    pub(crate) fn set_refused(&mut self, epoch: u64, error: CallError) -> bool {
        let at = Instant::now();
        self.tried_at = at;
        let refusal = Refusal { epoch, at, error };
        let before = self.refusal.replace(refusal);
        self.keep_wanted();
        before.map(|before| before.error) != self.refusal.as_ref().map(|now| now.error.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ListedKind; 2] = [ListedKind::Tool, ListedKind::Prompt];

    /// Freshness of a list that covers all epochs.
    fn listed(kind: ListedKind, is_announced: bool) -> ListFreshness {
        let mut freshness = ListFreshness::of(kind);
        freshness.is_announced = is_announced;
        list(&mut freshness, None);
        freshness
    }

    fn list(freshness: &mut ListFreshness, time_to_live: Option<Duration>) {
        let epoch = freshness.begin();
        freshness.set_listed(epoch, time_to_live);
    }

    fn at_once(freshness: &mut ListFreshness) -> Option<Result<(), CallError>> {
        let required = freshness.required();
        freshness.outcome(required)
    }

    #[tokio::test(start_paused = true)]
    async fn lists_are_believed_as_long_as_the_limits_say() {
        let forever = Duration::from_hours(24);
        let second = Duration::from_secs(1);
        for (kind, is_announced, promised, believed_for) in [
            (ListedKind::Tool, false, None, second),
            (ListedKind::Tool, true, None, 10 * second),
            (ListedKind::Tool, false, Some(second / 2), second / 2),
            (ListedKind::Tool, false, Some(3 * second), 3 * second),
            (ListedKind::Tool, false, Some(Duration::MAX), 10 * second),
            (ListedKind::Prompt, false, None, 5 * second),
            (ListedKind::Prompt, true, None, 60 * second),
            (ListedKind::Prompt, false, Some(second), 5 * second),
            (ListedKind::Prompt, false, Some(forever), 10 * second),
        ] {
            let mut freshness = listed(kind, is_announced);
            list(&mut freshness, promised);
            let moment = Duration::from_millis(1);
            tokio::time::advance(believed_for.saturating_sub(moment)).await;
            assert_eq!(
                at_once(&mut freshness),
                Some(Ok(())),
                "{kind:?} {promised:?}"
            );
            tokio::time::advance(moment).await;
            let is_old = at_once(&mut freshness).is_none();
            assert_eq!(is_old, believed_for != forever, "{kind:?} {promised:?}");
        }
        let mut promised_nothing = listed(ListedKind::Tool, false);
        list(&mut promised_nothing, Some(Duration::ZERO));
        assert_eq!(at_once(&mut promised_nothing), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_will_soon_be_too_old_is_renewed_while_it_is_believed() {
        let second = Duration::from_secs(1);
        let mut freshness = listed(ListedKind::Tool, true);
        tokio::time::advance(4 * second).await;
        assert!(!freshness.is_aging());
        tokio::time::advance(second).await;
        assert!(freshness.is_aging() && freshness.is_current());
        assert_eq!(freshness.due(), None, "nobody calls");
        freshness.renew_early();
        assert_eq!(freshness.due(), Some(Instant::now()));
        assert_eq!(at_once(&mut freshness), Some(Ok(())), "nobody waits");
        let epoch = freshness.begin();
        assert!(!freshness.is_aging(), "it is under way");
        tokio::time::advance(second).await;
        freshness.renew_early();
        freshness.set_listed(epoch, None);
        assert!(!freshness.is_aging() && freshness.due().is_none());
        tokio::time::advance(9 * second).await;
        let (epoch, no) = (freshness.begin(), CallError::unavailable("no"));
        freshness.set_refused(epoch, no);
        assert_eq!(
            at_once(&mut freshness),
            Some(Ok(())),
            "it is still believed"
        );
        tokio::time::advance(second).await;
        assert_eq!(at_once(&mut freshness), None, "it is too old now");
        assert!(!listed(ListedKind::Tool, false).is_aging());
    }

    #[tokio::test(start_paused = true)]
    async fn a_listing_that_began_before_a_mark_does_not_cover_it() {
        for kind in KINDS {
            let mut freshness = listed(kind, true);
            let epoch = freshness.begin();
            freshness.announce();
            freshness.set_listed(epoch, None);
            assert!(freshness.is_stale());
            assert_eq!(at_once(&mut freshness), None);
            list(&mut freshness, None);
            assert_eq!(at_once(&mut freshness), Some(Ok(())));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_answers_who_waits_and_for_a_while_who_asks_later() {
        for kind in KINDS {
            let mut freshness = listed(kind, true);
            freshness.mark_stale();
            let required = freshness.required();
            let epoch = freshness.begin();
            let no = CallError::unavailable("no");
            assert!(freshness.set_refused(epoch, no.clone()));
            assert_eq!(freshness.outcome(required), Some(Err(no.clone())));
            assert!(!freshness.is_stale());
            let later = at_once(&mut freshness);
            assert_eq!(later.is_some(), kind == ListedKind::Prompt, "{kind:?}");
            tokio::time::advance(OTHERS.refused).await;
            assert_eq!(at_once(&mut freshness), None, "it is tried again");
            assert!(freshness.renew() && freshness.due().is_some());
            let epoch = freshness.begin();
            assert!(!freshness.set_refused(epoch, no), "it is the same failure");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_listed_at_once_for_who_asks_and_soon_for_who_announces() {
        for kind in KINDS {
            let mut freshness = listed(kind, false);
            freshness.mark_stale();
            assert_eq!(freshness.due(), None, "nobody asks");
            assert!(freshness.renew());
            assert_eq!(freshness.due(), Some(Instant::now()));
            list(&mut freshness, None);
            assert_eq!(freshness.due(), None);
            freshness.announce();
            assert_eq!(freshness.due(), Some(Instant::now() + UNASKED_PAUSE));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_server_did_not_declare_is_listed_when_it_announces_it_and_is_never_old() {
        let day = Duration::from_hours(24);
        let mut freshness = ListFreshness::of(ListedKind::Prompt);
        assert_eq!(at_once(&mut freshness), None, "nothing is known");
        freshness.declare(None);
        for _ in 0..2 {
            list(&mut freshness, None);
            tokio::time::advance(day).await;
            assert_eq!(at_once(&mut freshness), Some(Ok(())));
            assert!(!freshness.renew() && freshness.due().is_none());
            freshness.announce();
            assert!(freshness.due().is_some());
        }
        let (epoch, no) = (freshness.begin(), CallError::unavailable("no"));
        freshness.set_refused(epoch, no.clone());
        tokio::time::advance(day).await;
        assert_eq!(at_once(&mut freshness), Some(Err(no)));
        assert!(!freshness.renew() && freshness.due().is_none());
    }
}
