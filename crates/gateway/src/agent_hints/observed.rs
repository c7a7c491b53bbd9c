//! Observations of calls of tools: how often they worked, how long they took, and what the
//! same caller did next.
//!
//! It keeps counts, never arguments or results. It reads no clock and asks nobody, and what it
//! holds is bounded whatever is called.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// Most tools that are remembered. Catalogs may be larger, but few of their tools are called.
const MOST_TOOLS: usize = 4_096;

/// Most tools of which it is remembered that they followed another one. An agent is shown
/// the first few.
const MOST_FOLLOWERS: usize = 16;

/// Most callers whose last call is remembered.
const MOST_CALLERS: usize = 4_096;

/// Time after a call in which the next one still has to do with it.
const FOLLOWS_WITHIN: Duration = Duration::from_mins(10);

/// Number of calls after which all counts are halved, so that what happened lately counts for more.
const FORGETTING_AFTER: u64 = 512;

/// Number of response times that are kept of a tool: enough for the slowest in twenty.
const TIMES_KEPT: usize = 64;

/// Factor of its slowest call that a tool is waited for: a busy machine is no failure.
const TIME_LIMIT_FACTOR: u32 = 20;

/// Time that a tool is waited for, however fast it is.
const LEAST_TIME_LIMIT: Duration = Duration::from_secs(5);

/// Observations of all tools.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    tools: HashMap<Arc<str>, ObservedTool>,
    /// Tool and time of the last call of each caller.
    callers: HashMap<Box<str>, (Arc<str>, Timestamp)>,
}

/// Call that was made, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct ObservedCall<'a> {
    /// Caller; nothing if nobody can tell which calls are of the same caller.
    pub(crate) caller: Option<Cow<'a, str>>,
    /// `server:tool`, with the group of callers that it is observed for in front of a line break.
    pub(crate) tool: Cow<'a, str>,
    /// Whether the tool did what was asked.
    pub(crate) succeeded: bool,
    /// Time that the tool took.
    pub(crate) took: Duration,
    /// Time of the call.
    pub(crate) at: Timestamp,
}

/// Observation of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Observation {
    /// Number of calls that were seen, of those that are not forgotten.
    pub(crate) calls: u64,
    /// Number of them that worked.
    pub(crate) successes: u64,
    /// Number of times that the same caller called another tool afterwards.
    pub(crate) continued: u64,
    /// Tools that were called then, those that worked most often first.
    pub(crate) followers: Vec<Follower>,
    /// Time of the call before its last one.
    pub(crate) called_before: Option<Timestamp>,
    /// Durations of the latest calls.
    pub(super) times: VecDeque<Duration>,
}

/// Tool that was called after another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Follower {
    /// `server:tool`.
    pub(crate) tool: Arc<str>,
    /// Number of times that it was the next one.
    pub(crate) followed: u64,
    /// Number of times that it worked then.
    pub(crate) succeeded: u64,
    /// Time that half of its calls take at most; looked up when somebody asks for it.
    pub(crate) median: Option<Duration>,
}

#[derive(Debug)]
struct ObservedTool {
    name: Arc<str>,
    seen: Observation,
    at: Timestamp,
    /// Number of times that anything was learned about it, which is never halved.
    revision: u64,
}

// === impl Observed ===

impl Observed {
    /// Learns from a call. It tells how often something was learned about its tool.
    pub(crate) fn learn(&mut self, call: &ObservedCall<'_>) -> u64 {
        let name = self.remember(call);
        self.follow(call, &name);
        self.tools.get(&name).map_or(0, |tool| tool.revision)
    }

