//! The commands, one file each.

pub(crate) mod activity;
pub(crate) mod call;
pub(crate) mod config;
pub(crate) mod contract;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod stdio;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod upstream;
