//! Specification of an upstream: where it runs and how long anything may take.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_redact::Mask;
use mcpproxy_wire::{Json, JsonObject, RpcError};
use serde::Deserialize;

use crate::CallHead;

/// Upstream as the operator configured it, references resolved. Nothing here can be shown as a whole: it has secrets.
#[derive(Clone)]
pub struct Spec {
    /// Name in the configuration.
    pub name: Arc<str>,
    /// Way to reach it.
    pub transport: TransportSpec,
    /// Protocol to speak with it.
    pub protocol: ProtocolSetting,
    /// Time that it may take to start: `npx` and `uvx` download it first.
    pub start_timeout: Duration,
    /// Time that it may take to list its tools again.
    pub timeout: Duration,
    /// Most calls that it gets at the same time; zero counts as one.
    pub max_concurrent: usize,
    /// Time without calls after which a program is stopped and started again on use.
    pub idle_stop: Option<Duration>,
    /// Mask of its secrets in text that it produces itself.
    pub mask: Mask,
}

/// Protocol to speak with an upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolSetting {
    /// Newest one it speaks, which a probe finds out.
    #[default]
    Auto,
    /// Revisions with sessions, up to 2025-11-25.
    Legacy,
    /// Revision 2026-07-28, without sessions.
    Modern,
}

/// Way to reach an upstream.
#[derive(Clone)]
pub enum TransportSpec {
    /// Program of this machine, spoken to over its standard input and output.
    Stdio(StdioSpec),
    /// Server spoken to over Streamable HTTP.
    Http(HttpSpec),
    /// Tools of this very program.
    BuiltIn(Arc<dyn BuiltIn>),
}

/// Program of this machine.
#[derive(Clone)]
pub struct StdioSpec {
    /// Program: a path, or a name looked up in `PATH`.
    pub command: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables it gets besides those it inherits; the values may be secrets.
    pub env: Vec<(String, String)>,
    /// Variables it inherits of the gateway besides the harmless ones.
    pub inherit_env: InheritEnv,
    /// Folder in which it runs.
    pub working_dir: Option<PathBuf>,
    /// Folder of the configuration, in which it runs if no other is given; that of the gateway if it does not exist.
    pub config_dir: Option<PathBuf>,
}

/// Variables of the gateway that a server inherits besides the usual ones.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum InheritEnv {
    /// Those of these names.
    Named(Vec<String>),
    /// All but the gateway's own.
    All(AllVariables),
}

/// Word for all variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllVariables {
    /// All of them.
    All,
}

impl Default for InheritEnv {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

/// Server spoken to over Streamable HTTP.
#[derive(Clone)]
pub struct HttpSpec {
    /// Address of its MCP endpoint.
    pub url: String,
    /// Headers every request carries; the values may be secrets.
    pub headers: Vec<(String, String)>,
}

/// Tools of this very program, offered like those of any upstream.
pub trait BuiltIn: Send + Sync {
    /// Definitions, each as `tools/list` would give it.
    fn tools(&self) -> Vec<Json>;

    /// Calls one tool; gives its `CallToolResult`.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a JsonObject,
        head: &'a CallHead<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Json, RpcError>> + Send + 'a>>;
}
