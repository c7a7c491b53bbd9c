//! Changes that a server announces while calls are under way there.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one upstream: changes that were announced, and calls that may change something.
#[derive(Debug, Default)]
pub(crate) struct ChangeCounters {
    announced: AtomicU64,
    writes_begun: AtomicU64,
    writes_ended: AtomicU64,
}

/// Mark of a moment, to tell what happened since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeMark {
    announced: u64,
    writes_begun: u64,
    writes_ended: u64,
}

impl ChangeCounters {
    /// Counts a change of a list or of a resource that the server announces.
    pub(crate) fn announced(&self) {
        self.announced.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a call that may change something, when it begins.
    pub(crate) fn write_begins(&self) {
        self.writes_begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a call that may change something, when it has ended.
    pub(crate) fn write_ended(&self) {
        self.writes_ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Mark of now.
    pub(crate) fn mark(&self) -> ChangeMark {
        ChangeMark {
            announced: self.announced.load(Ordering::Relaxed),
            writes_begun: self.writes_begun.load(Ordering::Relaxed),
            writes_ended: self.writes_ended.load(Ordering::Relaxed),
        }
    }
}

impl ChangeMark {
    /// Whether a change was announced between this mark and a later one, and no call was under way meanwhile that may
    /// change something.
    pub fn is_followed_by_change(&self, later: &Self) -> bool {
        let no_write =
            self.writes_begun == self.writes_ended && later.writes_begun == self.writes_begun;
        no_write && later.announced != self.announced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_put_down_to_a_read_only_where_nothing_else_can_have_made_it() {
        let counters = ChangeCounters::default();
        let before = counters.mark();
        assert!(!before.is_followed_by_change(&counters.mark()));
        counters.announced();
        assert!(before.is_followed_by_change(&counters.mark()));
        counters.write_begins();
        assert!(!before.is_followed_by_change(&counters.mark()));
        let during = counters.mark();
        counters.announced();
        assert!(!during.is_followed_by_change(&counters.mark()));
        counters.write_ended();
        assert!(!during.is_followed_by_change(&counters.mark()));
        let after = counters.mark();
        counters.announced();
        assert!(after.is_followed_by_change(&counters.mark()));
    }
}
