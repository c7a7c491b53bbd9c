//! Opening a connection: which wire protocol, the greeting, the first listing.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::Method;
use mcpproxy_wire::Protocol;
use tokio::time::Instant;

use super::{Task, explain};
use crate::CallError;
use crate::connection::{Connection, Greeting};
use crate::eras::Key;
use crate::listing;
use crate::probe::{self, Outcome, Question};
use crate::shelf::keeper::Keeper;
use crate::spec::{ProtocolSetting, Transport};

/// Connects to the server, greets it and lists its tools; the error is for people.
///
/// A connection that does not get that far stays in the task, which ends it.
pub(super) async fn open(task: &mut Task) -> Result<Arc<Connection>, String> {
    let spec = &task.shared.spec;
    let protocol = match spec.protocol {
        _ if matches!(spec.transport, Transport::BuiltIn(_)) => Protocol::Session,
        ProtocolSetting::Legacy => Protocol::Session,
        ProtocolSetting::Modern => Protocol::Stateless,
        ProtocolSetting::Auto => return open_in_any(task).await,
    };
    open_in(task, protocol).await.map_err(Problem::into_text)
}

/// Why a connection could not be opened.
struct Problem {
    text: String,
    /// Whether the server was there to have something against it.
    is_answer: bool,
}

/// Opens a connection in the way that worked before, or else finds out which one works.
async fn open_in_any(task: &mut Task) -> Result<Arc<Connection>, String> {
    let eras = Arc::clone(&task.shared.runtime.eras);
    let key = Key::of(&task.shared.spec);
    let remembered = key.as_ref().and_then(|key| eras.recall(key));
    let opened = match remembered {
        Some(protocol) => open_in(task, protocol).await,
        None => open_asking(task).await,
    };
    match opened {
        Ok(connection) => {
            if let Some(key) = &key {
                eras.learn(key, connection.protocol());
            }
            task.is_patient = false;
            Ok(connection)
        }
        Err(problem) => {
            if let Some(key) = key.filter(|_| problem.is_answer) {
                eras.forget(&key);
                task.is_patient = true;
            }
            Err(problem.text)
        }
    }
}

async fn open_in(task: &mut Task, protocol: Protocol) -> Result<Arc<Connection>, Problem> {
    let deadline = Instant::now() + task.shared.runtime.start_timeout;
    let connection = begin(task, protocol)?;
    let version = task.shared.runtime.version.clone();
    let greeting = connection
        .greet(&version, deadline)
        .await
        .map_err(|error| Problem::of(greeting_of(protocol), &error))?;
    welcome(task, connection, greeting, deadline).await
}

async fn open_asking(task: &mut Task) -> Result<Arc<Connection>, Problem> {
    let runtime = task.shared.runtime.clone();
    let deadline = Instant::now() + runtime.start_timeout;
    let patience = if task.is_patient {
        runtime.start_timeout
    } else {
        runtime.probe_patience
    };
    let connection = begin(task, Protocol::Stateless)?;
    let question = Question {
        version: &runtime.version,
        patience,
        deadline,
    };
    // In a place of its own: it is rare, and all that leads here would carry its size along.
    let protocol = match Box::pin(probe::ask(&connection, question)).await {
        Outcome::Stateless(greeting) => return welcome(task, connection, greeting, deadline).await,
        Outcome::Session(greeting) => {
            let session = Arc::new(connection.in_session());
            task.attempt = Some(Arc::clone(&session));
            match welcome(task, session, greeting, deadline).await {
                Ok(connection) => return Ok(connection),
                // It may be the question that it did not take well.
                Err(_) => Protocol::Session,
            }
        }
        Outcome::Elsewhere(protocol) => protocol,
        Outcome::Unreachable(error) => {
            return Err(Problem::of(Method::ServerDiscover.as_str(), &error));
        }
    };
    task.abandon(Duration::ZERO).await;
    open_in(task, protocol).await
}

/// Starts what a connection needs.
fn begin(task: &mut Task, protocol: Protocol) -> Result<Arc<Connection>, Problem> {
    let connection = Connection::new(&task.shared, protocol).map_err(|text| Problem {
        text,
        is_answer: false,
    })?;
    let connection = Arc::new(connection);
    task.attempt = Some(Arc::clone(&connection));
    Ok(connection)
}

/// Lists the tools of a server that was greeted, and lets callers have it.
async fn welcome(
    task: &mut Task,
    connection: Arc<Connection>,
    greeting: Greeting,
    deadline: Instant,
) -> Result<Arc<Connection>, Problem> {
    let mark = task.shared.board.begin_listing();
    let mut time_to_live = None;
    if greeting.has_tools {
        time_to_live = task
            .list(&connection, deadline)
            .await
            .map_err(|error| Problem::of(Method::ToolsList.as_str(), &error))?;
    } else {
        task.report(listing::Listing::default());
    }
    let (lists, capabilities) = (greeting.announced_lists(), greeting.capabilities);
    task.publish(&connection, greeting, mark, time_to_live);
    if !lists.is_empty() {
        connection.listen(&task.shared.board, lists);
    }
    task.keeper = Some(Keeper::start(&task.shared, &connection, capabilities));
    Ok(connection)
}

fn greeting_of(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Session => Method::Initialize.as_str(),
        Protocol::Stateless => Method::ServerDiscover.as_str(),
    }
}

// === impl Problem ===

impl Problem {
    fn of(method: &str, error: &CallError) -> Self {
        Self {
            text: explain(method, error),
            is_answer: !matches!(error, CallError::Disconnected { sent: false, .. }),
        }
    }

    fn into_text(self) -> String {
        self.text
    }
}
