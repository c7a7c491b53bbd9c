//! Connections to MCP servers: one task for each, none in the way of another.
//!
//! An [`Upstream`] is a handle to one server. Its task connects, has the lists kept current and
//! connects again when the server is lost; an [`Observer`] hears of it.
//! Calls run in the caller's own task, each with its deadline, and need a [`Permit`]: this
//! crate must never call a tool that was not decided on. Values of headers and variables
//! never reach a log or an error.
//!
//! Start reading at [`Upstream`]; then `lifecycle` (the task of an upstream, its readiness, the slots
//! for calls), `protocol` (with sessions, without, and how it is found out which), `transport`
//! (programs, HTTP, tools of this program) and `offerings` (lists of all kinds and their age, subscriptions). The
//! way back to the client that a call is made for is [`client`].

mod backoff;
mod call_error;
mod call_head;
pub mod client;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod lifecycle;
mod offerings;
mod process;
mod protocol;
mod read_request;
mod runtime;
mod spec;
mod state;
mod transport;
mod upstream;

pub use call_error::CallError;
pub use call_head::CallHead;
pub use lifecycle::call_slots::CallSlot;
pub use lifecycle::change_counters::ChangeMark;
pub use mcpproxy_policy::Permit;
pub use offerings::subscriptions::{Subscription, SubscriptionEnded};
pub use process::{guard, log_files};
pub use read_request::ReadRequest;
pub use runtime::{Observer, Runtime};
pub use spec::{
    AllVariables, BuiltIn, HttpSpec, InheritEnv, ProtocolSetting, Spec, StdioSpec, TransportSpec,
};
pub use state::{StartAttempt, StartWait, UpstreamState};
pub use upstream::Upstream;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. Nothing panics while it holds one of our locks, so what is behind it is whole either way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
