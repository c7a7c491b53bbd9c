//! What the fuzz targets share: a gateway to talk to, what it can be asked, a server that talks to it, and words too long to be
//! found by chance.

pub mod gateway;
pub mod http;
pub mod questions;
pub mod server;
pub mod words;
