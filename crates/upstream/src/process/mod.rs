//! Programs of this machine that are servers: starting them, ending them, reading what they print.

pub(crate) mod child;
pub(crate) mod environment;
pub mod guard;
mod inherited;
pub(crate) mod lines;
#[cfg(unix)]
mod server_command;
pub(crate) mod stderr;
