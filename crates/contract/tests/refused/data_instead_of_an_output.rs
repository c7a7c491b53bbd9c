//! MUST ALWAYS: return the ToolResult structure; data alone is not an answer.
//~ expected `ToolOutput<Card>`, found `Card`
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Query,
    output: Card,
    cache: None,
    rate_limit: None,
    call: |params| Ok(card())
}
