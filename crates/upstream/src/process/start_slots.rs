//! Slots for the programs that start at the same time.
//!
//! A machine on which all servers start together starts none of them: each gets a share of the processor that is too
//! small to be ready in time. Waiting for a slot counts as no part of a start.
//!
//! Servers that are busy for long must not starve the others: a start that has had its slot for a while gives it to one
//! that waits, and a server that somebody calls gets one beyond the limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::lock;

/// Fewest and most slots where the operator does not say how many.
const FEWEST: usize = 4;
const MOST: usize = 16;

/// Slots of all servers of one gateway.
#[derive(Debug)]
pub(crate) struct StartSlots(Mutex<StartTable>);

/// Slots that are held, and servers that wait for one. Nobody waits while a slot is free. Overdue servers may hold as
/// many slots again as the limit, so that whoever calls everything at once does not start everything at once.
#[derive(Debug)]
struct StartTable {
    limit: usize,
    held: usize,
    next_number: u64,
    /// Servers that wait, the next one first.
    waiting: BTreeMap<QueuePlace, oneshot::Sender<()>>,
}

/// Place in the queue: the more urgent come first, and those that are alike in the order they came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueuePlace {
    urgency: Urgency,
    number: u64,
}

/// Urgency of a start, the greatest first. A call has a deadline, and a server that nobody calls has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// Somebody has called for so long that it gets a slot beyond the limit.
    Overdue,
    Called,
    Uncalled,
}

/// Slot that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct StartSlot {
    slots: Arc<StartSlots>,
    since: Instant,
}

/// Server that waits for a slot until this is dropped.
#[derive(Debug)]
pub(crate) struct QueuedStart {
    slots: Arc<StartSlots>,
    place: QueuePlace,
    granted: oneshot::Receiver<()>,
    is_taken: bool,
}

// === impl StartSlots ===

impl StartSlots {
    /// Slots, as many as this machine can do with.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(StartTable {
            limit: usual_limit(available_parallelism().map_or(1, Into::into)),
            held: 0,
            next_number: 0,
            waiting: BTreeMap::new(),
        }))
    }

    /// Sets how many starts there may be at once; nothing for what this machine can do with. Starts that are under way
    /// go on.
    pub(crate) fn set_limit(&self, limit: Option<usize>) {
        let usual = || usual_limit(available_parallelism().map_or(1, Into::into));
        let mut table = lock(&self.0);
        table.limit = limit.unwrap_or_else(usual).max(1);
        table.grant();
    }

    /// Puts a server at the end of the queue.
    pub(crate) fn enter(self: &Arc<Self>) -> QueuedStart {
        let (grant, granted) = oneshot::channel();
        let mut table = lock(&self.0);
        let place = QueuePlace {
            urgency: Urgency::Uncalled,
            number: table.next_number,
        };
        table.next_number += 1;
        table.waiting.insert(place, grant);
        table.grant();
        QueuedStart {
            slots: Arc::clone(self),
            place,
            granted,
            is_taken: false,
        }
    }

    fn release(&self) {
        let mut table = lock(&self.0);
        table.held -= 1;
        table.grant();
    }
}

/// Number of slots on a machine of so many cores.
fn usual_limit(cores: usize) -> usize {
    cores.saturating_mul(2).clamp(FEWEST, MOST)
}

// === impl StartSlot ===

impl StartSlot {
    /// Whether it was held for so long, and others wait for one.
    pub(crate) fn is_wanted_back(&self, after: Duration) -> bool {
        self.since.elapsed() >= after && !lock(&self.slots.0).waiting.is_empty()
    }
}

impl Drop for StartSlot {
    fn drop(&mut self) {
        self.slots.release();
    }
}

// === impl QueuedStart ===

impl QueuedStart {
    /// Slot, if it is there already.
    pub(crate) fn take_at_once(&mut self) -> Option<StartSlot> {
        let is_granted = self.granted.try_recv().is_ok();
        is_granted.then(|| self.take())
    }

    /// Waits for the slot. Nothing is lost if the future is dropped.
    pub(crate) async fn slot(&mut self) -> StartSlot {
        // The sender is dropped only after it was used.
        let _ = (&mut self.granted).await;
        self.take()
    }

    /// Goes before all servers that nobody calls.
    pub(crate) fn go_first(&mut self) {
        self.be_at_least(Urgency::Called);
    }

    /// Goes before all others, and beyond the limit if need be.
    pub(crate) fn go_beyond_the_limit(&mut self) {
        self.be_at_least(Urgency::Overdue);
    }

    fn be_at_least(&mut self, urgency: Urgency) {
        let mut table = lock(&self.slots.0);
        if let Some(grant) = table.waiting.remove(&self.place) {
            self.place.urgency = self.place.urgency.min(urgency);
            table.waiting.insert(self.place, grant);
            table.grant();
        }
    }

    fn take(&mut self) -> StartSlot {
        self.is_taken = true;
        StartSlot {
            slots: Arc::clone(&self.slots),
            since: Instant::now(),
        }
    }
}

