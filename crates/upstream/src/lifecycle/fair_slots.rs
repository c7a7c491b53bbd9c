//! Slots of a server, shared fairly by its callers.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use mcpproxy_policy::{Caller, LimitKey};
use tokio::sync::oneshot;

use crate::lock;

/// Slots for the calls that a server gets at the same time.
///
/// A caller that is alone may have all of them. While others wait, a slot that gets free goes to the caller that has
/// the fewest. So nobody gets a further one who has half of them, and a caller with a thousand calls waiting is before
/// nobody who waits with one.
#[derive(Debug)]
pub(crate) struct FairSlots {
    count: usize,
    table: Mutex<SlotTable>,
    hasher: RandomState,
}

/// Slots of each caller. Nobody waits while a slot is free.
#[derive(Debug, Default)]
struct SlotTable {
    taken: usize,
    waiting: usize,
    next_number: u64,
    /// Callers that have a slot or wait for one, by the hash of their key.
    callers: HashMap<u64, CallerSlots>,
}

/// Slots of one caller.
#[derive(Debug, Default)]
struct CallerSlots {
    held: usize,
    /// Calls that wait, in the order they came.
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
}

/// Slot that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldSlot<'a> {
    slots: &'a FairSlots,
    caller: u64,
}

/// Call that waits for a slot until this is dropped.
struct WaitingCall<'a> {
    slots: &'a FairSlots,
    caller: u64,
    number: u64,
    is_granted: bool,
}

// === impl FairSlots ===

impl FairSlots {
    /// Slots, so many of them, and at least one.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            count: count.max(1),
            table: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// Waits for a slot.
    pub(crate) async fn acquire(&self, caller: &Caller) -> HeldSlot<'_> {
        let caller = self.hasher.hash_one(share_key(caller));
        let (number, granted) = {
            let mut table = lock(&self.table);
            if table.taken < self.count {
                table.take(caller);
                return HeldSlot {
                    slots: self,
                    caller,
                };
            }
            table.wait(caller)
        };
        let mut waiting = WaitingCall {
            slots: self,
            caller,
            number,
            is_granted: false,
        };
        // The sender is dropped only after it was used.
        let _ = granted.await;
        waiting.is_granted = true;
        HeldSlot {
            slots: self,
            caller,
        }
    }

    /// Whether no slot is taken, so that nobody waits for one either.
    pub(crate) fn is_unused(&self) -> bool {
        lock(&self.table).taken == 0
    }

    /// Gives a slot back, to the next who waits.
    fn release(&self, caller: u64) {
        let next = lock(&self.table).release(caller);
        if let Some(next) = next {
            // A call that is given up in this moment gives the slot back itself.
            let _ = next.send(());
        }
    }
}

/// Key of a caller among those that share the slots: as limits count it, but for sessions without a credential, which
/// are told apart. Else all agents of one machine would be one caller, and wait for each other.
fn share_key(caller: &Caller) -> (LimitKey, Option<&str>) {
    match caller.limit_key() {
        key @ (LimitKey::Administrator | LimitKey::Token(_)) => (key, None),
        key @ (LimitKey::Peer(_) | LimitKey::Local) => (key, caller.session_id.as_deref()),
    }
}

impl Drop for HeldSlot<'_> {
    fn drop(&mut self) {
        self.slots.release(self.caller);
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        if self.is_granted {
            return;
        }
        let was_waiting = lock(&self.slots.table).leave(self.caller, self.number);
        if !was_waiting {
            self.slots.release(self.caller);
        }
    }
}

// === impl SlotTable ===

impl SlotTable {
    fn take(&mut self, caller: u64) {
        self.taken += 1;
        self.callers.entry(caller).or_default().held += 1;
    }

    fn wait(&mut self, caller: u64) -> (u64, oneshot::Receiver<()>) {
        let (granted, receiver) = oneshot::channel();
        let number = self.next_number;
        self.next_number += 1;
        self.waiting += 1;
        let slots = self.callers.entry(caller).or_default();
        slots.waiting.insert(number, granted);
        (number, receiver)
    }

    /// Takes a call out that does not wait any more; false if it has got its slot.
    fn leave(&mut self, caller: u64, number: u64) -> bool {
        let slots = self.callers.get_mut(&caller);
        let left = slots.and_then(|slots| slots.waiting.remove(&number));
        self.waiting -= usize::from(left.is_some());
        self.forget_unused(caller);
        left.is_some()
    }

    /// Takes a slot back; gives the call that has it now, if one waits.
    fn release(&mut self, caller: u64) -> Option<oneshot::Sender<()>> {
        self.taken -= 1;
        if let Some(slots) = self.callers.get_mut(&caller) {
            slots.held -= 1;
        }
        self.forget_unused(caller);
        if self.waiting == 0 {
            return None;
        }
        let waiting = self.callers.iter().filter_map(|(caller, slots)| {
            let (first, _) = slots.waiting.first_key_value()?;
            Some((slots.held, *first, *caller))
        });
        let (_, _, next) = waiting.min()?;
        let (_, granted) = self.callers.get_mut(&next)?.waiting.pop_first()?;
        self.waiting -= 1;
        self.take(next);
        Some(granted)
    }

