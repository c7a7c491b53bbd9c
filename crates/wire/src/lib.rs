//! JSON-RPC and MCP messages of every revision, lossless.
