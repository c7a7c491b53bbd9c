//! Opening of a connection: which protocol, the greeting, the first listing.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::{ListedKind, Method, Protocol};
use tokio::time::Instant;

use super::{Retry, UpstreamTask};
use crate::client::incoming::Announcements;
use crate::lifecycle::refresher::{explain, refresh};
use crate::lifecycle::shared::SharedUpstream;
use crate::lifecycle::start::{Start, StartLimits};
use crate::offerings::listing::{self, Listing};
use crate::process::child::StartError;
use crate::process::installers::installs_first;
use crate::protocol::connection::UpstreamConnection;
use crate::protocol::probe::{ProbeOutcome, probe, probe_program};
use crate::protocol::remembered::ServerKey;
use crate::spec::{ProtocolSetting, TransportSpec};
use crate::transport::http::HttpConnection;
use crate::transport::stdio::{PrintReaders, StdioConnection};
use crate::transport::{Greeting, TransportLink};
use crate::{CallError, StartWait};

/// Connects to the server, greets it and lists its tools.
///
/// A connection that does not get that far stays in the task, which ends it.
pub(super) async fn open(
    task: &mut UpstreamTask,
    start: &Start,
) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let shared = Arc::clone(&task.shared);
    let spec = &shared.spec;
    let protocol = match spec.protocol {
        _ if matches!(spec.transport, TransportSpec::BuiltIn(_)) => Some(Protocol::Session),
        ProtocolSetting::Legacy => Some(Protocol::Session),
        ProtocolSetting::Modern => Some(Protocol::Stateless),
        ProtocolSetting::Auto => None,
    };
    match protocol {
        Some(protocol) => {
            let opening = open_in(task, start, protocol);
            while_hopeful(&shared, start, opening).await
        }
        None => open_in_any(task, start).await,
    }
}

/// Reason why a connection could not be opened.
pub(super) struct OpeningProblem {
    /// Reason, for people.
    pub(super) text: String,
    /// Whether the server was there to have something against it.
    is_answer: bool,
    pub(super) retry: Retry,
}

/// Connection that is open, and the protocol to speak the next time, if that is known.
type Opened = (Arc<UpstreamConnection>, Option<Protocol>);

/// Opens a connection, unless the server is a program for which there is no hope any more.
async fn while_hopeful<T>(
    shared: &SharedUpstream,
    start: &Start,
    opening: impl Future<Output = Result<T, OpeningProblem>>,
) -> Result<T, OpeningProblem> {
    let SharedUpstream { spec, runtime, .. } = shared;
    if !matches!(spec.transport, TransportSpec::Stdio(_)) {
        return opening.await;
    }
    let limits = StartLimits::of(spec, runtime);
    tokio::select! {
        biased;
        opened = opening => opened,
        text = start.hopeless(limits, &runtime.life_sampler) => Err(OpeningProblem {
            text,
            is_answer: true,
            retry: Retry::Later,
        }),
    }
}

/// Opens a connection in the way that worked before, or else finds out which one works.
async fn open_in_any(
    task: &mut UpstreamTask,
    start: &Start,
) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let shared = Arc::clone(&task.shared);
    let remembered = &shared.runtime.remembered;
    let key = ServerKey::of(&shared.spec);
    let protocol = key.as_ref().and_then(|key| remembered.recall(key));
    let opened = match protocol {
        Some(protocol) => {
            let opening = async {
                let connection = open_in(task, start, protocol).await?;
                Ok((connection, Some(protocol)))
            };
            while_hopeful(&shared, start, opening).await
        }
        None => while_hopeful(&shared, start, open_probing(task, start)).await,
    };
    match opened {
        Ok((connection, next_time)) => {
            if let (Some(key), Some(protocol)) = (&key, next_time) {
                remembered.learn(key, protocol);
            }
            task.awaits_slow_server = false;
            Ok(connection)
        }
        Err(problem) => {
            if let Some(key) = key.filter(|_| problem.is_answer) {
                remembered.forget(&key);
                task.awaits_slow_server = true;
            }
            Err(problem)
        }
    }
}

async fn open_in(
    task: &mut UpstreamTask,
    start: &Start,
    protocol: Protocol,
) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let deadline = deadline(&task.shared);
    let method = match protocol {
        Protocol::Session => Method::Initialize,
        Protocol::Stateless => Method::ServerDiscover,
    };
    start.ask(method);
    let connection = begin(task, start, protocol)?;
    let greeting = connection.greet(deadline).await;
    let greeting = greeting.map_err(|error| OpeningProblem::of(method, &error))?;
    welcome(task, start, connection, greeting, deadline).await
}

