//! JSON Schema: values against schemas of others, at a bounded cost.
//!
//! A schema is compiled once ([`Schema::compile`]), in time that grows with its length, and then says of
//! values whether they match ([`Schema::check`]) and why not ([`Schema::mismatches`]). All keywords that say
//! something about a value are known, in the forms of draft 4 to 2020-12, whichever the schema names;
//! `format` is not enforced, as the specification leaves it to the receiver. Nothing is ever fetched.
//!
//! Schemas and values come from people nobody here knows. A schema of a few hundred bytes can describe a tree
//! of billions of steps, by definitions that each refer twice to the next. So each check has a number of steps
//! and a depth ([`Verdict::TooCostly`] where they do not suffice), what was found out about a definition and a
//! value is remembered, and patterns run on an engine whose time grows with the length of the text alone.
//!
//! This crate is pure: it reads no clock and does no I/O.

mod check;
mod compile;
mod mismatch;
mod number;
mod pattern;
mod references;
#[cfg(test)]
mod tests;

use serde_json::Value;

use check::Check;
use compile::Keyword;
pub use mismatch::{JsonType, Kind, Mismatch, shown};

/// The most steps that one check may take: a few tenths of a second.
const STEP_LIMIT: usize = 2_000_000;

/// The most steps that collecting mismatches may take. Nothing is remembered while it is done.
const EXPLAINED_STEP_LIMIT: usize = 50_000;

/// Schema, compiled: subschemas by number, so that definitions can refer to each other.
#[derive(Debug)]
pub struct Schema {
    subschemas: Vec<Subschema>,
    root: SubschemaId,
}

/// Number of a subschema.
type SubschemaId = usize;

/// Subschema: what it asks of a value.
#[derive(Debug, Default)]
struct Subschema {
    keywords: Vec<Keyword>,
    /// Whether it asks for what no other keyword looked at, so that the others have to say what they looked at.
    tracks: bool,
}

/// Verdict on a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The value matches.
    Valid,
    /// The value does not match.
    Invalid,
    /// Nobody knows: finding out would cost more than a check may.
    TooCostly,
}

impl Schema {
    /// Compiles a schema, or says why it cannot be used: it is not valid, refers to another document, or has a
    /// pattern with look-around or back references.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        compile::compile(schema)
    }

    /// Checks a value.
    pub fn check(&self, value: &Value) -> Verdict {
        Check::new(self, STEP_LIMIT, 0).verdict(value)
    }

    /// Whether a value matches, where that can be found out in this number of steps.
    pub fn matches_within(&self, value: &Value, steps: usize) -> bool {
        Check::new(self, steps, 0).verdict(value) == Verdict::Valid
    }

    /// Mismatches of a value, `limit` at most; fewer, or none, where finding them would cost too much.
    pub fn mismatches<'a>(&'a self, value: &'a Value, limit: usize) -> Vec<Mismatch<'a>> {
        Check::new(self, EXPLAINED_STEP_LIMIT, limit).mismatches(value)
    }
}
