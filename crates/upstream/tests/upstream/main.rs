//! Upstreams as the gateway sees them: real processes, real sockets.

mod common;
mod stdio;
