//! What the fuzz targets share: a gateway to talk to, what it can be asked, and words too long to be
//! found by chance.

pub mod gateway;
pub mod http;
pub mod questions;
pub mod words;
