//! agentHints.confidence is calculated, not hardcoded.
//~ expected `&Evidence`, found floating-point number
#[path = "shared.rs"]
mod shared;
use shared::*;

fn main() {
    let _ = AgentHints::new(0.95, ValidityPeriod::Short);
}
