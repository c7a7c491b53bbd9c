//! The tool that the other cases spoil in one place each: as it stands, it compiles and registers.
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Query,
    output: Card,
    cache: Some(Ttl::minutes::<5>()),
    rate_limit: Some(RateLimit::calls::<10, 1_000>()),
    call: |params| Ok(ToolOutput::new(card(), hints()))
}
