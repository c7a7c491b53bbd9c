//! Arguments of the command line: everything that can be typed.

mod activity;
mod token;
mod upstream;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use mcpproxy_gateway::settings::Sources;

pub(crate) use activity::{
    ActivityCommand, ExportArguments, FilteredArguments, ListArguments, Look, pairs,
};

pub(crate) use token::{CreateTokenArguments, TokenCommand};
pub(crate) use upstream::{AddArguments, LogArguments, SecretsCommand, UpstreamCommand};

use crate::output::Output;

/// One safe, fast endpoint in front of every MCP server.
#[derive(Debug, Parser)]
#[command(name = "mcpproxy", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy serve --demo                                  try it with nothing else installed
  mcpproxy tools search 'create an issue'
  mcpproxy call tool-read cards:get-card --args '{\"cardId\":\"card_1\"}'
  mcpproxy activity list --intent-type destructive

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 no running gateway, 4 configuration";

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// How results are shown
    #[arg(short, long, global = true, value_enum, default_value_t)]
    pub(crate) output: Output,
    /// The configuration file [default: `mcp_config.json` in the data directory]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of all state [default: ~/.mcpproxy]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl Common {
    /// Sources of the settings, for a command without flags of its own for them.
    pub(crate) fn sources(&self) -> Sources {
        Sources {
            data_dir: self.data_dir.clone(),
            config: self.config.clone(),
            ..Sources::default()
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway
    #[command(
        after_help = "Examples:\n  mcpproxy serve --demo\n  mcpproxy serve --listen 127.0.0.1:9000"
    )]
    Serve(ServeArguments),
    /// Serve one client on standard input and output
    #[command(
        after_help = "Goes through the running gateway of the data directory; without one, runs its own.\n\nExamples, as a client would start it:\n  mcpproxy stdio\n  mcpproxy stdio --token-file ~/.config/agent.token"
    )]
    Stdio(StdioArguments),
    /// Call a tool through the variant that says what the call does
    #[command(subcommand)]
    Call(CallCommand),
    /// Find and show tools
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Show what agents did
    #[command(subcommand)]
    Activity(Box<ActivityCommand>),
    /// List, add, change and remove servers
    #[command(subcommand)]
    Upstream(UpstreamCommand),
    /// Keep secrets for references ${secret:NAME} of the configuration
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// Make, show and revoke the tokens of agents
    #[command(subcommand)]
    Token(TokenCommand),
    /// Check tools against the tool contract, and accept what a server changed
    #[command(subcommand)]
    Contract(ContractCommand),
    /// Show and check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the state of the running gateway
    #[command(after_help = "Example:\n  mcpproxy status -o json")]
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The address to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Add the built-in sample server `cards`, kept in memory
    #[arg(long)]
    pub(crate) demo: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StdioArguments {
    /// A file with the token of this client, in place of the variable `MCPPROXY_TOKEN`
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::enum_variant_names, reason = "the names are what people type")]
pub(crate) enum CallCommand {
    /// Call a tool that reads
    #[command(
        after_help = "Examples:\n  mcpproxy call tool-read github:list_repos --args '{\"org\":\"myorg\"}'\n  mcpproxy call tool-read --tool-name=github:list_repos --json_args='{}'"
    )]
    ToolRead(CallArguments),
    /// Call a tool that creates or changes something
    #[command(
        after_help = "Examples:\n  mcpproxy call tool-write github:create_issue --args @issue.json --reason 'Bug report'\n  echo '{\"title\":\"Bug\"}' | mcpproxy call tool-write github:create_issue --args -"
    )]
    ToolWrite(CallArguments),
    /// Call a tool that deletes or cannot be undone
    #[command(
        after_help = "Example:\n  mcpproxy call tool-destructive github:delete_repo --args '{\"repo\":\"test\"}' --sensitivity private"
    )]
    ToolDestructive(CallArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// The tool, as server:tool
    #[arg(
        value_name = "SERVER:TOOL",
        required_unless_present = "tool_name",
        conflicts_with = "tool_name"
    )]
    pub(crate) tool: Option<String>,
    /// The tool, as server:tool
    #[arg(long, value_name = "SERVER:TOOL")]
    pub(crate) tool_name: Option<String>,
    /// Arguments for the tool as a JSON object; @FILE reads a file, - reads standard input
    #[arg(long, visible_aliases = ["json_args", "json-args"], value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Why the call is made, for the record
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// How sensitive the data is, for the record
    #[arg(long, value_parser = ["public", "internal", "private", "unknown"])]
    pub(crate) sensitivity: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Find tools by what they do
    #[command(after_help = "Example:\n  mcpproxy tools search 'create an issue'")]
    Search {
        /// What the tool should do
        query: String,
        /// Only tools of this server
        #[arg(long)]
        server: Option<String>,
        /// Say why each tool was found
        #[arg(long)]
        explain: bool,
    },
    /// List every tool
    #[command(after_help = "Example:\n  mcpproxy tools list --server github -o json")]
    List {
        /// Only tools of this server
        #[arg(long)]
        server: Option<String>,
    },
    /// Show one tool with its schema
    #[command(after_help = "Example:\n  mcpproxy tools show github:create_issue")]
    Show {
        /// The tool, as server:tool
        #[arg(value_name = "SERVER:TOOL")]
        tool: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContractCommand {
    /// Report the checklist of the contract, line by line, for every tool
    #[command(after_help = CHECK_HELP)]
    Check {
        /// A configured server, or a JSON file with a `tools/list` result or a list of tools
        #[arg(value_name = "SERVER|FILE")]
        target: String,
        /// Call no tool; what only a call shows is not checked then
        #[arg(long)]
        no_calls: bool,
        /// Compare with what was published before: a file like FILE, or a snapshot of the test kit
        #[arg(long, value_name = "FILE")]
        against: Option<String>,
    },
    /// Let what a server announces now count as published, although it breaks what it published
    #[command(after_help = ACCEPT_HELP)]
    Accept {
        /// A configured server that announces the contract
        server: String,
        /// Only this tool, by its own name
        #[arg(long)]
        tool: Option<String>,
    },
}

const CHECK_HELP: &str = "\
What exists as a file or ends in .json is a file; everything else is the name of a server.

The tools of a server are asked for through the gateway. Those that announce the contract and are \
of class read are called with their own examples, at most 10 each, as `call tool-read` would, \
and recorded. Tools that write or destroy are never called. What a running gateway saw of the \
server before counts as well.

With --against, a name that is gone before its removal date, a parameter that is newly required or \
takes less, a field of the output that is gone and a new major version under the old name are \
violations.

Exit codes: 0 nothing is violated, 1 something is, 2 the file cannot be used

Examples:
  mcpproxy contract check cards
  mcpproxy contract check cards --no-calls -o json
  mcpproxy contract check ./tools.json
  mcpproxy contract check cards --against ./published.json";

const ACCEPT_HELP: &str = "\
A gateway remembers what each server of the contract published, and reports a change that breaks its \
callers until the server mends it. After this, what is announced now is no violation any more, and a \
tool that is gone is forgotten. It is on record.

Examples:
  mcpproxy contract accept cards
  mcpproxy contract accept cards --tool get-card";

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of the configuration file
    #[command(after_help = "Example:\n  mcpproxy config schema > mcp_config.schema.json")]
    Schema,
    /// Show the configuration in force, secrets masked
    #[command(after_help = "Example:\n  mcpproxy config show -o yaml")]
    Show,
    /// Check the configuration file and report every problem
    #[command(after_help = "Example:\n  mcpproxy config check --config ./mcp_config.json")]
    Check,
}
