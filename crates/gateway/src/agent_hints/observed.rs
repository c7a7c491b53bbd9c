//! What calls of tools were seen to do: how often they worked, how long they took, and what the
//! same caller did next.
//!
//! It keeps counts, never arguments or results. It reads no clock and asks nobody, and what it
//! holds is bounded whatever is called.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// The most tools that are remembered. Catalogs may be larger, but few of their tools are called.
const MOST_TOOLS: usize = 4_096;

/// The most tools of which it is remembered that they followed another one. An agent is shown
/// the first few.
const MOST_FOLLOWERS: usize = 16;

/// The most callers whose last call is remembered.
const MOST_CALLERS: usize = 4_096;

/// How long after a call the next one still has to do with it.
const FOLLOWS_WITHIN: Duration = Duration::from_mins(10);

/// After so many calls all counts are halved, so that what happened lately counts for more.
const FORGETTING_AFTER: u32 = 512;

/// How many response times are kept of a tool: enough for the slowest in twenty.
const TIMES_KEPT: usize = 64;

/// How many times its slowest call a tool is waited for: a busy machine is no failure.
const TIME_LIMIT_FACTOR: u32 = 20;

/// However fast a tool is, it is waited for so long.
const LEAST_TIME_LIMIT: Duration = Duration::from_secs(5);

/// Everything that was seen.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    tools: HashMap<Arc<str>, ObservedTool>,
    /// The last call of each caller.
    callers: HashMap<Box<str>, Last>,
}

/// A call that was made, and what came of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObservedCall<'a> {
    /// Who made it; nothing if nobody can tell which calls are of the same caller.
    pub(crate) caller: Option<&'a str>,
    /// `server:tool`.
    pub(crate) tool: &'a str,
    /// Whether the tool did what was asked.
    pub(crate) succeeded: bool,
    /// How long the tool took.
    pub(crate) took: Duration,
    /// When.
    pub(crate) at: Timestamp,
}

/// What is known of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observation {
    /// How many calls were seen, of those that are not forgotten.
    pub(crate) calls: u64,
    /// How many of them worked.
    pub(crate) successes: u64,
    /// How often the same caller called another tool afterwards.
    pub(crate) continued: u64,
    /// The tools that were called then, those that worked most often first.
    pub(crate) followers: Vec<Follower>,
    /// How long half of the calls took at most.
    pub(crate) median: Option<Duration>,
    /// How long all but the slowest in twenty took at most.
    pub(crate) slow: Option<Duration>,
    /// When it was called before its last call.
    pub(crate) called_before: Option<Timestamp>,
}

/// A tool that was called after another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Follower {
    /// `server:tool`.
    pub(crate) tool: Arc<str>,
    /// How often it was the next one.
    pub(crate) followed: u64,
    /// How often it worked then.
    pub(crate) succeeded: u64,
    /// How long half of its calls take at most.
    pub(crate) median: Option<Duration>,
}

#[derive(Debug)]
struct Last {
    tool: Arc<str>,
    at: Timestamp,
}

#[derive(Debug, Clone)]
struct ObservedTool {
    name: Arc<str>,
    calls: u32,
    successes: u32,
    continued: u32,
    followers: Vec<FollowerCount>,
    times: Times,
    at: Timestamp,
    before: Option<Timestamp>,
    /// How often anything was learned about it, which is never halved.
    revision: u64,
}

#[derive(Debug, Clone)]
struct FollowerCount {
    tool: Arc<str>,
    followed: u32,
    succeeded: u32,
}

/// The latest response times, in microseconds.
#[derive(Debug, Clone)]
struct Times {
    kept: [u32; TIMES_KEPT],
    count: usize,
}

// === impl Observed ===

impl Observed {
    /// Learns from a call. It tells how often something was learned about its tool.
    pub(crate) fn learn(&mut self, call: &ObservedCall<'_>) -> u64 {
        let name = self.remember(call);
        self.follow(call, &name);
        self.tools.get(call.tool).map_or(0, |tool| tool.revision)
    }

    /// How long to wait for a tool that has shown how long it takes: many times its slowest call.
    /// Nothing while too few calls were seen. A call that runs into it counts as a slow one, so
    /// that a tool which has become slower is waited for from then on.
    pub(crate) fn time_limit(&self, tool: &str) -> Option<Duration> {
        let times = &self.tools.get(tool)?.times;
        let slowest = (times.count >= TIMES_KEPT).then(|| times.below(100))??;
        Some((slowest * TIME_LIMIT_FACTOR).max(LEAST_TIME_LIMIT))
    }

    /// What is known of a tool.
    pub(crate) fn of(&self, tool: &str) -> Option<Observation> {
        let known = self.tools.get(tool)?;
        let mut followers: Vec<Follower> = known
            .followers
            .iter()
            .map(|counted| Follower {
                tool: Arc::clone(&counted.tool),
                followed: counted.followed.into(),
                succeeded: counted.succeeded.into(),
                median: None,
            })
            .collect();
        followers.sort_by(|one, other| {
            let rank = |follower: &Follower| (follower.succeeded, follower.followed);
            (rank(other).cmp(&rank(one))).then_with(|| one.tool.cmp(&other.tool))
        });
        for follower in &mut followers {
            let tool = self.tools.get(&follower.tool);
            follower.median = tool.and_then(|tool| tool.times.below(50));
        }
        Some(Observation {
            calls: known.calls.into(),
            successes: known.successes.into(),
            continued: known.continued.into(),
            followers,
            median: known.times.below(50),
            slow: known.times.below(95),
            called_before: known.before,
        })
    }

