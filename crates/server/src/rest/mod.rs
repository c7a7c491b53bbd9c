//! The REST interface: one file for each subject, and its description for programs.

pub(crate) mod activity;
pub(crate) mod events;
pub(crate) mod openapi;
mod parameters;
mod refusals;
mod schemas;
pub(crate) mod status;
pub(crate) mod tools;
