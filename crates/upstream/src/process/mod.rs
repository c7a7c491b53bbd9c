//! Programs of this machine that are servers: starting them, a few at a time, ending them, reading what they
//! print.

mod byte_budget;
pub(crate) mod child;
pub(crate) mod environment;
pub mod guard;
mod inherited;
pub(crate) mod installers;
pub(crate) mod life_signs;
pub(crate) mod lines;
pub mod log_files;
pub(crate) mod printed;
#[cfg(unix)]
mod server_command;
pub(crate) mod server_log;
pub(crate) mod start_slots;
pub(crate) mod stderr;
#[cfg(target_os = "linux")]
pub(crate) mod tree;
