//! Intent, effect, decision and permit: what a call may do, decided by pure functions.
