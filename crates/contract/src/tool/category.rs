//! Kinds of work that a tool does, as types.
//!
//! The category decides caching, retries and the MCP annotations. Because it is a type, a cached
//! mutation does not compile, and no effect has to be guessed from a name.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of work a tool does. Implemented by [`Query`], [`Mutation`], [`Analysis`] and
/// [`Generation`], and by nothing else.
pub trait Category: sealed::Sealed + Send + Sync + 'static {
    /// Time that results may be kept: `Option<Ttl>`, or [`Uncached`] where that must never be.
    type Cache: Into<Option<Ttl>> + Default;
    /// The category's name.
    const NAME: CategoryName;
    /// Effect of a call on the world.
    const EFFECT: CategoryEffect;
}

/// Looks something up. Changes nothing, whoever asks and however often.
#[derive(Debug, Clone, Copy)]
pub enum Query {}

/// Changes something: `Mutation<Writes>` adds or alters, `Mutation<Destroys>` removes or
/// overwrites what cannot be brought back.
#[derive(Debug)]
pub struct Mutation<E>(std::marker::PhantomData<E>);

/// Computes something from what is there. Changes nothing.
#[derive(Debug, Clone, Copy)]
pub enum Analysis {}

/// Makes something new and hands it to the caller. Keeps nothing: a tool that stores what it made
/// is a mutation.
#[derive(Debug, Clone, Copy)]
pub enum Generation {}

/// The effect of a mutation that adds or alters.
#[derive(Debug, Clone, Copy)]
pub enum Writes {}

/// The effect of a mutation that removes or overwrites for good.
#[derive(Debug, Clone, Copy)]
pub enum Destroys {}

/// The cache of a mutation: there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uncached;

/// Time that a result may be kept. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ttl(pub(super) u32);

/// The category as it is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CategoryName {
    /// See [`Query`].
    Query,
    /// See [`Mutation`].
    Mutation,
    /// See [`Analysis`].
    Analysis,
    /// See [`Generation`].
    Generation,
}

/// Effect of a call on the world. This is what becomes the MCP annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CategoryEffect {
    /// Nothing is changed.
    Reads,
    /// Something is added or altered.
    Writes,
    /// Something may be lost.
    Destroys,
}

/// How long a call takes, as its author promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResponseTime {
    /// Below 100 milliseconds.
    Fast,
    /// From 100 milliseconds to a second.
    Medium,
    /// More than a second.
    Slow,
}

mod sealed {
    /// Keeps the list of categories closed.
    pub trait Sealed {}
    impl Sealed for super::Query {}
    impl<E> Sealed for super::Mutation<E> {}
    impl Sealed for super::Analysis {}
    impl Sealed for super::Generation {}
}

// === impl Category ===

impl Category for Query {
    type Cache = Option<Ttl>;
    const NAME: CategoryName = CategoryName::Query;
    const EFFECT: CategoryEffect = CategoryEffect::Reads;
}

impl Category for Mutation<Writes> {
    type Cache = Uncached;
    const NAME: CategoryName = CategoryName::Mutation;
    const EFFECT: CategoryEffect = CategoryEffect::Writes;
}

impl Category for Mutation<Destroys> {
    type Cache = Uncached;
    const NAME: CategoryName = CategoryName::Mutation;
    const EFFECT: CategoryEffect = CategoryEffect::Destroys;
}

impl Category for Analysis {
    type Cache = Option<Ttl>;
    const NAME: CategoryName = CategoryName::Analysis;
    const EFFECT: CategoryEffect = CategoryEffect::Reads;
}

impl Category for Generation {
    type Cache = Option<Ttl>;
    const NAME: CategoryName = CategoryName::Generation;
    const EFFECT: CategoryEffect = CategoryEffect::Reads;
}

impl From<Uncached> for Option<Ttl> {
    fn from(_: Uncached) -> Self {
        None
    }
}

// === impl Ttl ===

impl Ttl {
    /// Time of so many seconds; zero does not compile.
    pub const fn seconds<const SECONDS: u32>() -> Self {
        const { assert!(SECONDS > 0, "a result that is kept for no time is not kept") }
        Self(SECONDS)
    }

    /// Time of so many minutes; zero does not compile.
    pub const fn minutes<const MINUTES: u32>() -> Self {
        const { assert!(MINUTES > 0, "a result that is kept for no time is not kept") }
        Self(MINUTES.saturating_mul(60))
    }
}

// === impl ResponseTime ===

impl ResponseTime {
    /// Longest time that the author promises: a call that takes longer is reported in the log.
    pub(crate) fn promised(self) -> Option<Duration> {
        match self {
            Self::Fast => Some(Duration::from_millis(100)),
            Self::Medium => Some(Duration::from_secs(1)),
            Self::Slow => None,
        }
    }

    /// Deadline of a call: ten times what is promised, so that a busy machine is no
    /// failure; a minute where nothing is promised.
    pub(crate) fn deadline(self) -> Duration {
        let promised = self.promised();
        promised.map_or(Duration::from_mins(1), |promised| promised * 10)
    }
}
