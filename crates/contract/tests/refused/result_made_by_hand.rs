//! MUST NEVER: a result without agentHints, or without metadata: only the pipeline makes one.
//~ with struct literal syntax due to private fields
#[path = "shared.rs"]
mod shared;
use mcpproxy_contract::{ResultOutcome, ToolResult};
use shared::*;

fn main() {
    let _ = ToolResult {
        outcome: ResultOutcome::Data(json!({})),
    };
}
