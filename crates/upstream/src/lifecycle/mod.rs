//! Life of one upstream: its task, its readiness, and the slots for calls.

pub(crate) mod call_slots;
pub(crate) mod readiness;
pub(crate) mod shared;
pub(crate) mod task;
