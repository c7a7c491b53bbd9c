//! A tool without its types, so that tools of all types fit into one list.

use std::any::Any;
use std::pin::Pin;

use mcpproxy_redact::SecretFields;
use serde_json::Value;

use crate::agent_hints::AgentHints;
use crate::{PublishedDefinition, Tool, ToolContext, ToolError, params};

/// A boxed future of a call.
pub(crate) type Calling<'a> =
    Pin<Box<dyn Future<Output = Result<(Value, AgentHints), ToolError>> + Send + 'a>>;

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

/// What the pipeline asks of a tool.
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
    /// The same as text, to tell equal ones by.
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
    /// What is published about the tool.
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
