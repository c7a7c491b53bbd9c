//! The short form of a definition: no step can be left out.
//~ no method named `returns` found
#[path = "shared.rs"]
mod shared;
use shared::*;

fn short<T: Tool<Category = Query>>() -> Definition<T> {
    Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &["cards:read"])
        .what("Reads one card")
        .returns("both sides of the card")
        .example("show a card", json!({ "text": "x" }), json!("Question"))
        .tagged(&["cards"])
}

fn main() {}
