//! Upstreams as the gateway sees them: real processes, real sockets.

mod built_in;
mod common;
mod failures;
mod freshness;
mod http;
mod http_server;
mod processes;
mod stdio;
