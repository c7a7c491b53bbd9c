//! Adapters for MCP: bytes to requests, and replies back to bytes. What a request is answered with is
//! decided in [`exchange`](crate::exchange).

mod batch;
mod head;
mod header_mirror;
pub(crate) mod http;
mod lines;
mod reply;
mod session;
mod stateless;
pub(crate) mod stdio;
