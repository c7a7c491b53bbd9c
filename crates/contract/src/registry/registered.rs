//! A tool without its types, so that tools of all types fit into one list.

use std::any::Any;

use futures_util::future::BoxFuture;
use mcpproxy_redact::SecretFields;
use serde_json::Value;

use super::params;
use crate::agent_hints::AgentHints;
use crate::{PublishedDefinition, Tool, ToolContext, ToolError};

/// A call that is under way.
type Calling<'a> = BoxFuture<'a, Result<(Value, AgentHints), ToolError>>;

/// A registered tool: what is published, and the way to call it.
pub struct Registered {
    pub(crate) definition: PublishedDefinition,
    /// The schema of the parameters.
    pub(crate) input_schema: Value,
    /// Parameters that the schema marks as secret.
    pub(crate) secret_fields: SecretFields,
    /// The schema of the data.
    pub(crate) data_schema: Value,
    pub(crate) tool: Box<dyn DynTool>,
}

/// A tool as the pipeline needs it.
pub(crate) trait DynTool: Send + Sync {
    /// Arguments → parameters of the tool's own type.
    fn parse(&self, arguments: Value, schema: &Value) -> Result<Parsed, ToolError>;

    /// Does the work with parameters that [`DynTool::parse`] made.
    fn call<'a>(&'a self, params: &'a Parsed, context: &'a ToolContext) -> Calling<'a>;

    /// Why an example's data is not of the output's type.
    fn check_data(&self, data: &Value) -> Result<(), String>;
}

/// Parameters of some type.
pub(crate) struct Parsed {
    params: Box<dyn Any + Send + Sync>,
    /// Text of the parameters, to tell equal ones by.
    pub(crate) canonical: String,
}

impl<T: Tool> DynTool for T {
    fn parse(&self, arguments: Value, schema: &Value) -> Result<Parsed, ToolError> {
        let params: T::Params = params::parse(arguments, schema)?;
        let canonical = serde_json::to_string(&params).map_err(ToolError::internal)?;
        Ok(Parsed {
            params: Box::new(params),
            canonical,
        })
    }

    fn call<'a>(&'a self, params: &'a Parsed, context: &'a ToolContext) -> Calling<'a> {
        Box::pin(async move {
            let params = params
                .params
                .downcast_ref::<T::Params>()
                .ok_or_else(|| ToolError::internal("parameters of another tool"))?;
            let answer = Tool::call(self, params, context).await?;
            let data = serde_json::to_value(&answer.data).map_err(ToolError::internal)?;
            Ok((data, answer.hints))
        })
    }

    fn check_data(&self, data: &Value) -> Result<(), String> {
        serde_json::from_value::<T::Output>(data.clone())
            .map(drop)
            .map_err(|error| error.to_string())
    }
}

// === impl Registered ===

impl Registered {
    /// The definition as it is published.
    pub fn definition(&self) -> &PublishedDefinition {
        &self.definition
    }

    /// The JSON Schema of the parameters.
    pub fn input_schema(&self) -> &Value {
        &self.input_schema
    }

    /// The JSON Schema of the data.
    pub fn data_schema(&self) -> &Value {
        &self.data_schema
    }
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Registered")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}
