//! Small parts that both the gateway and the crates for authors of tools need: one rate limiter, one search for the
//! nearest name, one way to show foreign text, one reader of trace context, one accept loop, and one place that knows TLS.
//!
//! This crate uses no crate of ours. But for `connections` and `tls` it does no I/O and reads no clock: moments are given
//! to it.

#[cfg(feature = "connections")]
pub mod connections;
pub mod nearest;
pub mod one_line;
pub mod printable;
pub mod rate;
#[cfg(feature = "tls")]
pub mod tls;
pub mod traceparent;
