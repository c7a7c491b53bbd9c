//! The log as the gateway uses it, on both engines: nothing lost, nothing altered unseen.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod failing;
mod following;
mod recording;
mod retention;
mod support;
mod tampering;
