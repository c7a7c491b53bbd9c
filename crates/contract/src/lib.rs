//! The tool contract: for authors of MCP tools, with or without the gateway.
//!
//! A [`Tool`] is a type with typed parameters and output. A [`Registry`] takes tools that keep the
//! contract and tells everything that is wrong with those that do not. A [`Service`] answers calls
//! through one pipeline: permissions, rate limit, parameters, cache, deadline, handler, check,
//! metadata. What a type can refuse does not compile.
//!
//! Start reading at [`tool`], then [`pipeline`]. This crate knows nothing of the gateway.

mod answer;
mod cache;
mod category;
#[cfg(feature = "check")]
pub mod check;
mod context;
mod definition;
mod erased;
mod error;
pub mod hints;
mod limits;
#[cfg(feature = "rmcp")]
pub mod mcp;
pub mod metrics;
mod observe;
mod params;
pub mod pipeline;
mod redact;
mod registry;
pub mod schemas;
pub mod sketch;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool;
mod validate;
mod violation;
pub mod wire;

pub use answer::{Answer, Outcome, ResultMetadata, ToolResult};
pub use category::{
    Analysis, Category, CategoryName, Destroys, Effect, Generation, Mutation, Query, ResponseTime,
    Ttl, Uncached, Writes,
};
pub use context::{Grants, ToolContext};
pub use definition::{
    Definition, Deprecation, Description, Example, PublishedDefinition, RateLimit, Version,
};
pub use erased::Registered;
pub use error::{ErrorCategory, ParameterViolation, PublishedError, ToolError};
pub use pipeline::Service;
pub use registry::Registry;
pub use tool::{Data, Params, Tool};
pub use violation::{Rule, Violation, Violations};

/// Everything a tool needs, in one line.
pub mod prelude {
    pub use garde::Validate;
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::json;

    pub use crate::branded_id;
    pub use crate::hints::generators::{changed, created, deleted, found, listed};
    pub use crate::hints::*;
    pub use crate::schemas::*;
    pub use crate::{
        Analysis, Answer, Data, Definition, Deprecation, Description, Destroys, Example,
        Generation, Mutation, Query, RateLimit, Registry, ResponseTime, Service, Tool, ToolContext,
        ToolError, Ttl, Uncached, Version, Writes,
    };
}

/// The guide for authors: its code is compiled and run with the other tests.
#[cfg(all(doctest, feature = "rmcp", feature = "testing"))]
#[doc = include_str!("../../../docs/writing-a-tool.md")]
mod guide {}
