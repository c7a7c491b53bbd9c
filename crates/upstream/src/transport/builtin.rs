//! Tools of this very program, reached without a connection.

use mcpproxy_wire::{Json, RpcError, RpcResult};
use tokio::time::{Instant, timeout_at};

use crate::CallError;
use crate::call_error::UpstreamResponse;

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
