//! The REST interface: one file for each subject, and its description for programs.

pub(crate) mod activity;
mod body;
#[cfg(feature = "openapi")]
mod described;
pub(crate) mod events;
pub(crate) mod index;
pub(crate) mod openapi;
pub(crate) mod servers;
pub(crate) mod status;
pub(crate) mod tokens;
pub(crate) mod tools;