    /// Learns from calls that were made before the first one that was seen, oldest first.
    pub(crate) fn learn_past<'a>(&mut self, calls: impl Iterator<Item = &'a ObservedCall<'a>>) {
        // What was called since follows none of them, and is what the next call follows.
        let since = std::mem::take(&mut self.callers);
        for call in calls {
            self.learn(call);
        }
        for (caller, last) in since {
            make_room(&mut self.callers, MOST_CALLERS, |(_, at)| *at);
            self.callers.insert(caller, last);
        }
    }

    /// Time to wait for a tool that has shown how long it takes: many times its slowest call.
    /// Nothing while too few calls were seen. A call that runs into it counts as a slow one, so
    /// that a tool which has become slower is waited for from then on.
    pub(crate) fn time_limit(&self, tool: &str) -> Option<Duration> {
        let times = &self.tools.get(tool)?.seen.times;
        let slowest = times.iter().max().filter(|_| times.len() >= TIMES_KEPT)?;
        Some((*slowest * TIME_LIMIT_FACTOR).max(LEAST_TIME_LIMIT))
    }

    /// Calls of a tool that did not work, of all that were seen and are not forgotten.
    pub(crate) fn broken_of_all(&self, tool: &str) -> (u64, u64) {
        let seen = self.tools.get(tool).map(|tool| &tool.seen);
        seen.map_or((0, 0), |seen| (seen.calls - seen.successes, seen.calls))
    }

    /// Observation of a tool.
    pub(crate) fn of(&self, tool: &str) -> Option<Observation> {
        let mut seen = self.tools.get(tool)?.seen.clone();
        seen.followers.sort_by(|one, other| {
            let rank = |follower: &Follower| (follower.succeeded, follower.followed);
            (rank(other).cmp(&rank(one))).then_with(|| one.tool.cmp(&other.tool))
        });
        for follower in &mut seen.followers {
            let tool = self.tools.get(&follower.tool);
            follower.median = tool.and_then(|tool| tool.seen.median());
            if let Some((_, own)) = follower.tool.rsplit_once('\n') {
                follower.tool = own.into();
            }
        }
        Some(seen)
    }

    /// Counts the call itself.
    fn remember(&mut self, call: &ObservedCall<'_>) -> Arc<str> {
        if let Some(tool) = self.tools.get_mut(&*call.tool) {
            // Calls from before the start are learned after those that were made since.
            let before = tool.seen.called_before.max(Some(tool.at.min(call.at)));
            tool.seen.called_before = before;
            tool.at = tool.at.max(call.at);
            tool.revision += 1;
            tool.seen.count(call);
            return Arc::clone(&tool.name);
        }
        make_room(&mut self.tools, MOST_TOOLS, |tool| tool.at);
        let name: Arc<str> = (*call.tool).into();
        let mut tool = ObservedTool {
            name: Arc::clone(&name),
            seen: Observation::default(),
            at: call.at,
            revision: 1,
        };
        tool.seen.count(call);
        self.tools.insert(Arc::clone(&name), tool);
        name
    }

    /// Counts the call as what followed the one before. A tool that is called again, because it
    /// is polled or leafed through, does not follow itself.
    fn follow(&mut self, call: &ObservedCall<'_>, name: &Arc<str>) {
        let Some(caller) = call.caller.as_deref() else {
            return;
        };
        let this = (Arc::clone(name), call.at);
        let Some(last) = self.callers.get_mut(caller) else {
            make_room(&mut self.callers, MOST_CALLERS, |(_, at)| *at);
            self.callers.insert(caller.into(), this);
            return;
        };
        let (before, at) = std::mem::replace(last, this);
        let is_late = call.at.duration_since(at).unsigned_abs() > FOLLOWS_WITHIN;
        if before != *name
            && !is_late
            && let Some(tool) = self.tools.get_mut(&before)
        {
            tool.revision += 1;
            tool.seen.followed_by(name, call.succeeded);
        }
    }
}

// === impl Observation ===

impl Observation {
    /// Time that half of the calls took at most.
    pub(crate) fn median(&self) -> Option<Duration> {
        self.time_below(50)
    }

    /// Time that all but the slowest in twenty took at most.
    pub(crate) fn slow(&self) -> Option<Duration> {
        self.time_below(95)
    }

    fn time_below(&self, percent: usize) -> Option<Duration> {
        let mut times: Vec<Duration> = self.times.iter().copied().collect();
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        times.get((last * percent).div_ceil(100)).copied()
    }

    fn count(&mut self, call: &ObservedCall<'_>) {
        self.calls += 1;
        self.successes += u64::from(call.succeeded);
        if self.times.len() >= TIMES_KEPT {
            self.times.pop_front();
        }
        self.times.push_back(call.took);
        if self.calls >= FORGETTING_AFTER {
            self.forget_half();
        }
    }

    /// Adds to a follower; where there is no room for a new one, the rarest makes it.
    fn followed_by(&mut self, name: &Arc<str>, succeeded: bool) {
        self.continued += 1;
        let mut known = self.followers.iter_mut();
        if let Some(known) = known.find(|known| known.tool == *name) {
            known.followed += 1;
            known.succeeded += u64::from(succeeded);
            return;
        }
        if self.followers.len() >= MOST_FOLLOWERS {
            let rarest = self.followers.iter().enumerate();
            if let Some((at, _)) = rarest.min_by_key(|(_, known)| known.followed) {
                self.followers.swap_remove(at);
            }
        }
        self.followers.push(Follower {
            tool: Arc::clone(name),
            followed: 1,
            succeeded: succeeded.into(),
            median: None,
        });
    }

    fn forget_half(&mut self) {
        self.calls /= 2;
        self.successes /= 2;
        self.continued /= 2;
        for follower in &mut self.followers {
            follower.followed /= 2;
            follower.succeeded /= 2;
        }
        self.followers.retain(|follower| follower.followed > 0);
    }
}

/// Forgets the older half of what is remembered once there is no room for more.
fn make_room<K: Hash + Eq, V>(
    remembered: &mut HashMap<K, V>,
    most: usize,
    at: impl Fn(&V) -> Timestamp,
) {
    if remembered.len() < most {
        return;
    }
    let mut times: Vec<Timestamp> = remembered.values().map(&at).collect();
    let middle = times.len() / 2;
    let (_, middle, _) = times.select_nth_unstable(middle);
    let middle = *middle;
    remembered.retain(|_, value| at(value) > middle);
}

#[cfg(test)]
mod tests;
