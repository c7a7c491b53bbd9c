//! The tool contract: for authors of MCP tools, with or without the gateway.
//!
//! A [`Tool`] is a type with typed parameters and output. A [`Registry`] takes tools that keep the
//! contract and tells everything that is wrong with those that do not. A [`Service`] answers calls
//! through one pipeline: permissions, rate limit, parameters, cache, deadline, handler, check,
//! metadata. What a type can refuse does not compile.
//!
//! Start reading at [`Tool`], then [`Service::call`]. This crate knows nothing of the gateway.

pub mod agent_hints;
mod cache;
mod category;
mod context;
mod definition;
mod definition_builder;
mod dyn_tool;
mod error;
mod metrics;
mod observe;
mod output;
mod params;
mod pipeline;
mod redact;
mod registry;
pub mod schemas;
mod tool;
#[doc(hidden)]
pub mod validate;
mod violation;
#[doc(hidden)]
pub mod wire;

pub use category::{
    Analysis, Category, CategoryEffect, CategoryName, Destroys, Generation, Mutation, Query,
    ResponseTime, Ttl, Uncached, Writes,
};
pub use context::{Grants, ToolContext};
pub use definition::{
    Definition, Deprecation, Description, Example, PublishedDefinition, RateLimit, Version,
};
pub use definition_builder::DefinitionBuilder;
pub use dyn_tool::Registered;
pub use error::{ErrorCategory, PublishedError, ToolError};
pub use output::{ResultMetadata, ToolOutput, ToolResult};
pub use pipeline::Service;
pub use registry::Registry;
pub use tool::{Data, Params, Tool};
pub use violation::{ContractViolation, ContractViolations, Rule};

/// Everything a tool needs, in one line.
pub mod prelude {
    pub use garde::Validate;
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::json;

    pub use crate::agent_hints::*;
    pub use crate::branded_id;
    pub use crate::schemas::*;
    pub use crate::{
        Analysis, Data, Definition, Deprecation, Description, Destroys, Example, Generation,
        Mutation, Query, RateLimit, Registry, ResponseTime, Service, Tool, ToolContext, ToolError,
        ToolOutput, Ttl, Uncached, Version, Writes,
    };
}
