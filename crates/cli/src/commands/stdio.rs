//! `mcpproxy stdio`

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::HeaderValue;
use mcpproxy_gateway::{Gateway, LogRole, Wanted, settings};
use mcpproxy_server::stdio::{Line, Lines, MOST_IN_FLIGHT};
use mcpproxy_wire::Message;
use mcpproxy_wire::json::on_one_line;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, INVALID_REQUEST, RpcError, error_response};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use crate::arguments::Common;
use crate::backend;
use crate::daemon::Daemon;
use crate::failed::Failed;

/// Answers that wait to be written.
const WAITING_ANSWERS: usize = 64;

pub(crate) async fn run(common: &Common) -> Result<ExitCode, Failed> {
    let sources = common.sources();
    let served = if let Some(daemon) = Daemon::find(&settings::data_dir(&sources)?).await {
        relay(daemon).await
    } else {
        let settings = settings::load(&sources)?;
        serve_own(backend::own(settings, Wanted::All, LogRole::Command)?).await
    };
    served.map_err(|error| Failed::refused(format!("the client's stream broke: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve_own(gateway: Arc<Gateway>) -> std::io::Result<()> {
    let served = tokio::select! {
        served = mcpproxy_server::stdio::serve(
            Arc::clone(&gateway),
            BufReader::new(tokio::io::stdin()),
            tokio::io::stdout(),
        ) => served,
        () = super::serve::interrupted() => Ok(()),
    };
    gateway.stop().await;
    served
}

/// Passes the client's messages to the running gateway, and its answers back.
async fn relay(daemon: Daemon) -> std::io::Result<()> {
    let (answers, mut waiting) = mpsc::channel::<Bytes>(WAITING_ANSWERS);
    let writer = tokio::spawn(async move {
        let mut stdout = tokio::io::stdout();
        while let Some(answer) = waiting.recv().await {
            // An upstream's line breaks would end the message here.
            let answer = String::from_utf8_lossy(&answer);
            stdout.write_all(on_one_line(&answer).as_bytes()).await?;
            stdout.write_all(b"\n").await?;
            stdout.flush().await?;
        }
        Ok::<(), std::io::Error>(())
    });
    let session = Arc::new(Relay {
        daemon,
        session_id: Mutex::default(),
    });
    let calls = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MOST_IN_FLIGHT));
    let mut lines = Lines::new(BufReader::new(tokio::io::stdin()));
    while let Some(line) = lines.next().await? {
        match line {
            Line::Message(line) if is_initialize(&line) => {
                // What follows belongs to the session this opens, so it has to wait.
                if let Some(answer) = session.exchange(line).await {
                    let _ = answers.send(answer).await;
                }
            }
            Line::Message(line) => {
                let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                    break;
                };
                let (session, answers) = (Arc::clone(&session), answers.clone());
                calls.spawn(async move {
                    if let Some(answer) = session.exchange(line).await {
                        let _ = answers.send(answer).await;
                    }
                    drop(place);
                });
            }
            Line::TooLong => {
                let error = RpcError::new(INVALID_REQUEST, "The message is too large");
                let _ = answers.send(error_response(None, &error).into()).await;
            }
        }
    }
    calls.close();
    calls.wait().await;
    session.end().await;
    drop(answers);
    writer.await.map_err(std::io::Error::other)?
}

fn is_initialize(line: &[u8]) -> bool {
    matches!(Message::parse(line), Ok(Message::Request { method, .. }) if method == "initialize")
}

/// One client's session at the running gateway.
struct Relay {
    daemon: Daemon,
    session_id: Mutex<Option<HeaderValue>>,
}

impl Relay {
    /// Sends one message; the answer, if it has one.
    async fn exchange(&self, line: Vec<u8>) -> Option<Bytes> {
        let line = Bytes::from(line);
        let session_id = self.session_id();
        match self.daemon.message(session_id, line.clone()).await {
            Ok(answer) => {
                if let Some(id) = answer.session_id {
                    *self.lock() = Some(id);
                }
                let wants_answer = !answer.body.is_empty();
                wants_answer.then(|| with_id(answer.body, &line))
            }
            Err(message) => {
                let id = Message::salvage_id(&line)?;
                let error = RpcError::new(INTERNAL_ERROR, message);
                Some(error_response(Some(id), &error).into())
            }
        }
    }

    async fn end(&self) {
        if let Some(id) = self.session_id() {
            // The gateway forgets sessions by itself; this only frees its place sooner.
            let _ = self.daemon.end_session(id).await;
        }
    }

    fn session_id(&self) -> Option<HeaderValue> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<HeaderValue>> {
        self.session_id
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Errors of the HTTP layer have no id; here each answer has to say what it answers.
fn with_id(answer: Bytes, request: &[u8]) -> Bytes {
    let Ok(Message::Response {
        id: None,
        outcome: Err(error),
    }) = Message::parse(&answer)
    else {
        return answer;
    };
    match Message::salvage_id(request) {
        Some(id) => error_response(Some(id), &error).into(),
        None => answer,
    }
}