    /// Puts what was seen later on top of this.
    pub(crate) fn absorb(&mut self, later: Self) {
        for (name, tool) in later.tools {
            make_room(&mut self.tools, MOST_TOOLS, |tool| tool.at);
            match self.tools.get_mut(&name) {
                Some(known) => known.absorb(tool),
                None => {
                    self.tools.insert(name, tool);
                }
            }
        }
        for (caller, last) in later.callers {
            make_room(&mut self.callers, MOST_CALLERS, |last| last.at);
            self.callers.insert(caller, last);
        }
    }

    /// Counts the call itself.
    fn remember(&mut self, call: &ObservedCall<'_>) -> Arc<str> {
        if let Some(tool) = self.tools.get_mut(call.tool) {
            tool.before = Some(tool.at);
            tool.count(call);
            return Arc::clone(&tool.name);
        }
        make_room(&mut self.tools, MOST_TOOLS, |tool| tool.at);
        let name: Arc<str> = call.tool.into();
        let mut tool = ObservedTool::new(Arc::clone(&name), call.at);
        tool.count(call);
        self.tools.insert(Arc::clone(&name), tool);
        name
    }

    /// Counts the call as what followed the one before. A tool that is called again, because it
    /// is polled or leafed through, does not follow itself.
    fn follow(&mut self, call: &ObservedCall<'_>, name: &Arc<str>) {
        let Some(caller) = call.caller else {
            return;
        };
        let Some(last) = self.callers.get_mut(caller) else {
            make_room(&mut self.callers, MOST_CALLERS, |last| last.at);
            let last = Last {
                tool: Arc::clone(name),
                at: call.at,
            };
            self.callers.insert(caller.into(), last);
            return;
        };
        let passed = call.at.duration_since(last.at).unsigned_abs();
        last.at = call.at;
        if last.tool == *name {
            return;
        }
        let before = std::mem::replace(&mut last.tool, Arc::clone(name));
        if passed > FOLLOWS_WITHIN {
            return;
        }
        if let Some(tool) = self.tools.get_mut(&before) {
            tool.followed_by(name, call.succeeded);
        }
    }
}

// === impl ObservedTool ===

impl ObservedTool {
    fn new(name: Arc<str>, at: Timestamp) -> Self {
        Self {
            name,
            calls: 0,
            successes: 0,
            continued: 0,
            followers: Vec::new(),
            times: Times {
                kept: [0; TIMES_KEPT],
                count: 0,
            },
            at,
            before: None,
            revision: 0,
        }
    }

    fn count(&mut self, call: &ObservedCall<'_>) {
        self.calls += 1;
        self.successes += u32::from(call.succeeded);
        self.times.push(call.took);
        self.at = call.at;
        self.revision += 1;
        if self.calls >= FORGETTING_AFTER {
            self.forget_half();
        }
    }

    fn followed_by(&mut self, name: &Arc<str>, succeeded: bool) {
        self.continued += 1;
        self.revision += 1;
        self.add(FollowerCount {
            tool: Arc::clone(name),
            followed: 1,
            succeeded: succeeded.into(),
        });
    }

    /// Adds to a follower; where there is no room for a new one, the rarest makes it.
    fn add(&mut self, more: FollowerCount) {
        let mut known = self.followers.iter_mut();
        if let Some(known) = known.find(|known| known.tool == more.tool) {
            known.followed += more.followed;
            known.succeeded += more.succeeded;
            return;
        }
        if self.followers.len() >= MOST_FOLLOWERS {
            let rarest = self.followers.iter().enumerate();
            if let Some((at, _)) = rarest.min_by_key(|(_, known)| known.followed) {
                self.followers.swap_remove(at);
            }
        }
        self.followers.push(more);
    }

    fn absorb(&mut self, later: Self) {
        self.calls += later.calls;
        self.successes += later.successes;
        self.continued += later.continued;
        for follower in later.followers {
            self.add(follower);
        }
        for time in later.times.kept.iter().take(later.times.count) {
            self.times.push(Duration::from_micros((*time).into()));
        }
        self.before = later.before.or(Some(self.at));
        self.at = later.at;
        self.revision += later.revision;
        if self.calls >= FORGETTING_AFTER {
            self.forget_half();
        }
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

// === impl Times ===

impl Times {
    /// Keeps a time; the one that was kept longest makes room.
    fn push(&mut self, took: Duration) {
        let microseconds = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.kept[self.count % TIMES_KEPT] = microseconds;
        // Once full it stays between one and two rounds, so that it never overflows.
        self.count += 1;
        if self.count == 2 * TIMES_KEPT {
            self.count = TIMES_KEPT;
        }
    }

    /// The time that so many percent of the calls stayed below.
    fn below(&self, percent: usize) -> Option<Duration> {
        let mut kept = self.kept;
        let kept = &mut kept[..self.count.min(TIMES_KEPT)];
        let last = kept.len().checked_sub(1)?;
        let (_, time, _) = kept.select_nth_unstable((last * percent).div_ceil(100));
        Some(Duration::from_micros(u64::from(*time)))
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
