//! The echo upstream built with the official Rust SDK: what a server in the field costs before it does any work.
//!
//! Everything that the SDK decides is left as it is by default (sessions, answers as event streams, allowed hosts),
//! because that is what a server built with it does. Must never be tuned: a leaner one exists beside it.

#[cfg(test)]
mod tests;

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use axum::Router;
use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::echo::PATH;

/// Serves `listener` from a runtime with `workers` threads until the process ends, and says where.
///
/// One work-stealing runtime and axum's own accept loop, as in the examples of the SDK.
pub(crate) fn start(listener: StdListener, workers: usize) -> anyhow::Result<SocketAddr> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers.max(1))
        .enable_all()
        .build()
        .context("The SDK's echo upstream could not start its runtime")?;
    let listener = {
        // A socket can only be registered from within the runtime that will drive it.
        let _entered = runtime.enter();
        TcpListener::from_std(listener)?
    };
    std::thread::Builder::new()
        .name("sdk-accept".to_owned())
        .spawn(move || runtime.block_on(serve(listener)))
        .context("The SDK's echo upstream could not start a thread")?;
    Ok(address)
}

async fn serve(listener: TcpListener) {
    let echo = Echo::default();
    let service = StreamableHttpService::new(
        move || Ok(echo.clone()),
        Arc::new(LocalSessionManager::default()),
        // Its defaults allow the loopback names as hosts and no others.
        StreamableHttpServerConfig::default(),
    );
    // An event stream leaves in several small writes. Without this the kernel may hold all but the first back until
    // that one is acknowledged, and tens of milliseconds of waiting would hide whatever else a call costs. One whose
    // option cannot be set was closed by its client already.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    // It goes on over every failed accept and only ends with the process.
    let _ = axum::serve(listener, Router::new().nest_service(PATH, service)).await;
}

/// The two tools; each session gets a clone of it, and what they keep is shared.
#[derive(Clone, Debug, Default)]
struct Echo {
    /// What the tool `store` was given last.
    kept: Arc<Mutex<Option<String>>>,
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(
            "mcpproxy-bench-sdk-echo",
            env!("CARGO_PKG_VERSION"),
        ))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let keeps = match request.name.as_ref() {
            "echo" => false,
            "store" => true,
            other => {
                let message = format!("Unknown tool: {other}");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let Some(text) = text_argument(request.arguments) else {
            let message = ContentBlock::text("Invalid arguments: text must be a string");
            return Ok(CallToolResult::error(vec![message]).into());
        };
        if keeps {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(text.clone());
        }
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn tools() -> Vec<Tool> {
    let echo = Tool::new("echo", "Answers with the text it was given.", schema())
        .with_annotations(ToolAnnotations::new().read_only(true));
    let store = Tool::new(
        "store",
        "Keeps the text in place of the one before it, and answers with it.",
        schema(),
    )
    .with_annotations(ToolAnnotations::new().read_only(false).destructive(false));
    vec![echo, store]
}

fn schema() -> JsonObject {
    let properties = json!({ "text": { "type": "string" } });
    JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), json!(["text"])),
    ])
}

fn text_argument(arguments: Option<JsonObject>) -> Option<String> {
    match arguments?.remove("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
