//! A service over MCP: real pipes and sockets, and for the messages a client that nobody here
//! wrote.

mod http;
mod peer;
mod pipes;
mod support;
mod tokens;
mod tools;
