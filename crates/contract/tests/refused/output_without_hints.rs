//! MUST NEVER: omit agentHints from the response.
//~ argument #2 of type
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Query,
    output: Card,
    cache: None,
    rate_limit: None,
    call: |params| Ok(ToolOutput::new(card()))
}
