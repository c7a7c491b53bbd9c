//! Connections to MCP servers: one task for each, none in the way of another.
