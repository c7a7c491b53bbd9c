//! Decisions about calls, made by pure functions.
//!
//! This crate turns what an agent declares ([`intent`]) and what a server says of its
//! tool ([`effect`]) into a [`Decision`], tells what a [`Caller`] may see and do ([`rights`]),
//! what a tool of the contract announces about its calls ([`terms`]), and vets what an upstream suggests to do next
//! ([`agent_hints`]). It must never be async, read a clock or do I/O, so every rule of the
//! product is a row in a table test.
//!
//! Start reading at [`decide()`]: only it can make a [`Permit`], and no upstream can be
//! called without one.

pub mod agent_hints;
pub mod call_metadata;
pub mod caller;
pub mod decide;
pub mod effect;
mod glob;
pub mod intent;
pub mod operation;
pub mod rights;
mod risk;
pub mod terms;

pub use call_metadata::CallMetadata;
pub use caller::{Caller, LimitKey, RecordScope};
pub use decide::{
    Decision, Denial, Permit, Rules, Subject, Unannotated, Warning, decide, may_be_proposed,
};
pub use effect::Effect;
pub use glob::ToolGlob;
pub use intent::{DeclaredIntent, INTENT_KEYS, Intent, IntentError, Mode, Sensitivity};
pub use mcpproxy_wire::words;
pub use operation::Operation;
pub use rights::{
    AccessTo, ActivityAccess, AgentToken, AnonymousRole, OperationSet, Rights, TokenGrant,
};
pub use terms::{AnnouncedDeprecation, AnnouncedLimit, ContractTerms};
