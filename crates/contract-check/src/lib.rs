//! Checks of what others publish: pure, on JSON, without a network and without a clock.
//!
//! [`definition()`] and [`tools`] look at what `tools/list` has, [`result()`] at what a call gave back,
//! [`confidence`] at what many calls gave back, [`published`] at what was there before, and
//! [`checklist`] puts it together line by line. Nothing here trusts its input: whatever it is,
//! the answer is a list of violations and never a panic, and a schema is only compiled when that
//! costs little.

pub mod checklist;
pub mod confidence;
mod definition;
mod deprecation;
pub mod published;
mod result;
mod schema;
pub mod testing;

pub use definition::{announces, definition, tools};
pub use deprecation::{deprecation, is_deprecated, still_offered};
pub use result::result;

pub(crate) use definition::per_tool;

#[cfg(test)]
mod tests;
