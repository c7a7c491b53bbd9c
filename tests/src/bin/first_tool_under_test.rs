//! The tool of the guide for authors, built in this package so that its tests always run the current code.

include!("../../../examples/first-tool/src/main.rs");
