//! Upstreams as the gateway sees them: real processes, real sockets.

mod built_in;
mod common;
mod event_stream;
mod event_stream_server;
mod failures;
mod freshness;
#[cfg(feature = "fuzzing")]
mod fuzzed_server;
mod http;
mod http_server;
mod message_order;
mod processes;
mod protocols;
mod starts;
mod stateless;
mod stateless_server;
mod stdio;
