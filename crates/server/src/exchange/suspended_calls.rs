//! Suspended calls: their upstreams wait for input of clients that cannot be sent requests.
//!
//! Such a client gets the client requests as the result of its request and repeats the request with
//! the responses. Until then the call is suspended: it is still open at its server, and known here by a
//! state that nobody can guess, for one use and only for the very request it was given to.

mod call;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_gateway::client::ClientMessage;
use mcpproxy_policy::Rights;
use mcpproxy_wire::{Json, Method, RpcError};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::endpoint::Endpoint;
use super::params::RequestParams;
use super::reply::{Outbound, WAITING_MESSAGES};
use super::request::Request;
use super::request_state;
use super::running_call::RunningCall;
use call::SuspendableCall;

/// Most calls that are suspended at a time; beyond it servers are told that they get no answer.
const MOST_SUSPENDED: usize = 1024;

/// All suspended calls.
#[derive(Debug)]
pub(crate) struct SuspendedCalls {
    by_state: Mutex<HashMap<String, SuspendedCall>>,
    tasks: TaskTracker,
    /// Cancelled when nobody can carry a call on any more.
    stopping: CancellationToken,
}

/// Suspended call, as it is found by its state.
#[derive(Debug)]
struct SuspendedCall {
    binding: Arc<Binding>,
    resume: oneshot::Sender<Resume>,
}

/// Responses that a call goes on with, and where its messages go from now on.
#[derive(Debug)]
struct Resume {
    responses: HashMap<String, Json>,
    out: mpsc::Sender<Outbound>,
}

/// Facts that a request has in common with the one it repeats.
#[derive(Debug, PartialEq)]
pub(crate) struct Binding {
    rights: Rights,
    client: (Option<String>, Option<String>),
    endpoint: Endpoint,
    method: Method,
    /// Name and arguments of the call.
    params: Value,
}

// === impl SuspendedCalls ===

impl SuspendedCalls {
    /// Table of no calls yet; they end with `stopping`.
    pub(crate) fn new(stopping: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            by_state: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping,
        })
    }

    /// Goes on with a call whose upstream has something for its client. Dropping the receiver
    /// drops the call; its result may be that input is required, and then the call is suspended.
    pub(crate) fn run(
        self: &Arc<Self>,
        first: ClientMessage,
        call: RunningCall,
        binding: Binding,
        limit: Duration,
    ) -> mpsc::Receiver<Outbound> {
        let (out, messages) = mpsc::channel(WAITING_MESSAGES);
        let call = SuspendableCall {
            table: Arc::clone(self),
            call,
            binding: Arc::new(binding),
            limit,
            open: Vec::new(),
            requests: 0,
        };
        self.tasks.spawn(call.run(first, out));
        messages
    }

    /// Resumes a suspended call. A refusal leaves it as it is.
    pub(crate) fn resume(
        &self,
        state: &str,
        binding: &Binding,
        params: &RequestParams,
    ) -> Result<mpsc::Receiver<Outbound>, RpcError> {
        let responses = responses(params)?;
        let call = {
            let mut by_state = self.lock();
            let call = by_state.get(state).ok_or_else(unknown_state)?;
            if *call.binding != *binding {
                let message = "This requestState belongs to another request: repeat the one that it was given to, with nothing but inputResponses and requestState added";
                return Err(RpcError::invalid_params(message));
            }
            by_state.remove(state).ok_or_else(unknown_state)?
        };
        let (out, messages) = mpsc::channel(WAITING_MESSAGES);
        let resume = Resume { responses, out };
        call.resume.send(resume).map_err(|_| unknown_state())?;
        Ok(messages)
    }

    /// Waits for the end of all calls, after `stopping` was cancelled.
    pub(crate) async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Suspends a call under a new state, and gives what resumes it; nothing if there are too many.
    fn suspend(
        self: &Arc<Self>,
        binding: &Arc<Binding>,
    ) -> Option<(SuspendedPlace, oneshot::Receiver<Resume>)> {
        let (resume, resumed) = oneshot::channel();
        let mut by_state = self.lock();
        if by_state.len() >= MOST_SUSPENDED {
            return None;
        }
        let state = request_state::new();
        let binding = Arc::clone(binding);
        by_state.insert(state.clone(), SuspendedCall { binding, resume });
        drop(by_state);
        let table = Arc::clone(self);
        Some((SuspendedPlace { table, state }, resumed))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, SuspendedCall>> {
        self.by_state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Place of a call in the table, until this is dropped.
struct SuspendedPlace {
    table: Arc<SuspendedCalls>,
    state: String,
}

impl SuspendedPlace {
    /// Gives the place up; false if somebody just resumes the call.
    fn leave(&self) -> bool {
        self.table.lock().remove(&self.state).is_some()
    }
}

impl Drop for SuspendedPlace {
    fn drop(&mut self) {
        self.leave();
    }
}

// === impl Binding ===

impl Binding {
    /// Binding of a request and those that repeat it.
    pub(crate) fn of(request: &Request) -> Self {
        let is_repeated = |name: &str| !["inputResponses", "requestState"].contains(&name);
        let params = request.params.members();
        let params = params.filter(|(name, _)| is_repeated(name));
        let params = params.map(|(name, json)| (name.to_owned(), json.to_value()));
        let caller = &request.caller;
        Self {
            rights: caller.rights.clone(),
            client: (caller.client_name.clone(), caller.client_version.clone()),
            endpoint: request.endpoint.clone(),
            method: request.method,
            params: params.collect(),
        }
    }
}

/// Responses that a repeated request brings, by the keys of the client requests.
fn responses(params: &RequestParams) -> Result<HashMap<String, Json>, RpcError> {
    let Some(given) = params.given("inputResponses") else {
        return Ok(HashMap::new());
    };
    let wrong = || RpcError::invalid_params("inputResponses must be an object");
    let fields = given.fields().ok_or_else(wrong)?;
    let responses = fields.iter().filter_map(|(key, raw)| {
        let json = given.part(raw);
        json.is_object().then(|| (key.to_owned(), json))
    });
    Ok(responses.collect())
}

fn unknown_state() -> RpcError {
    let message = "This requestState is not known: it was used, or its time is up, or the gateway was started anew. Repeat the call without it";
    RpcError::invalid_params(message)
}

#[cfg(test)]
mod tests;
