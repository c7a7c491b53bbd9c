//! How well search finds tools, how fast, and what its answers cost an agent in tokens.
//!
//! Everything goes through the product's own index, search and presentation. Corpus and queries are files, so that
//! nothing here is made for one of them.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

mod corpus;
mod descent;
mod fit;
mod quality;
mod speed;
mod tokens;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Measures search.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure how well labelled queries find their tools
    Quality {
        /// Tools: JSON with `tools`, each with `server`, `tool`, `description` and `inputSchema`
        corpus: PathBuf,
        /// Queries: JSON with `queries`, each with `query`, `style` and `labels` (`tool_id`, `relevance`)
        queries: PathBuf,
        /// Parts that the queries are cut into, to see how much the numbers depend on them
        #[arg(long, default_value_t = 5)]
        folds: usize,
        /// Print the queries that do not find all of their tools
        #[arg(long)]
        misses: bool,
    },
    /// Measure how long indexing and searching take, with tools that are made up
    Speed {
        /// Numbers of tools
        #[arg(default_values_t = [100, 1_000, 10_000, 50_000])]
        tools: Vec<usize>,
    },
    /// Fit the matrix that moves requests towards tools, and ask servers that it was not fitted to
    Fit {
        /// Tools and sentences to fit it to, both as for `quality`
        #[arg(long = "learn", num_args = 2, value_names = ["CORPUS", "QUERIES"], required = true)]
        learned: Vec<PathBuf>,
        /// Tools and queries that are only asked
        #[arg(long = "check", num_args = 2, value_names = ["CORPUS", "QUERIES"])]
        checked: Vec<PathBuf>,
        /// File for the matrix that is fitted to all sentences
        #[arg(long)]
        output: Option<PathBuf>,
    },
    /// Count the tokens of the menu, of answers and of listing all tools
    Tokens {
        /// Tools, as for `quality`
        corpus: PathBuf,
        /// Queries, as for `quality`
        queries: PathBuf,
        /// A `CallToolResult` as `mcpproxy call -o json` prints it
        #[arg(long)]
        call: Option<PathBuf>,
    },
}

fn main() -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        println!("this is a debug build, its times mean nothing: use --release");
    }
    match Arguments::parse().command {
        Command::Quality {
            corpus,
            queries,
            folds,
            misses,
        } => quality::run(&corpus, &queries, folds, misses),
        Command::Speed { tools } => speed::run(&tools),
        Command::Fit {
            learned,
            checked,
            output,
        } => fit::run(&learned, &checked, output.as_deref()),
        Command::Tokens {
            corpus,
            queries,
            call,
        } => tokens::run(&corpus, &queries, call.as_deref()),
    }
}
