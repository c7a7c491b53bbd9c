//! The server that the official conformance suite asks for, built with the official SDK: its tools, prompts and resources
//! by name, in both protocols, and a few tools more for tests of our own.
//!
//! It stands in for a server nobody here wrote, so it must never know of the gateway, nor share code with it.
//! `--protocol` lets it play one that is older or newer than the other protocol.

mod ask;
mod handler;
mod http;
mod log;
mod prompts;
mod resources;
mod state;
mod stdio;
mod tools;

use std::net::SocketAddr;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use state::Shared;

/// A server with everything that the conformance suite asks for.
#[derive(Debug, Parser)]
struct Arguments {
    /// Serve Streamable HTTP under this address; port 0 takes a free one.
    #[arg(long, conflicts_with = "stdio", required_unless_present = "stdio")]
    http: Option<SocketAddr>,
    /// Serve one client over standard input and output.
    #[arg(long)]
    stdio: bool,
    /// Which protocols to speak.
    #[arg(long, value_enum, default_value_t = Protocol::Both)]
    protocol: Protocol,
}

/// Which protocols the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// All revisions.
    Both,
    /// Revisions with `initialize` and sessions, up to 2025-11-25.
    Session,
    /// Revisions without, from 2026-07-28 on.
    Stateless,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let shared = Arc::new(Shared::new(arguments.protocol));
    match arguments.http {
        Some(address) => http::serve(address, shared).await,
        None => stdio::serve(shared).await,
    }
}
