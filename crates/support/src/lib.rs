//! Small parts that both the gateway and the crates for authors of tools need: one rate limiter and one search for the
//! nearest name.
//!
//! This crate uses no crate of ours, does no I/O and reads no clock: moments are given to it.

pub mod nearest;
pub mod rate;
