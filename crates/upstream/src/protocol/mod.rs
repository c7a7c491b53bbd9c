//! Protocols that servers speak: with sessions, without, and how it is found out which.

pub(crate) mod connection;
pub(crate) mod probe;
pub(crate) mod remembered;
mod session;
mod stateless;
