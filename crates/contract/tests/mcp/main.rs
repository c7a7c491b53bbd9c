//! A service over MCP: real pipes, real sockets, and a client that nobody here wrote.
