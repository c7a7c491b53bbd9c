//! A limit of no calls makes no tool.
//~ a tool that may never be called is no tool
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Query,
    output: Card,
    cache: None,
    rate_limit: Some(RateLimit::calls::<0, 1_000>()),
    call: |params| Ok(ToolOutput::new(card(), hints()))
}
