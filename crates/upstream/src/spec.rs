//! Specification of an upstream: where it runs and how long anything may take.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_policy::Caller;
use mcpproxy_redact::Mask;
use mcpproxy_wire::{Json, JsonObject, RpcError};
use uuid::Uuid;

/// Upstream as the operator configured it, references resolved.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Name in the configuration.
    pub name: Arc<str>,
    /// How it is reached.
    pub transport: TransportSpec,
    /// Protocol to speak with it.
    pub protocol: ProtocolSetting,
    /// How long it may take to start: `npx` and `uvx` download it first.
    pub start_timeout: Duration,
    /// The longest the upstream may take to list its tools again.
    pub timeout: Duration,
    /// The most calls it gets at the same time; zero counts as one.
    pub max_concurrent: usize,
    /// A program without calls for this long is stopped and started again on use.
    pub idle_stop: Option<Duration>,
}

/// Protocol to speak with an upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProtocolSetting {
    /// Newest one it speaks, which a probe finds out.
    #[default]
    Auto,
    /// Revisions with sessions, up to 2025-11-25.
    Legacy,
    /// Revision 2026-07-28, without sessions.
    Modern,
}

/// How an upstream is reached.
#[derive(Clone)]
pub enum TransportSpec {
    /// A program of this machine, spoken to over its standard input and output.
    Stdio(StdioSpec),
    /// A server spoken to over Streamable HTTP.
    Http(HttpSpec),
    /// Tools of this very program.
    BuiltIn(Arc<dyn BuiltIn>),
}

/// A program of this machine.
#[derive(Clone)]
pub struct StdioSpec {
    /// The program: a path, or a name looked up in `PATH`.
    pub command: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables it gets besides the harmless ones of the gateway; the values are secrets.
    pub env: Vec<(String, String)>,
    /// Folder in which it runs; that of the gateway if absent.
    pub working_dir: Option<PathBuf>,
}

/// A server spoken to over Streamable HTTP.
#[derive(Clone)]
pub struct HttpSpec {
    /// The address of its MCP endpoint.
    pub url: String,
    /// Headers every request carries; the values are secrets.
    pub headers: Vec<(String, String)>,
}

/// Tools of this very program, offered like those of any upstream.
pub trait BuiltIn: Send + Sync {
    /// The definitions, each as `tools/list` would give it.
    fn tools(&self) -> Vec<Json>;

    /// Calls one tool; gives its `CallToolResult`. `request_id` links all that is done for the request.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a JsonObject,
        caller: &'a Arc<Caller>,
        request_id: Uuid,
    ) -> Pin<Box<dyn Future<Output = Result<Json, RpcError>> + Send + 'a>>;
}

// === impl Spec ===

impl Spec {
    /// Mask for the values of headers and variables in text the upstream itself produced.
    pub(crate) fn mask(&self) -> Mask {
        let pairs = match &self.transport {
            TransportSpec::Stdio(stdio) => stdio.env.as_slice(),
            TransportSpec::Http(http) => http.headers.as_slice(),
            TransportSpec::BuiltIn(_) => &[],
        };
        Mask::new(pairs.iter().flat_map(|(_, value)| {
            // `Bearer x` is hidden whole, and `x` also where it stands alone.
            let token = value.split_once(' ').map(|(_, token)| token.to_owned());
            std::iter::once(value.clone()).chain(token)
        }))
    }
}

// === impl Debug: names are shown, values never are ===

impl fmt::Debug for TransportSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio(stdio) => stdio.fmt(formatter),
            Self::Http(http) => http.fmt(formatter),
            Self::BuiltIn(_) => formatter.write_str("BuiltIn"),
        }
    }
}

impl fmt::Debug for StdioSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments are counted only: tokens are often given there, too.
        formatter
            .debug_struct("Stdio")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &names(&self.env))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query of an address can hold a key.
        let address = self.url.split(['?', '#']).next().unwrap_or_default();
        formatter
            .debug_struct("Http")
            .field("url", &address)
            .field("headers", &names(&self.headers))
            .finish()
    }
}

fn names(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_names_and_no_values() {
        let http = HttpSpec {
            url: "https://host/mcp?key=hidden-in-query".into(),
            headers: vec![("Authorization".into(), "Bearer hidden-token".into())],
        };
        let stdio = StdioSpec {
            command: "server".into(),
            args: vec!["--token=hidden-argument".into()],
            env: vec![("TOKEN".into(), "hidden-variable".into())],
            working_dir: None,
        };
        for transport in [TransportSpec::Http(http), TransportSpec::Stdio(stdio)] {
            let text = format!("{transport:?}");
            assert!(!text.contains("hidden"), "{text}");
            assert!(text.contains("Authorization") || text.contains("TOKEN"));
        }
    }

    #[test]
    fn the_mask_hides_a_token_without_its_scheme() {
        let spec = Spec {
            name: "x".into(),
            transport: TransportSpec::Http(HttpSpec {
                url: "http://host".into(),
                headers: vec![("Authorization".into(), "Bearer topsecret".into())],
            }),
            protocol: ProtocolSetting::Auto,
            start_timeout: Duration::from_mins(1),
            timeout: Duration::from_secs(1),
            max_concurrent: 1,
            idle_stop: None,
        };
        assert_eq!(spec.mask().apply("bad token topsecret"), "bad token ***");
    }
}
