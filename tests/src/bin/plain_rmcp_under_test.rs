//! The service of the comparison that is written with rmcp alone, likewise built in this package.

include!("../../../examples/first-tool/compared/rmcp.rs");
