//! The faces of the gateway: MCP over HTTP and stdio, and REST.
//!
//! This crate turns bytes into requests of the gateway and its answers back into bytes. It
//! decides nothing about a call. Start reading at `exchange`, what an MCP client may ask, whichever
//! way it comes; `mcp` has the adapters in front of it.

mod access;
mod app;
mod body;
mod credentials;
mod exchange;
mod listen;
mod mcp;
mod respond;
mod rest;
mod routes;

pub use access::Reach;
pub use app::App;
pub use listen::{serve_connection, serve_socket, serve_tcp};
#[cfg(feature = "openapi")]
pub use rest::openapi::description_text;
pub use routes::Entrance;

/// MCP over standard input and output, and what an implementation of its connection needs.
pub mod stdio {
    pub use crate::exchange::dispatch::end_of_changes;
    pub use crate::exchange::in_flight::InFlight;
    pub use crate::exchange::params::RequestParams;
    pub use crate::exchange::reply::{MessageStream, Outbound, Reply};
    pub use crate::exchange::request::{Incoming, RequestMessage};
    pub use crate::mcp::stdio::{AdmitClient, ClientConnection, LineSender, serve, serve_through};
}
