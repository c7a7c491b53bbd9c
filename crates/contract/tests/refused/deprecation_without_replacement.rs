//! A deprecated tool names what replaces it.
//~ with struct literal syntax due to private fields
#[path = "shared.rs"]
mod shared;
use shared::*;

fn main() {
    let _ = Deprecation {
        since: Version::new(1, 0, 0),
    };
}
