//! Tools of this very program, reached without a connection.

use std::collections::HashSet;

use mcpproxy_wire::tool::{Rejected, ToolPage};
use mcpproxy_wire::{Json, RpcError, RpcResult, ToolDefinition};
use tokio::time::{Instant, timeout_at};

use crate::call_error::UpstreamResponse;
use crate::{BuiltIn, CallError};

/// Lists built-in tools, each checked like those of any server.
pub(crate) fn list(built_in: &dyn BuiltIn) -> ToolPage {
    let mut page = ToolPage::default();
    let mut names = HashSet::new();
    for (index, raw) in built_in.tools().iter().enumerate() {
        match ToolDefinition::parse(raw) {
            Ok(tool) if names.insert(tool.name.clone()) => page.tools.push(tool),
            Ok(tool) => page.rejected.push(Rejected {
                index,
                name: Some(tool.name.to_string()),
                reason: "another tool of the list has the same name".to_owned(),
            }),
            Err(reason) => page.rejected.push(Rejected {
                index,
                name: None,
                reason,
            }),
        }
    }
    page
}

/// Waits for the answer of a built-in tool until the deadline.
pub(crate) async fn wait_for(
    answer: impl Future<Output = Result<Json, RpcError>>,
    deadline: Instant,
) -> UpstreamResponse {
    let started = Instant::now();
    match timeout_at(deadline, answer).await {
        Ok(answer) => answer.map(RpcResult::unread).map_err(CallError::Rpc),
        Err(_) => Err(CallError::Timeout {
            after: started.elapsed(),
            sent: true,
        }),
    }
}
