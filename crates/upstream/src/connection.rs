//! One connection to one server, whatever it runs over.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::initialize::{self, ServerHello};
use mcpproxy_wire::revision::Era;
use mcpproxy_wire::tool::ToolPage;
use mcpproxy_wire::{Json, Revision};
use tokio::time::Instant;

use crate::pending::Answer;
use crate::shared::Shared;
use crate::spec::Transport;
use crate::{BuiltIn, CallError, Origin, builtin, http, stdio};

/// A connection that requests can be made on, by any number of callers at once.
pub(crate) enum Connection {
    Stdio(stdio::Connection),
    Http(http::Connection),
    BuiltIn(Arc<dyn BuiltIn>),
}

/// The end of a connection that nobody here asked for.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) reason: Arc<str>,
    /// The server is well and only wants to be greeted again.
    pub(crate) is_expired: bool,
}

/// What a server said of itself when the connection was opened.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) server_info: Option<Json>,
    pub(crate) revision: Option<Revision>,
    pub(crate) has_tools: bool,
    /// Whether every change of its tools will reach us from now on.
    pub(crate) announces: bool,
}

/// Reads the answer to the greeting and checks that we speak its revision.
pub(crate) fn read_hello(answer: &Json) -> Result<(ServerHello, Revision), CallError> {
    let hello = ServerHello::parse(answer).map_err(CallError::malformed)?;
    let revision = Revision::parse(&hello.protocol_version)
        .filter(|revision| revision.era() == Era::Session)
        .ok_or_else(|| {
            let named: String = hello.protocol_version.chars().take(40).collect();
            CallError::unavailable(format!(
                "it answers initialize with revision '{named}', which has no sessions we know"
            ))
        })?;
    Ok((hello, revision))
}

// === impl Connection ===

impl Connection {
    /// Starts what the connection needs, without waiting; the error is for people.
    pub(crate) fn new(shared: &Shared) -> Result<Self, String> {
        let Shared {
            spec, board, tail, ..
        } = shared;
        Ok(match &spec.transport {
            Transport::Stdio(stdio) => {
                let guard = shared.runtime.guard.as_deref();
                Self::Stdio(stdio::Connection::start(
                    &spec.name,
                    stdio,
                    guard,
                    shared.mask.clone(),
                    board,
                    tail,
                )?)
            }
            Transport::Http(http) => {
                let connector = shared.runtime.connector();
                Self::Http(http::Connection::new(http, connector, board)?)
            }
            Transport::BuiltIn(built_in) => Self::BuiltIn(Arc::clone(built_in)),
        })
    }

    /// Opens the session.
    pub(crate) async fn greet(
        &self,
        version: &str,
        deadline: Instant,
    ) -> Result<Greeting, CallError> {
        let params = || initialize::params(Revision::LATEST_WITH_SESSION, version).to_string();
        let (hello, revision, announces) = match self {
            Self::Stdio(stdio) => {
                let answer = stdio.request("initialize", &params(), deadline).await?;
                let (hello, revision) = read_hello(&answer)?;
                stdio
                    .notify("notifications/initialized", "{}", deadline)
                    .await?;
                let announces = hello.announces_tool_changes;
                (hello, revision, announces)
            }
            Self::Http(http) => {
                let (hello, revision) = http.greet(&params(), deadline).await?;
                // Its own stream of events tells when they reach us.
                (hello, revision, false)
            }
            Self::BuiltIn(_) => {
                return Ok(Greeting {
                    server_info: None,
                    revision: None,
                    has_tools: true,
                    announces: false,
                });
            }
        };
        Ok(Greeting {
            server_info: hello.server_info,
            revision: Some(revision),
            has_tools: hello.has_tools,
            announces,
        })
    }

    /// One page of the server's tools.
    pub(crate) async fn list(
        &self,
        params: &str,
        deadline: Instant,
    ) -> Result<ToolPage, CallError> {
        let answer = match self {
            Self::BuiltIn(built_in) => return Ok(builtin::list(built_in.as_ref())),
            Self::Stdio(stdio) => stdio.request("tools/list", params, deadline).await?,
            Self::Http(http) => http.request("tools/list", params, deadline).await?,
        };
        ToolPage::parse(&answer).map_err(CallError::malformed)
    }

    /// Calls a tool. `arguments` is the text of one JSON object.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &str,
        origin: Origin<'_>,
        deadline: Instant,
    ) -> Answer {
        if let Self::BuiltIn(built_in) = self {
            return builtin::call(built_in.as_ref(), tool, arguments, origin, deadline).await;
        }
        let mut params = String::with_capacity(arguments.len() + tool.len() + 32);
        params.push_str(r#"{"name":"#);
        params.push_str(&serde_json::Value::from(tool).to_string());
        params.push_str(r#","arguments":"#);
        params.push_str(arguments);
        params.push('}');
        match self {
            Self::Stdio(stdio) => stdio.request("tools/call", &params, deadline).await,
            Self::Http(http) => http.request("tools/call", &params, deadline).await,
            Self::BuiltIn(_) => Err(CallError::unavailable("the tool is built in")),
        }
    }

    /// Whether one call can break off without the connection being over.
    pub(crate) fn outlives_a_call(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Waits for an end that nobody here asked for.
    pub(crate) async fn lost(&self) -> Lost {
        match self {
            Self::Stdio(stdio) => Lost {
                reason: stdio.closed().await,
                is_expired: false,
            },
            Self::Http(http) => http.lost().await,
            Self::BuiltIn(_) => std::future::pending().await,
        }
    }

    /// Ends the connection and what runs behind it.
    pub(crate) async fn stop(&self, grace: Duration) {
        match self {
            Self::Stdio(stdio) => stdio.stop(grace).await,
            Self::Http(http) => http.stop(grace).await,
            Self::BuiltIn(_) => {}
        }
    }

    /// The process behind it.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Stdio(stdio) => stdio.pid,
            Self::Http(_) | Self::BuiltIn(_) => None,
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Stdio(_) => "Stdio",
            Self::Http(_) => "Http",
            Self::BuiltIn(_) => "BuiltIn",
        })
    }
}
