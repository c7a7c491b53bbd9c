//! MUST NEVER: return null or undefined as data for successful operations.
//~ the trait bound `(): mcpproxy_contract::Data` is not satisfied
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Query,
    output: (),
    cache: None,
    rate_limit: None,
    call: |params| Ok(ToolOutput::new((), hints()))
}
