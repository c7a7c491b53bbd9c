//! What a call may do, decided by pure functions.
//!
//! This crate turns what an agent declares ([`intent`]) and what a server says of its
//! tool ([`effect`]) into a [`Decision`], vets what an upstream suggests to do next ([`hints`]), and
//! hides secrets in what is recorded ([`redact`]). It must never be async, read a clock or do I/O,
//! so every rule of the product is a row in a table test.
//!
//! Start reading at [`decide()`]: only it can make a [`Permit`], and no upstream can be
//! called without one.

pub mod decide;
pub mod effect;
pub mod hints;
pub mod intent;
pub mod mask;
pub mod operation;
pub mod redact;
mod risk;

pub use decide::{Decision, Denial, Permit, Rules, Subject, Unannotated, Warning, decide};
pub use effect::{Effect, Hints};
pub use intent::{Declared, Intent, IntentError, Mode, Sensitivity};
pub use mask::Mask;
pub use operation::Operation;
pub use redact::{OwnSecrets, Redactor, SecretFields};
