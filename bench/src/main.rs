//! What the gateway costs: the same calls direct and through it, interleaved in one run; what its log costs; and what
//! the pipeline of the tool contract costs.
//!
//! Starts echo upstreams and a gateway of its own, so that nothing needs to be set up. Must never measure a
//! gateway or a log that it did not start or fill itself.

mod call;
mod client;
mod contract;
mod echo;
mod gateway;
mod load;
mod log;
mod measure;
mod process;
mod protocol;
mod report;
mod sdk;
mod section;
mod stats;
mod upstream;

use std::io::{self, IsTerminal, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use crate::call::Operation;
use crate::measure::Subject;
use crate::protocol::Protocol;
use crate::section::{Protocols, Section};
use crate::upstream::Upstream;

/// Measures what a call through the gateway costs over the same call made directly.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Seconds for each number of clients, direct and gateway together
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,

    /// The gateway to measure; without it `mcpproxy` beside this program
    #[arg(long, value_name = "PATH")]
    gateway: Option<PathBuf>,

    /// Another gateway to compare it with, in place of the call made directly
    #[arg(long, value_name = "PATH")]
    baseline: Option<PathBuf>,

    /// What the measured call does
    #[arg(long, value_enum, default_value_t = Operation::Read)]
    operation: Operation,

    /// What clients, gateway and upstream speak with each other
    #[arg(long, alias = "era", value_enum, default_value_t = Protocols::Both)]
    protocol: Protocols,

    /// The upstream behind both sides; without it one after the other, only the bare one where there are no sessions
    #[arg(long, value_enum)]
    upstream: Option<Upstream>,

    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,

    #[command(subcommand)]
    command: Option<Other>,
}

#[derive(Subcommand)]
enum Other {
    /// Measure the activity log: inserts, pages, and how long a durable write takes
    Log(log::Arguments),
    /// Measure the pipeline of the tool contract: a handler called directly and through it
    Contract(contract::Arguments),
    /// Serve as the echo upstream until standard input ends
    #[command(name = gateway::ECHO_COMMAND, hide = true)]
    EchoUpstream {
        /// How it is built
        upstream: Upstream,
        /// What it has to speak
        protocol: Protocol,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Some(Other::EchoUpstream { upstream, protocol }) => serve_echo(upstream, protocol),
        Some(Other::Log(arguments)) => report(log::run(arguments, progress)),
        Some(Other::Contract(arguments)) => report(contract::run(arguments, progress)),
        None => report(run(arguments)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn report(run: impl Future<Output = anyhow::Result<String>>) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        note("this is a debug build of the benchmark, its numbers mean little: use --release");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            // Dropping the run is what ends its processes and removes its files, so the signals have to pass
            // through here.
            report = run => report,
            _ = tokio::signal::ctrl_c() => bail!("Interrupted"),
            _ = terminate.recv() => bail!("Terminated"),
        }
    })?;
    write!(io::stdout().lock(), "{report}").context("The report could not be printed")
}

async fn run(arguments: Arguments) -> anyhow::Result<String> {
    let binary = gateway::find_binary(arguments.gateway)?;
    let baseline = match arguments.baseline {
        Some(path) => Some(gateway::find_binary(Some(path))?),
        None => None,
    };
    let mut measured = Vec::new();
    for section in Section::chosen(arguments.protocol, arguments.upstream) {
        let subject = Subject {
            binary: &binary,
            baseline: baseline.as_deref(),
            section,
            operation: arguments.operation,
            level_time: Duration::from_secs(arguments.seconds),
        };
        measured.push(measure::run(subject, progress).await?);
    }
    Ok(if arguments.json {
        format!("{:#}\n", report::json(&measured))
    } else {
        report::table(&measured)
    })
}

/// Becomes the echo upstream: says where it listens and stays until whoever started it is gone.
fn serve_echo(upstream: Upstream, protocol: Protocol) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let workers = std::thread::available_parallelism()?.get();
    let address = upstream.start(protocol, listener, workers)?;
    writeln!(io::stdout().lock(), "{address}")?;
    let mut ignored = [0; 64];
    while io::stdin().lock().read(&mut ignored)? > 0 {}
    Ok(())
}

fn progress(step: &str) {
    if io::stderr().is_terminal() {
        note(step);
    }
}

/// A line beside the report; one that cannot be written is not worth ending a run for.
fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
