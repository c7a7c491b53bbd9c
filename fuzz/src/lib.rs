//! What the fuzz targets share: a gateway to talk to, what it can be fuzzed, a server that talks to it, and words too long to be
//! found by chance.

pub mod gateway;
pub mod http;
pub mod templates;
pub mod server;
pub mod words;
