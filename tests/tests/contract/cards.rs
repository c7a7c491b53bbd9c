//! The sample service from the outside: alone, behind the gateway, and inside of it.

mod alone;
mod conformance;
mod gateway;
mod lesson;
mod program;
