//! Programs of this machine that are servers: starting them, ending them, reading what they print.

pub(crate) mod child;
mod environment;
pub mod guard;
pub(crate) mod lines;
#[cfg(unix)]
mod server_command;
pub(crate) mod stderr;
