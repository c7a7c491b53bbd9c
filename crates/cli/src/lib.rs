//! Command line: what was typed, run, and shown.
//!
//! Nothing here holds logic that another face would need. [`main`] is the table of contents;
//! the commands are in `commands`, one file each. It is a library so that the tests can
//! build the very same program under another name.

mod arguments;
mod backend;
mod commands;
mod daemon;
mod daemon_connection;
mod error;
mod logging;
mod output;
mod own_socket;
mod progress_bar;
mod secret_input;
mod serve_lock;
mod usage_error;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Command, CommandLine, Common};
use error::CliError;

/// Exit code of a command that ran, or why it did not do what was asked.
type CommandResult = Result<ExitCode, CliError>;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    if let Some(code) = guard() {
        return code;
    }
    forbid_inspection();
    let CommandLine { common, command } = match CommandLine::try_parse() {
        Ok(read) => read,
        Err(error) => return usage_error::report(&error, std::env::args_os().skip(1)),
    };
    let outcome = run(&common, command);
    outcome.unwrap_or_else(|failed| failed.report(common.output))
}

/// A server process is started through this program itself, which then watches over it.
fn guard() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == mcpproxy_upstream::guard::ARGUMENT)
        .then(|| mcpproxy_upstream::guard::run(arguments))
}

/// Keeps other processes of the same user, the servers among them, from reading memory and environment of this one,
/// where secrets are. Children that it starts are not concerned.
fn forbid_inspection() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Every kernel has it. Without it everything works as well, only less protected.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

fn run(common: &Common, command: Command) -> CommandResult {
    logging::start(&command);
    std::panic::set_hook(Box::new(logging::log_panic));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::refused(format!("the program could not start: {error}")))?;
    let code = runtime.block_on(async {
        match command {
            Command::Serve(serve) => commands::serve::run(common, serve).await,
            Command::Stdio(stdio) => commands::stdio::run(common, &stdio).await,
            Command::Call(call) => commands::call::run(common, call).await,
            Command::Tools(tools) => commands::tools::run(common, tools).await,
            Command::Activity(activity) => commands::activity::run(common, *activity).await,
            Command::Upstream(upstream) => commands::upstream::run(common, upstream).await,
            Command::Secrets(secrets) => commands::secrets::run(common, secrets),
            Command::Token(token) => commands::token::run(common, token).await,
            Command::Contract(contract) => commands::contract::run(common, contract).await,
            Command::Config(config) => commands::config::run(common, config).await,
            Command::Status => commands::status::run(common).await,
        }
    });
    // A read of standard input cannot be interrupted, so its thread is not waited for.
    runtime.shutdown_background();
    code
}
