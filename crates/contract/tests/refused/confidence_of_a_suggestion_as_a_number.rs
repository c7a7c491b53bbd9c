//! The confidence of a suggestion is calculated as well.
//~ expected `Confidence`, found floating-point number
#[path = "shared.rs"]
mod shared;
use shared::*;

fn rate(suggestion: Suggestion) -> Suggestion {
    suggestion.confident(0.92)
}

fn main() {}
