//! Tools of this very program, reached without a connection.

use std::collections::BTreeMap;

use mcpproxy_wire::tool::ToolPage;
use mcpproxy_wire::{Json, RpcError, RpcResult};
use tokio::time::{Instant, timeout_at};

use crate::call_error::UpstreamResponse;
use crate::{BuiltIn, CallError};

/// Lists built-in tools, each checked like those of any server.
pub(crate) fn list(built_in: &dyn BuiltIn) -> Result<ToolPage, CallError> {
    let text = serde_json::to_vec(&BTreeMap::from([("tools", built_in.tools())])).ok();
    let listed = text.and_then(|text| Json::parse(text).ok());
    let listed = listed.ok_or_else(|| CallError::malformed("its tools are no JSON"))?;
    ToolPage::parse(&listed).map_err(CallError::malformed)
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