async fn open_probing(task: &mut UpstreamTask, start: &Start) -> Result<Opened, OpeningProblem> {
    let deadline = deadline(&task.shared);
    let silence = task.shared.runtime.probe_silence;
    start.ask(Method::ServerDiscover);
    let connection = begin(task, start, Protocol::Stateless)?;
    // Boxed, as it is rare, so that the futures of callers stay small.
    let outcome = if connection.is_program() {
        let silent = async {
            start.silent_for(silence, longest_probe(&task.shared)).await;
            start.ask(Method::Initialize);
        };
        Box::pin(probe_program(&connection, silent, silence, deadline)).await
    } else {
        let start_timeout = task.shared.spec.start_timeout;
        let silence = if task.awaits_slow_server {
            start_timeout
        } else {
            silence
        };
        Box::pin(probe(&connection, silence, deadline)).await
    };
    let (protocol, is_said) = match outcome {
        ProbeOutcome::Stateless(greeting) => {
            let opened = welcome(task, start, connection, greeting, deadline).await?;
            return Ok((opened, Some(Protocol::Stateless)));
        }
        ProbeOutcome::Session {
            greeting,
            next_time,
        } => {
            let session = Arc::new(connection.in_session());
            task.attempt = Some(Arc::clone(&session));
            match welcome(task, start, session, greeting, deadline).await {
                Ok(connection) => return Ok((connection, Some(next_time))),
                // It may be the probe that it did not take well.
                Err(_) => (Protocol::Session, true),
            }
        }
        ProbeOutcome::Elsewhere { protocol, is_said } => (protocol, is_said),
        ProbeOutcome::Unreachable(error) => {
            return Err(OpeningProblem::of(Method::ServerDiscover, &error));
        }
    };
    task.abandon(Duration::ZERO).await;
    let connection = open_in(task, start, protocol).await?;
    Ok((connection, is_said.then_some(protocol)))
}

/// Deadline for what is asked of a server while it starts. A program has its signs of life, which end sooner than this.
fn deadline(shared: &SharedUpstream) -> Instant {
    let SharedUpstream { spec, runtime, .. } = shared;
    Instant::now()
        + match &spec.transport {
            TransportSpec::Stdio(_) => 2 * StartLimits::of(spec, runtime).in_all,
            TransportSpec::Http(_) | TransportSpec::BuiltIn(_) => spec.start_timeout,
        }
}

/// Longest that a program has for its answer to the probe alone, however busy it is.
fn longest_probe(shared: &SharedUpstream) -> Duration {
    let SharedUpstream { spec, runtime, .. } = shared;
    match &spec.transport {
        TransportSpec::Stdio(stdio) if installs_first(stdio) => runtime.longest_installing_probe,
        _ => runtime.longest_probe,
    }
}

/// Starts what a connection needs.
fn begin(
    task: &mut UpstreamTask,
    start: &Start,
    protocol: Protocol,
) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let link = start_transport(&task.shared, start, protocol)?;
    if let Some(pid) = link.pid() {
        let attempt = task.failures_in_a_row.saturating_add(1);
        let started = format!("attempt {attempt} starts as process {pid}");
        task.shared.log(&started);
    }
    let version = Arc::clone(&task.shared.runtime.version);
    let connection = Arc::new(UpstreamConnection::new(link.into(), protocol, version));
    task.attempt = Some(Arc::clone(&connection));
    Ok(connection)
}

/// Starts the transport of a connection.
fn start_transport(
    shared: &SharedUpstream,
    start: &Start,
    protocol: Protocol,
) -> Result<TransportLink, OpeningProblem> {
    let SharedUpstream { spec, runtime, .. } = shared;
    let announcements: Arc<dyn Announcements> = Arc::clone(&shared.readiness) as _;
    Ok(match &spec.transport {
        TransportSpec::Stdio(stdio) => {
            let printed = PrintReaders {
                tail: shared.begin_tail(),
                log: shared.log.clone(),
                signs: Arc::clone(&start.signs),
            };
            let (guard, mask) = (runtime.guard.as_deref(), shared.mask.clone());
            let started =
                StdioConnection::start(&spec.name, stdio, guard, mask, announcements, printed);
            TransportLink::Stdio(started.map_err(|error| match error {
                StartError::Missing(text) => OpeningProblem::unsent(text, Retry::WhenThere),
                StartError::Refused(text) => OpeningProblem::unsent(text, Retry::Later),
            })?)
        }
        TransportSpec::Http(http) => {
            let connector = runtime.connector();
            let made = HttpConnection::new(http, protocol, connector, announcements);
            let made = made.map_err(|text| OpeningProblem::unsent(text, Retry::WhenConfigured));
            TransportLink::Http(made?)
        }
        TransportSpec::BuiltIn(built_in) => TransportLink::BuiltIn(Arc::clone(built_in)),
    })
}

/// Lists the tools of a server that was greeted, and lets callers have it.
async fn welcome(
    task: &mut UpstreamTask,
    start: &Start,
    connection: Arc<UpstreamConnection>,
    greeting: Greeting,
    deadline: Instant,
) -> Result<Arc<UpstreamConnection>, OpeningProblem> {
    let shared = Arc::clone(&task.shared);
    start.ask(Method::ToolsList);
    task.wait_for(StartWait::Tools);
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
    /// Problem of a server that nothing was sent to.
    fn unsent(text: String, retry: Retry) -> Self {
        Self {
            text,
            is_answer: false,
            retry,
        }
    }

    fn of(method: Method, error: &CallError) -> Self {
        let remedy = match error {
            CallError::Timeout { .. } => "; raise its start_timeout if it needs longer",
            _ => "",
        };
        Self {
            text: explain(method, error) + remedy,
            is_answer: !matches!(error, CallError::Disconnected { sent: false, .. }),
            retry: Retry::Later,
        }
    }
}
