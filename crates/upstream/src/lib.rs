//! Connections to MCP servers: one task for each, none in the way of another.
//!
//! An [`Upstream`] is a handle to one server. Its task connects, lists the tools, keeps the
//! listing current and connects again when the server is lost; an [`Observer`] hears of it.
//! Calls run in the caller's own task, each with its deadline, and need a [`Permit`]: this
//! crate must never call a tool that was not decided on. Values of headers and variables
//! never reach a log or an error.
//!
//! Start reading at [`Upstream`]; then `task` (the life of an upstream), `board` (what is
//! known of it, and who waits for what), `stdio` and `http`, `modern` (servers
//! without sessions) and `probe` (which of the two a server is). The way back to the client that
//! a call is made for is [`client`].

mod backoff;
mod board;
mod builtin;
pub mod client;
mod connection;
mod environment;
mod eras;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod guard;
mod http;
mod lines;
mod listing;
mod modern;
mod patience;
mod pending;
mod probe;
mod process;
mod read_request;
mod request;
mod runtime;
mod shared;
mod shelf;
mod spec;
mod state;
mod stderr;
mod stdio;
mod subscription;
mod task;
mod upstream;

pub use mcpproxy_policy::Permit;
pub use read_request::ReadRequest;
pub use runtime::{Observer, Runtime};
pub use shelf::Stock;
pub use spec::{BuiltIn, HttpSpec, Origin, ProtocolSetting, Spec, StdioSpec, Transport};
pub use state::{CallError, State};
pub use subscription::{Ended, Subscription};
pub use upstream::{CallSlot, Upstream};
