//! Arguments of `mcpproxy token`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token for an agent and show it, this once
    #[command(after_help = CREATE_HELP)]
    Create(CreateTokenArguments),
    /// List the tokens
    #[command(after_help = "Example:\n  mcpproxy token list -o json")]
    List,
    /// Show what a token may do, and when it was last used
    #[command(after_help = "Example:\n  mcpproxy token show ci")]
    Show {
        /// The token's name
        name: String,
    },
    /// Revoke a token: it is refused from now on
    #[command(after_help = "Example:\n  mcpproxy token revoke ci")]
    Revoke {
        /// The token's name
        name: String,
    },
    /// Give a token another secret; the old one is refused from now on
    #[command(after_help = "Example:\n  mcpproxy token rotate ci --expires 30d")]
    Rotate {
        /// The token's name
        name: String,
        /// When it expires, such as 30d, or never [default: as long as before]
        #[arg(long)]
        expires: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateTokenArguments {
    /// A name for it: letters, digits, '.', '_' and '-'
    pub(crate) name: String,
    /// Servers it may use [default: all configured ones, but not mcpproxy]
    #[arg(long, value_delimiter = ',', value_name = "SERVER,…")]
    pub(crate) servers: Vec<String>,
    /// What its calls may do: read, write, destructive [default: read]
    #[arg(long, value_delimiter = ',', value_name = "OPERATION,…")]
    pub(crate) operations: Vec<String>,
    /// Only tools that match, as server:tool with * and ?; may be given several times
    #[arg(long, value_name = "GLOB")]
    pub(crate) tools: Vec<String>,
    /// Permissions for tools of the contract, each resource:action
    #[arg(long, value_delimiter = ',', value_name = "PERMISSION,…")]
    pub(crate) permissions: Vec<String>,
    /// Records it may see: own or all [default: own]
    #[arg(long, value_name = "own|all")]
    pub(crate) activity: Option<String>,
    /// When it expires, such as 30d, or never [default: 90d]
    #[arg(long)]
    pub(crate) expires: Option<String>,
    /// Let it call tools without annotations although it lacks the operation destructive
    #[arg(long)]
    pub(crate) unannotated: bool,
}

const CREATE_HELP: &str = "\
What a token may not use does not exist for it: it is not listed, not found and not suggested.

Examples:
  mcpproxy token create reader
  mcpproxy token create ci --servers github --operations read,write --expires 30d
  mcpproxy token create pages --tools 'github:get_*' --tools 'github:list_*'
  mcpproxy token create auditor --servers mcpproxy --permissions activity:read --activity all";
