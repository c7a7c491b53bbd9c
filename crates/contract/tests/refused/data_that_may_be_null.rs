//! MUST NEVER: return null or undefined as data for successful operations.
//~ Card>: mcpproxy_contract::Data` is not satisfied
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Query,
    output: Option<Card>,
    cache: None,
    rate_limit: None,
    call: |params| Ok(ToolOutput::new(None, hints()))
}
