//! Opening of a connection: which protocol, the greeting, the first listing.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::{ListedKind, Method, Protocol};
use tokio::time::Instant;

use super::UpstreamTask;
use crate::CallError;
use crate::client::incoming::Announcements;
use crate::lifecycle::refresher::{explain, refresh};
use crate::lifecycle::shared::SharedUpstream;
use crate::offerings::listing::{self, Listing};
use crate::protocol::connection::UpstreamConnection;
use crate::protocol::probe::{ProbeOutcome, probe};
use crate::protocol::remembered::ServerKey;
use crate::spec::{ProtocolSetting, TransportSpec};
use crate::transport::http::HttpConnection;
use crate::transport::stdio::StdioConnection;
use crate::transport::{Greeting, TransportLink};

/// Connects to the server, greets it and lists its tools; the error is for people.
///
/// A connection that does not get that far stays in the task, which ends it.
pub(super) async fn open(task: &mut UpstreamTask) -> Result<Arc<UpstreamConnection>, String> {
    let spec = &task.shared.spec;
    let protocol = match spec.protocol {
        _ if matches!(spec.transport, TransportSpec::BuiltIn(_)) => Protocol::Session,
        ProtocolSetting::Legacy => Protocol::Session,
        ProtocolSetting::Modern => Protocol::Stateless,
        ProtocolSetting::Auto => return open_in_any(task).await,
    };
    open_in(task, protocol)
        .await
        .map_err(|problem| problem.text)
}

/// Reason why a connection could not be opened.
struct OpeningProblem {
    text: String,
    /// Whether the server was there to have something against it.
    is_answer: bool,
}

/// Opens a connection in the way that worked before, or else finds out which one works.
async fn open_in_any(task: &mut UpstreamTask) -> Result<Arc<UpstreamConnection>, String> {
    let remembered = Arc::clone(&task.shared.runtime.remembered);
    let key = ServerKey::of(&task.shared.spec);
    let protocol = key.as_ref().and_then(|key| remembered.recall(key));
    let opened = match protocol {
        Some(protocol) => open_in(task, protocol).await,
        None => open_probing(task).await,
    };
    match opened {
        Ok(connection) => {
            if let Some(key) = &key {
                remembered.learn(key, connection.protocol());
            }
            task.awaits_slow_server = false;
            Ok(connection)
        }
        Err(problem) => {
            if let Some(key) = key.filter(|_| problem.is_answer) {
                remembered.forget(&key);
                task.awaits_slow_server = true;
            }
            Err(problem.text)
        }
    }
}

async fn open_in(
    task: &mut UpstreamTask,
    protocol: Protocol,
) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let deadline = Instant::now() + task.shared.spec.start_timeout;
    let connection = begin(task, protocol)?;
    let greeting = connection.greet(deadline).await.map_err(|error| {
        let method = match protocol {
            Protocol::Session => Method::Initialize,
            Protocol::Stateless => Method::ServerDiscover,
        };
        OpeningProblem::of(method, &error)
    })?;
    welcome(task, connection, greeting, deadline).await
}

async fn open_probing(task: &mut UpstreamTask) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let start_timeout = task.shared.spec.start_timeout;
    let deadline = Instant::now() + start_timeout;
    let silence = if task.awaits_slow_server {
        start_timeout
    } else {
        task.shared.runtime.probe_silence
    };
    let connection = begin(task, Protocol::Stateless)?;
    // Boxed, as it is rare, so that the futures of callers stay small.
    let protocol = match Box::pin(probe(&connection, silence, deadline)).await {
        ProbeOutcome::Stateless(greeting) => {
            return welcome(task, connection, greeting, deadline).await;
        }
        ProbeOutcome::Session(greeting) => {
            let session = Arc::new(connection.in_session());
            task.attempt = Some(Arc::clone(&session));
            match welcome(task, session, greeting, deadline).await {
                Ok(connection) => return Ok(connection),
                // It may be the probe that it did not take well.
                Err(_) => Protocol::Session,
            }
        }
        ProbeOutcome::Elsewhere(protocol) => protocol,
        ProbeOutcome::Unreachable(error) => {
            return Err(OpeningProblem::of(Method::ServerDiscover, &error));
        }
    };
    task.abandon(Duration::ZERO).await;
    open_in(task, protocol).await
}

/// Starts what a connection needs.
fn begin(
    task: &mut UpstreamTask,
    protocol: Protocol,
) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let link = start_transport(&task.shared, protocol).map_err(|text| OpeningProblem {
        text,
        is_answer: false,
    })?;
    let version = Arc::clone(&task.shared.runtime.version);
    let connection = Arc::new(UpstreamConnection::new(link.into(), protocol, version));
    task.attempt = Some(Arc::clone(&connection));
    Ok(connection)
}

/// Starts the transport of a connection; the error is for people.
fn start_transport(shared: &SharedUpstream, protocol: Protocol) -> Result<TransportLink, String> {
    let SharedUpstream { spec, runtime, .. } = shared;
    let announcements: Arc<dyn Announcements> = Arc::clone(&shared.readiness) as _;
    Ok(match &spec.transport {
        TransportSpec::Stdio(stdio) => TransportLink::Stdio(StdioConnection::start(
            &spec.name,
            stdio,
            runtime.guard.as_deref(),
            shared.mask.clone(),
            announcements,
            &shared.tail,
        )?),
        TransportSpec::Http(http) => TransportLink::Http(HttpConnection::new(
            http,
            protocol,
            runtime.connector(),
            announcements,
        )?),
        TransportSpec::BuiltIn(built_in) => TransportLink::BuiltIn(Arc::clone(built_in)),
    })
}

/// Lists the tools of a server that was greeted, and lets callers have it.
async fn welcome(
    task: &mut UpstreamTask,
    connection: Arc<UpstreamConnection>,
    greeting: Greeting,
    deadline: Instant,
) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let shared = Arc::clone(&task.shared);
    let epoch = shared.begin_listing(ListedKind::Tool);
    let listing = match greeting.capabilities.tools {
        Some(_) => listing::list(&connection, ListedKind::Tool, deadline)
            .await
            .map_err(|error| OpeningProblem::of(Method::ToolsList, &error))?,
        None => Listing::default(),
    };
    let capabilities = greeting.capabilities;
    let time_to_live = listing.time_to_live;
    let declared = (capabilities, greeting.introduction.clone());
    shared.report(ListedKind::Tool, listing, Some(declared));
    task.publish(&connection, greeting, epoch, time_to_live);
    let refreshing = refresh(shared, Arc::clone(&connection), capabilities);
    task.refresher.spawn(refreshing);
    Ok(connection)
}

impl OpeningProblem {
    fn of(method: Method, error: &CallError) -> Self {
        let remedy = match error {
            CallError::Timeout { .. } => "; raise its start_timeout if it needs longer",
            _ => "",
        };
        Self {
            text: explain(method, error) + remedy,
            is_answer: !matches!(error, CallError::Disconnected { sent: false, .. }),
        }
    }
}
