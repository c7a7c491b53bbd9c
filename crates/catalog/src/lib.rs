//! The tools that are known, and the search over them.