    /// Forgets a caller that has no slot and waits for none, so that there are never more of them than calls.
    fn forget_unused(&mut self, caller: u64) {
        let slots = self.callers.get(&caller);
        if slots.is_some_and(|slots| slots.held == 0 && slots.waiting.is_empty()) {
            self.callers.remove(&caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Acquiring<'a> = Pin<Box<dyn Future<Output = HeldSlot<'a>> + 'a>>;

    fn agent(name: &str) -> Caller {
        Caller {
            session_id: Some(name.to_owned()),
            ..Caller::default()
        }
    }

    /// Calls of an agent that were made one after the other.
    fn calls<'a>(slots: &'a FairSlots, agent: &'a Caller, count: usize) -> Vec<Acquiring<'a>> {
        let mut calls = Vec::new();
        for _ in 0..count {
            let mut call: Acquiring<'a> = Box::pin(slots.acquire(agent));
            if let Some(slot) = poll(&mut call) {
                call = Box::pin(std::future::ready(slot));
            }
            calls.push(call);
        }
        calls
    }

    fn poll<'a>(call: &mut Acquiring<'a>) -> Option<HeldSlot<'a>> {
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(slot) => Some(slot),
            Poll::Pending => None,
        }
    }

    /// Slots that calls got so far; those without stay among the calls.
    fn granted<'a>(calls: &mut Vec<Acquiring<'a>>) -> Vec<HeldSlot<'a>> {
        let mut slots = Vec::new();
        calls.retain_mut(|call| match poll(call) {
            Some(slot) => {
                slots.push(slot);
                false
            }
            None => true,
        });
        slots
    }

    #[test]
    fn one_agents_slow_calls_came_before_those_of_all_others() {
        let slots = FairSlots::new(4);
        let (one, other) = (agent("one"), agent("other"));
        let mut of_one = calls(&slots, &one, 100);
        let mut held = granted(&mut of_one);
        assert_eq!(held.len(), 4, "a caller that is alone has them all");
        let mut of_other = calls(&slots, &other, 100);
        assert!(granted(&mut of_other).is_empty());

        let mut of_others = Vec::new();
        for _ in 0..2 {
            held.pop();
            assert!(granted(&mut of_one).is_empty());
            of_others.extend(granted(&mut of_other));
        }
        assert_eq!((held.len(), of_others.len()), (2, 2), "half each");
        // From here on each gets back what it gave, however often.
        for _ in 0..50 {
            held.pop();
            held.extend(granted(&mut of_one));
            of_others.pop();
            of_others.extend(granted(&mut of_other));
            assert_eq!((held.len(), of_others.len()), (2, 2));
        }
        drop(of_other);
        drop(of_others);
        held.extend(granted(&mut of_one));
        assert_eq!(held.len(), 4, "alone again");
    }

    #[test]
    fn nobody_with_half_of_the_slots_gets_another_while_others_wait() {
        for count in 1..=9 {
            let slots = FairSlots::new(count);
            let agents = [agent("a"), agent("b"), agent("c")];
            let mut waiting = agents.each_ref().map(|agent| calls(&slots, agent, 30));
            let mut held = waiting.each_mut().map(granted);
            let half = count.div_ceil(2);
            let mut turn = 0;
            while waiting.iter().all(|calls| !calls.is_empty()) {
                // Whoever has the most gives one back.
                turn += 1;
                let most = (0..3).max_by_key(|at| (held[*at].len(), (at + turn) % 3));
                held[most.expect("there are agents")].pop();
                for at in 0..3 {
                    let before = held[at].len();
                    held[at].extend(granted(&mut waiting[at]));
                    let is_more = held[at].len() > before;
                    assert!(!is_more || held[at].len() <= half, "{count}: {held:?}");
                }
                assert_eq!(held.iter().map(Vec::len).sum::<usize>(), count);
            }
        }
    }

    #[test]
    fn a_call_that_is_given_up_keeps_no_slot_and_no_place() {
        let slots = FairSlots::new(1);
        let (one, other) = (agent("one"), agent("other"));
        let mut first = calls(&slots, &one, 1);
        let first = granted(&mut first);
        let mut waiting = calls(&slots, &other, 2);
        // The first of them is given up while it waits, the second when the slot is on its way.
        drop(waiting.remove(0));
        drop(first);
        drop(waiting);
        assert!(slots.is_unused());
        let table = lock(&slots.table);
        assert!(table.callers.is_empty() && table.waiting == 0, "{table:?}");
        drop(table);
        assert_eq!(granted(&mut calls(&slots, &one, 2)).len(), 1);
    }
}
