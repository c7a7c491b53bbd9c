//! The tool contract: for authors of MCP tools, with or without the gateway.
//!
//! A [`Tool`] is a type with typed parameters and output. A [`Registry`] takes tools that keep the
//! contract and tells everything that is wrong with those that do not. A [`Service`] answers calls
//! through one pipeline: permissions, rate limit, parameters, cache, deadline, handler, check,
//! metadata. What a type can refuse does not compile.
//!
//! Start reading at [`Tool`], then [`Service::call`]. This crate knows nothing of the gateway.

#[doc(hidden)]
pub mod host;
mod pipeline;
mod registry;
pub mod schemas;
mod tool;
#[doc(hidden)]
pub mod wire;

pub use pipeline::{METRICS_FORMAT, Service};
#[doc(hidden)]
pub use registry::validate;
pub use registry::violation::{ContractViolation, ContractViolations, Rule};
pub use registry::{Registered, Registry};
pub use tool::category::{
    Analysis, Category, CategoryEffect, CategoryName, Destroys, Generation, Mutation, Query,
    ResponseTime, Ttl, Uncached, Writes,
};
pub use tool::context::{Grants, ToolContext};
pub use tool::definition::{
    Definition, Deprecation, Description, Example, PublishedDefinition, RateLimit, Version,
};
pub use tool::definition_builder::DefinitionBuilder;
pub use tool::error::{ErrorCategory, PublishedError, ToolError};
pub use tool::output::{ResultMetadata, ToolOutput, ToolResult};
pub use tool::state::{ServiceState, StateAccess};
pub use tool::{Data, Params, Tool, agent_hints};

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
        Mutation, Query, RateLimit, Registry, ResponseTime, Service, ServiceState, StateAccess,
        Tool, ToolContext, ToolError, ToolOutput, Ttl, Uncached, Version, Writes,
    };
}
