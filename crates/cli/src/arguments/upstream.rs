//! Arguments of `mcpproxy upstream` and `mcpproxy secrets`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum UpstreamCommand {
    /// List the servers, how they are, and the command that mends what is not well
    #[command(
        after_help = "Without a running gateway no server is started.\n\nExample:\n  mcpproxy upstream list -o json"
    )]
    List,
    /// Add a server, and start it to see that it works
    #[command(after_help = ADD_HELP)]
    Add(Box<AddArguments>),
    /// Remove a server from the configuration
    #[command(
        after_help = "The comments that belong to its entry go with it.\n\nExample:\n  mcpproxy upstream remove files"
    )]
    Remove(NamedServer),
    /// Use a server again
    #[command(after_help = "Example:\n  mcpproxy upstream enable files")]
    Enable(NamedServer),
    /// Use a server no more, and keep its entry
    #[command(after_help = "Example:\n  mcpproxy upstream disable files")]
    Disable(NamedServer),
    /// Start a server of the running gateway anew, with the variables and secrets of now
    #[command(
        after_help = "Calls that are under way there are lost.\n\nExample:\n  mcpproxy upstream restart files"
    )]
    Restart(NamedServer),
    /// List the tools of a server
    #[command(after_help = "Example:\n  mcpproxy upstream tools files")]
    Tools(NamedServer),
    /// Show what a server wrote for people
    #[command(
        after_help = "Examples:\n  mcpproxy upstream logs files\n  mcpproxy upstream logs files -f -n 200"
    )]
    Logs(LogArguments),
    /// Show everything about a server
    #[command(after_help = "Example:\n  mcpproxy upstream inspect files -o json")]
    Inspect(NamedServer),
}

#[derive(Debug, Args)]
pub(crate) struct NamedServer {
    /// The server's name
    #[arg(value_name = "NAME")]
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// A name for it: letters, digits, '.', '_' and '-'
    pub(crate) name: Option<String>,
    /// Its address, if it is reached over HTTP
    #[arg(conflicts_with_all = ["command", "json"])]
    pub(crate) url: Option<String>,
    /// The program that it is, with its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "json")]
    pub(crate) command: Vec<String>,
    /// What a client has in its file: all of it, a part, or one entry; - reads standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) json: Option<String>,
    /// A variable of the program; a value that looks secret is kept in the data directory
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header of every request; a value that looks secret is kept in the data directory
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// A secret variable; without a value it is asked for, or read from standard input
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) secret_env: Vec<String>,
    /// A secret header; without a value it is asked for, or read from standard input
    #[arg(long, value_name = "NAME[: VALUE]")]
    pub(crate) secret_header: Vec<String>,
    /// The folder the program starts in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Add it although it cannot be started
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// The server's name
    #[arg(value_name = "NAME")]
    pub(crate) server: String,
    /// Go on with what it writes from now on
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// How many of the last lines
    #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) lines: u32,
}

const ADD_HELP: &str = "\
The entry is written into the configuration file, where comments and order stay as they are. A \
server that cannot be started is not added.

A value that looks secret, or is given by --secret-env or --secret-header, is kept in the data \
directory, and the entry refers to it by ${secret:SERVER.NAME}. Other users of the machine can see \
the arguments of a command while it runs: leave the value out, and it is asked for.

Examples:
  mcpproxy upstream add files -- npx -y @modelcontextprotocol/server-filesystem /data
  mcpproxy upstream add issues https://mcp.example.com/mcp --secret-header Authorization
  mcpproxy upstream add --json '{ \"mcpServers\": { \"time\": { \"command\": \"uvx\", \"args\": [\"mcp-server-time\"] } } }'
  mcpproxy upstream add --json - < mcp.json";

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Keep a secret for references ${secret:NAME}
    #[command(
        after_help = "The value is asked for, or read from standard input.\n\nExamples:\n  mcpproxy secrets set github.TOKEN\n  mcpproxy secrets set github.TOKEN < token.txt"
    )]
    Set(NamedSecret),
    /// List the names of the secrets that are kept, and of those that are missing
    #[command(after_help = "Example:\n  mcpproxy secrets list -o json")]
    List,
    /// Remove a secret
    #[command(after_help = "Example:\n  mcpproxy secrets remove github.TOKEN")]
    Remove(NamedSecret),
}

#[derive(Debug, Args)]
pub(crate) struct NamedSecret {
    /// The secret's name: letters, digits, '.', '_' and '-'
    pub(crate) name: String,
}
