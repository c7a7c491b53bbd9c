//! There is no way around the calculation.
//~ Confidence: serde::Deserialize<'de>` is not satisfied
#[path = "shared.rs"]
mod shared;
use shared::*;

fn main() {
    let _: Confidence = serde_json::from_str("0.95").unwrap();
    let _ = Confidence::from(0.95);
    let _ = Confidence::default();
}
