//! Upstreams as the gateway sees them: real processes, real sockets.

mod built_in;
mod common;
mod eras;
mod failures;
mod freshness;
mod http;
mod http_server;
mod modern;
mod modern_server;
mod processes;
mod sse_server;
mod stdio;
mod streamed;
