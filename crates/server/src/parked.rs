//! Calls whose servers ask clients that cannot be sent requests.
//!
//! Such a client gets its questions as the result of its request and repeats the request with the
//! answers. Until then the call is parked: it is still open at its server, and known here by a
//! state that nobody can guess, for one use and only for the very request it was given to.

mod call;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_gateway::client::ClientMessage;
use mcpproxy_policy::{Caller, Rights};
use mcpproxy_wire::Json;
use mcpproxy_wire::json::{Fields, decode_for_display};
use mcpproxy_wire::rpc::{INVALID_PARAMS, RpcError};
use mcpproxy_wire::stateless::Params;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::endpoint::Endpoint;
use crate::relay::{Running, Told, WAITING_MESSAGES};
use crate::state;
use call::Call;

/// The most calls that are parked at a time; beyond it servers are told that they get no answer.
const MOST_PARKED: usize = 1024;

/// All parked calls.
#[derive(Debug)]
pub(crate) struct Parked {
    places: Mutex<HashMap<String, Place>>,
    tasks: TaskTracker,
    /// Cancelled when nobody can carry a call on any more.
    stopping: CancellationToken,
}

/// Where a parked call is found.
#[derive(Debug)]
struct Place {
    binding: Arc<Binding>,
    resume: oneshot::Sender<Resume>,
}

/// The answers that a call goes on with, and who hears of it from now on.
#[derive(Debug)]
struct Resume {
    responses: HashMap<String, Json>,
    out: mpsc::Sender<Told>,
}

/// What a request has in common with the one it repeats.
#[derive(Debug, PartialEq)]
pub(crate) struct Binding {
    rights: Rights,
    client: (Option<String>, Option<String>),
    endpoint: Endpoint,
    method: String,
    /// What is called, with which arguments.
    params: Value,
}

// === impl Parked ===

impl Parked {
    /// No calls yet; those that are parked end with `stopping`.
    pub(crate) fn new(stopping: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            places: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping,
        })
    }

    /// Goes on with a request whose server has something for its client. Dropping what this gives
    /// drops the work; its answer may be that input is required, and then the call is parked.
    pub(crate) fn hold(
        self: &Arc<Self>,
        first: ClientMessage,
        running: Running,
        binding: Binding,
        limit: Duration,
    ) -> mpsc::Receiver<Told> {
        let (out, told) = mpsc::channel(WAITING_MESSAGES);
        let call = Call::new(Arc::clone(self), running, binding, limit);
        self.tasks.spawn(call.run(first, out));
        told
    }

    /// Carries a parked call on. What is refused leaves it as it is.
    pub(crate) fn resume(
        &self,
        state: &str,
        binding: &Binding,
        params: &Params<'_>,
    ) -> Result<mpsc::Receiver<Told>, RpcError> {
        let responses = responses(params)?;
        let place = {
            let mut places = self.lock();
            let place = places.get(state).ok_or_else(unknown_state)?;
            if *place.binding != *binding {
                let message = "This requestState belongs to another request: repeat the one that it was given to, with nothing but inputResponses and requestState added";
                return Err(RpcError::new(INVALID_PARAMS, message));
            }
            places.remove(state).ok_or_else(unknown_state)?
        };
        let (out, told) = mpsc::channel(WAITING_MESSAGES);
        let resume = Resume { responses, out };
        place.resume.send(resume).map_err(|_| unknown_state())?;
        Ok(told)
    }

    /// Waits for the end of all calls, after `stopping` was cancelled.
    pub(crate) async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// A new state for a call, and what carries it on; nothing if there are too many.
    fn enter(
        self: &Arc<Self>,
        binding: &Arc<Binding>,
    ) -> Option<(Entry, oneshot::Receiver<Resume>)> {
        let (resume, resumed) = oneshot::channel();
        let mut places = self.lock();
        if places.len() >= MOST_PARKED {
            return None;
        }
        let state = state::new();
        let place = Place {
            binding: Arc::clone(binding),
            resume,
        };
        places.insert(state.clone(), place);
        drop(places);
        let entry = Entry {
            table: Arc::clone(self),
            state,
        };
        Some((entry, resumed))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a call in the table, until this is dropped.
struct Entry {
    table: Arc<Parked>,
    state: String,
}

impl Entry {
    /// Gives the place up; false if somebody just carries the call on.
    fn leave(&self) -> bool {
        self.table.lock().remove(&self.state).is_some()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.leave();
    }
}

// === impl Binding ===

impl Binding {
    /// What holds a request and those that repeat it together.
    pub(crate) fn new(
        caller: &Caller,
        endpoint: &Endpoint,
        method: &str,
        params: &Params<'_>,
    ) -> Self {
        let repeated = |name: &str| !["_meta", "inputResponses", "requestState"].contains(&name);
        let params: Map<String, Value> = params
            .fields
            .iter()
            .filter(|(name, _)| repeated(name))
            .map(|(name, raw)| (name.to_owned(), decode_for_display(raw.get())))
            .collect();
        Self {
            rights: caller.rights,
            client: (caller.client_name.clone(), caller.client_version.clone()),
            endpoint: endpoint.clone(),
            method: method.to_owned(),
            params: Value::Object(params),
        }
    }
}

fn responses(params: &Params<'_>) -> Result<HashMap<String, Json>, RpcError> {
    let Some(given) = params.fields.given("inputResponses") else {
        return Ok(HashMap::new());
    };
    let fields: Fields<'_> = serde_json::from_str(given.get())
        .map_err(|_| RpcError::new(INVALID_PARAMS, "inputResponses must be an object"))?;
    let kept = fields.iter().filter_map(|(key, raw)| {
        let json = Json::parse(raw.get().to_owned()).ok()?;
        json.is_object().then(|| (key.to_owned(), json))
    });
    Ok(kept.collect())
}

fn unknown_state() -> RpcError {
    let message = "This requestState is not known: it was used, or its time is up, or the gateway was started anew. Repeat the call without it";
    RpcError::new(INVALID_PARAMS, message)
}

#[cfg(test)]
mod tests;