impl Drop for QueuedStart {
    fn drop(&mut self) {
        if self.is_taken {
            return;
        }
        let was_waiting = lock(&self.slots.0).waiting.remove(&self.place).is_some();
        if !was_waiting {
            self.slots.release();
        }
    }
}

// === impl StartTable ===

impl StartTable {
    /// Gives every free slot to the next who waits.
    fn grant(&mut self) {
        while let Some(next) = self.waiting.first_entry() {
            let slots = match next.key().urgency {
                Urgency::Overdue => self.limit.saturating_mul(2),
                Urgency::Called | Urgency::Uncalled => self.limit,
            };
            if self.held >= slots {
                return;
            }
            self.held += 1;
            // One that is given up in this moment gives the slot back itself.
            let _ = next.remove().send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(limit: usize) -> Arc<StartSlots> {
        let slots = Arc::new(StartSlots::new());
        slots.set_limit(Some(limit));
        slots
    }

    #[test]
    fn a_machine_starts_twice_as_many_servers_as_it_has_cores_within_bounds() {
        for (cores, expected) in [(1, 4), (2, 4), (3, 6), (8, 16), (64, 16), (usize::MAX, 16)] {
            assert_eq!(usual_limit(cores), expected, "{cores}");
        }
    }

    #[test]
    fn servers_start_in_the_order_they_came_and_called_ones_first() {
        let slots = slots(1);
        let first = slots.enter().take_at_once().expect("it is alone");
        let mut queued: Vec<QueuedStart> = (0..4).map(|_| slots.enter()).collect();
        queued[2].go_first();
        queued[3].go_first();
        let mut order = Vec::new();
        let mut held = Some(first);
        while order.len() < queued.len() {
            drop(held.take());
            for (number, one) in queued.iter_mut().enumerate() {
                if let Some(slot) = one.take_at_once() {
                    assert!(held.is_none(), "one at a time");
                    held = Some(slot);
                    order.push(number);
                }
            }
        }
        assert_eq!(order, [2, 3, 0, 1]);
    }

    #[test]
    fn servers_that_are_called_for_long_get_slots_beyond_the_limit_and_only_so_many() {
        let slots = slots(2);
        let mut busy: Vec<QueuedStart> = (0..2).map(|_| slots.enter()).collect();
        let mut held: Vec<StartSlot> = busy
            .iter_mut()
            .filter_map(QueuedStart::take_at_once)
            .collect();
        let mut called: Vec<QueuedStart> = (0..4).map(|_| slots.enter()).collect();
        for one in &mut called {
            one.go_first();
        }
        let mut take = || -> Vec<StartSlot> {
            let taken = called.iter_mut().filter_map(QueuedStart::take_at_once);
            taken.collect()
        };
        assert!(take().is_empty(), "the slots are held");
        called.iter_mut().for_each(QueuedStart::go_beyond_the_limit);
        let mut take = || -> Vec<StartSlot> {
            let taken = called.iter_mut().filter_map(QueuedStart::take_at_once);
            taken.collect()
        };
        held.extend(take());
        assert_eq!(held.len(), 4, "as many again");
        held.pop();
        held.extend(take());
        assert_eq!(held.len(), 4);
        let mut uncalled = slots.enter();
        held.truncate(2);
        assert_eq!(take().len(), 1);
        assert!(
            uncalled.take_at_once().is_none(),
            "the limit is for the others"
        );
        held.clear();
        assert!(uncalled.take_at_once().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_wanted_back_after_a_time_and_as_long_as_others_wait() {
        let after = Duration::from_secs(15);
        let slots = slots(1);
        let slot = slots.enter().take_at_once().expect("it is alone");
        let waiting = slots.enter();
        assert!(!slot.is_wanted_back(after), "it has just begun");
        tokio::time::advance(after).await;
        assert!(slot.is_wanted_back(after));
        drop(waiting);
        assert!(!slot.is_wanted_back(after), "nobody waits");
    }

    #[test]
    fn a_limit_that_changes_holds_from_then_on() {
        let slots = slots(2);
        let mut queued: Vec<QueuedStart> = (0..5).map(|_| slots.enter()).collect();
        let take = |queued: &mut Vec<QueuedStart>| -> Vec<StartSlot> {
            let taken = queued.iter_mut().filter_map(QueuedStart::take_at_once);
            taken.collect()
        };
        let mut held = take(&mut queued);
        assert_eq!(held.len(), 2);
        slots.set_limit(Some(3));
        held.extend(take(&mut queued));
        assert_eq!(held.len(), 3);
        slots.set_limit(Some(1));
        held.truncate(1);
        assert!(take(&mut queued).is_empty(), "one is still held");
        held.clear();
        assert_eq!(take(&mut queued).len(), 1);
    }

    #[test]
    fn a_server_that_is_given_up_holds_nobody_up() {
        let slots = slots(1);
        let granted = slots.enter();
        let waiting = slots.enter();
        let mut last = slots.enter();
        drop(waiting);
        drop(granted);
        assert!(last.take_at_once().is_some());
        assert_eq!(lock(&slots.0).waiting.len(), 0);
    }
}
