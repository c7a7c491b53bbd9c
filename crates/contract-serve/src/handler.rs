//! The tools of a service as rmcp asks for them.

use std::sync::Arc;

use jiff::Timestamp;
use mcpproxy_contract::{Service, ToolContext, wire};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ErrorData, Implementation, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ResultType, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ServeError, ServiceCaller, context};

/// Instructions for clients about the answers of every tool.
const INSTRUCTIONS: &str = "Every result has `data` or `error`, and `agentHints`: what to do next \
     (`suggestedNextActions` name tools of this server, and those of others as `server:tool`), how \
     sure it is (`confidence`) and how long it holds (`validityPeriod`). An error says in `retryable` \
     whether the same call may work later.";

/// Answers `tools/list` and `tools/call`, for any transport that rmcp serves. Cheap to clone.
///
/// Over HTTP, [`http()`](crate::http()) says who calls; through another HTTP server, only what needs no
/// permission can be called. Over any other transport the client is the owner of the process, unless
/// [`Handler::acting_for`] says otherwise.
#[derive(Debug, Clone)]
pub struct Handler {
    service: Arc<Service>,
    tools: Arc<[Tool]>,
    /// Caller where no HTTP request tells who it is.
    client: Arc<ServiceCaller>,
}

impl Handler {
    /// A handler for the tools of a service.
    pub fn new(service: impl Into<Arc<Service>>) -> Result<Self, ServeError> {
        let service = service.into();
        let tools = service.registry().get_all().map(|tool| {
            serde_json::from_value(wire::tool(tool)).map_err(|source| ServeError::Publish {
                tool: tool.definition().name.clone(),
                source,
            })
        });
        let tools = tools.collect::<Result<_, _>>()?;
        Ok(Self {
            service,
            tools,
            client: Arc::new(ServiceCaller::owner()),
        })
    }

    /// Tools that are listed at this moment: all but those whose time is over.
    fn listed(&self, at: Timestamp) -> Vec<Tool> {
        let registered = self.service.registry().get_all();
        let listed = registered.zip(self.tools.iter());
        let listed = listed.filter(|(registered, _)| !registered.definition().is_removed(at));
        listed.map(|(_, tool)| tool.clone()).collect()
    }

    /// Handler for a client that is not the owner of the process.
    #[must_use]
    pub fn acting_for(mut self, client: ServiceCaller) -> Self {
        self.client = Arc::new(client);
        self
    }

    /// The call through the pipeline. What breaks outside of the tool's own handler, in a rule on
    /// its parameters for example, costs this one call as well.
    async fn call(
        &self,
        name: &str,
        arguments: Value,
        context: &ToolContext,
    ) -> Result<CallToolResult, ErrorData> {
        let service = &self.service;
        let result = service.call(name, arguments, context).await;
        if service.registry().get(name).is_none()
            && let Some(error) = result.error()
        {
            // An error of the protocol has room for the whole result as well, with what to call instead.
            let data = result.to_json();
            return Err(ErrorData::invalid_params(error.message.clone(), Some(data)));
        }
        let mut result: CallToolResult = serde_json::from_value(wire::call_result(&result))
            .map_err(|error| broken(name, &error.to_string()))?;
        // Required since 2026-07-28; rmcp takes it away again for older clients.
        result.result_type = Some(ResultType::COMPLETE);
        Ok(result)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let registry = self.service.registry();
        let this_server = Implementation::new(registry.name(), registry.version().to_string());
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(this_server)
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut tools = self.tools.iter();
        tools.find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            let message = "There is one page of tools; ask for it without a cursor";
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(ListToolsResult::with_all_items(
            self.listed(Timestamp::now()),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        asked: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let context = context::of(&asked, &self.client);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        tokio::select! {
            // Whoever cancels is not interested in the answer: the handler is dropped.
            () = asked.ct.cancelled() => {
                let message = format!("The call of '{}' was cancelled", request.name);
                Err(ErrorData::internal_error(message, None))
            }
            result = self.call(&request.name, arguments, &context) => {
                result.map(CallToolResponse::Complete)
            }
        }
    }

    // A service has tools and nothing else. rmcp would answer the following with empty lists, as
    // if it had prompts and resources without having declared them.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

/// The cause goes to the log, its number to the client.
fn broken(tool: &str, cause: &str) -> ErrorData {
    let incident = Uuid::now_v7();
    tracing::error!(tool, %incident, cause, "a call broke");
    let message = format!(
        "The call of '{tool}' failed inside; the log of its service has the cause under incident {incident}"
    );
    ErrorData::internal_error(message, Some(json!({ "incident": incident })))
}
