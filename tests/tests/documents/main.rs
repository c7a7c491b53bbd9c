//! Documents that say what the code does.

mod call_path;
mod index;
mod prose;
mod requirements;
