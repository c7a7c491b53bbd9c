//! The sample service from the outside: alone, behind the gateway, and inside of it.

pub(crate) mod alone;
pub(crate) mod conformance;
pub(crate) mod gateway;
mod lesson;
pub(crate) mod metrics;
mod program;
