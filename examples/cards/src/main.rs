//! The sample service as a program: cards over stdio, or over HTTP.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use mcpproxy_cards::Store;
use mcpproxy_contract_serve::{serve_http, serve_stdio};
use tracing_subscriber::filter::LevelFilter;

/// A sample MCP server: cards to learn with, in decks, and the reviews of them.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Serve one client over stdin and stdout; this is the default.
    #[arg(long)]
    stdio: bool,
    /// Serve over Streamable HTTP under /mcp on this address, such as 127.0.0.1:8090.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "stdio")]
    http: Option<String>,
    /// Keep everything in this file; without it, everything is gone at the end.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    log_to_stderr();
    let store = match &arguments.data {
        Some(file) => Store::open(file)
            .with_context(|| format!("cannot keep cards in '{}'", file.display()))?,
        None => Store::in_memory()?,
    };
    let service = mcpproxy_cards::service(store)?;
    match arguments.http {
        Some(address) => serve_http(service, address).await?,
        None => serve_stdio(service).await?,
    }
    Ok(())
}

/// Stdout belongs to the client. `RUST_LOG` says how much is told.
fn log_to_stderr() {
    let level = std::env::var("RUST_LOG").ok();
    let level = level.and_then(|level| level.parse().ok());
    tracing_subscriber::fmt()
        .with_max_level(level.unwrap_or(LevelFilter::INFO))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
