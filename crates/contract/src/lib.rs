//! The tool contract: for authors of MCP tools, with or without the gateway.
//!
//! A [`Tool`] is a type with typed parameters and output. A [`Registry`] takes tools that keep the
//! contract and tells everything that is wrong with those that do not. A [`Service`] answers calls
//! through one pipeline: permissions, rate limit, parameters, cache, deadline, handler, check,
//! metadata. What a type can refuse does not compile.
//!
//! Start reading at [`tool`], then [`pipeline`]. This crate knows nothing of the gateway.

pub mod agent_hints;
mod cache;
mod category;
mod context;
mod definition;
pub mod definition_builder;
mod dyn_tool;
mod error;
pub mod metrics;
mod observe;
mod output;
mod params;
pub mod pipeline;
mod redact;
mod registry;
pub mod schemas;
pub mod tool;
pub mod validate;
mod violation;
pub mod wire;

pub use category::{
    Analysis, Category, CategoryEffect, CategoryName, Destroys, Generation, Mutation, Query,
    ResponseTime, Ttl, Uncached, Writes,
};
pub use context::{Grants, ToolContext};
pub use definition::{
    Definition, Deprecation, Description, Example, PublishedDefinition, RateLimit, Version,
};
pub use dyn_tool::Registered;
pub use error::{ErrorCategory, ParameterViolation, PublishedError, ToolError};
pub use output::{ResultMetadata, ResultOutcome, ToolOutput, ToolResult};
pub use pipeline::Service;
pub use registry::Registry;
pub use tool::{Data, Params, Tool};
pub use violation::{ContractViolation, ContractViolations, Findings, Rule};

/// Everything a tool needs, in one line.
pub mod prelude {
    pub use garde::Validate;
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::json;

    pub use crate::agent_hints::generators::{changed, created, deleted, found, listed};
    pub use crate::agent_hints::*;
    pub use crate::branded_id;
    pub use crate::schemas::*;
    pub use crate::{
        Analysis, Data, Definition, Deprecation, Description, Destroys, Example, Generation,
        Mutation, Query, RateLimit, Registry, ResponseTime, Service, Tool, ToolContext, ToolError,
        ToolOutput, Ttl, Uncached, Version, Writes,
    };
}
