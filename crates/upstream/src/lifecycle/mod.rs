//! Life of one upstream: its task, its readiness, its start, the refresher of its lists, and the slots for calls.

pub(crate) mod call_slots;
pub(crate) mod change_counters;
pub(crate) mod fair_slots;
pub(crate) mod readiness;
mod refresher;
pub(crate) mod shared;
mod start;
pub(crate) mod task;
