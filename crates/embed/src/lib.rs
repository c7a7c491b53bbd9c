//! Short texts as vectors: texts that mean something alike have vectors that are alike.
//!
//! The model is all-MiniLM-L6-v2 with weights of eight bits, embedded in the program. It is used where it lies: its pages
//! are read from the program's file when they are first needed, and the system may take them back at any time. What is
//! computed here needs no network, no other program and no memory of its own beyond that of one text.
//!
//! `tokens` cuts a text into the words and parts of words that the model knows, `model` finds the weights, `forward`
//! computes, and `vector` is what comes out. What people ask for is said otherwise than what tools do: `request` moves
//! the vector of the one towards that of the other.

mod encoder;
#[cfg(feature = "model")]
mod forward;
#[cfg(feature = "model")]
mod loaded;
#[cfg(feature = "model")]
mod model;
#[cfg(not(feature = "model"))]
mod no_model;
mod request;
#[cfg(feature = "model")]
mod tokens;
mod vector;

pub use encoder::Encoder;
pub use request::RequestMatrix;
pub use vector::{DIMENSIONS, Vector};

/// Name of the model and of the way texts are taken apart. Vectors of another one cannot be compared with these.
pub const MODEL: &str = "all-MiniLM-L6-v2 int8 1";

#[cfg(all(test, feature = "model"))]
mod tests;
