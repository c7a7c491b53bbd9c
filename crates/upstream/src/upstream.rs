//! The handle to one upstream.

mod library;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpproxy_policy::{Operation, Permit};
use mcpproxy_wire::{CallResult, Json};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, timeout_at};

use crate::board::{Board, Need};
use crate::shared::Shared;
use crate::stderr::Tail;
use crate::task;
use crate::{CallError, Origin, Runtime, Spec, State};

/// A handle to one upstream. Cloning is cheap; dropping the last one stops the server.
#[derive(Clone)]
pub struct Upstream(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    /// Dropped with the last handle, which the task understands as the wish to stop.
    stop: watch::Sender<Option<Duration>>,
}

/// A place among the calls that a server gets at the same time.
///
/// It is taken before a call is decided on: a caller may wait for it for long, and what the
/// server says of its tools can change meanwhile.
#[derive(Debug)]
pub struct CallSlot<'a> {
    upstream: &'a Upstream,
    _slot: SemaphorePermit<'a>,
    /// Whether the call may change the server's tools.
    may_change: bool,
}

// === impl Upstream ===

impl Upstream {
    /// Starts the upstream's task, which connects at once.
    ///
    /// Must be called within a tokio runtime.
    pub fn start(spec: Spec, runtime: &Runtime) -> Self {
        Self::spawn(spec, runtime, State::Starting)
    }

    /// Starts the upstream's task, which connects on first use.
    ///
    /// For a server whose tools are known from before. Must be called within a tokio runtime.
    pub fn start_on_use(spec: Spec, runtime: &Runtime) -> Self {
        Self::spawn(spec, runtime, State::Idle)
    }

    /// How the upstream is doing.
    pub fn state(&self) -> State {
        self.0.shared.board.look().state.clone()
    }

    /// Waits until the tools the observer knows are the ones the server has now.
    ///
    /// Starts a server that is idle, waits for one that starts, and tries one that failed
    /// once more unless it failed just now. Dropping the future is safe.
    pub async fn fresh(&self, deadline: impl Into<Instant>) -> Result<(), CallError> {
        let shared = &self.0.shared;
        shared.touch();
        shared.board.wait(Need::Listing, deadline.into()).await?;
        Ok(())
    }

    /// Waits for a place among the calls that the server gets at the same time.
    pub async fn call_slot(&self, deadline: impl Into<Instant>) -> Result<CallSlot<'_>, CallError> {
        let started = Instant::now();
        let shared = &*self.0.shared;
        match timeout_at(deadline.into(), shared.slots.acquire()).await {
            Ok(Ok(slot)) => {
                shared.touch();
                Ok(CallSlot {
                    upstream: self,
                    _slot: slot,
                    may_change: false,
                })
            }
            // The semaphore is never closed, so this is the deadline.
            Ok(Err(_)) | Err(_) => Err(CallError::Timeout {
                after: started.elapsed(),
                sent: false,
            }),
        }
    }

    /// Stops the server for good: it has the grace to end by itself. Returns when it is gone.
    pub async fn stop(&self, grace: Duration) {
        self.0.stop.send_replace(Some(grace));
        self.0.shared.board.stopped().await;
    }

    /// The last lines the server wrote to its standard error, secrets hidden.
    pub fn stderr_tail(&self) -> Vec<String> {
        self.0.shared.tail.lines()
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &Arc<str> {
        &self.0.shared.spec.name
    }

    fn spawn(spec: Spec, runtime: &Runtime, state: State) -> Self {
        let slot_count = spec.max_concurrent.clamp(1, Semaphore::MAX_PERMITS);
        let shared = Arc::new(Shared {
            board: Arc::new(Board::new(state)),
            tail: Arc::new(Tail::new(spec.mask())),
            mask: spec.mask(),
            slots: Semaphore::new(slot_count),
            slot_count,
            last_used: Mutex::new(Instant::now()),
            runtime: runtime.clone(),
            spec,
        });
        let (stop, stopping) = watch::channel(None);
        tokio::spawn(task::run(Arc::clone(&shared), stopping));
        Self(Arc::new(Handle { shared, stop }))
    }

    /// Calls through the connection of now, or the next one if that one is gone already.
    async fn call_connected(
        &self,
        permit: &Permit,
        arguments: &str,
        origin: Origin<'_>,
        deadline: Instant,
    ) -> Result<Json, CallError> {
        let (board, tool) = (&self.0.shared.board, permit.tool());
        let live = board.wait(Need::ConnectionAfter(0), deadline).await?;
        let answer = live.connection.call(tool, arguments, origin, deadline);
        let lost = match answer.await {
            // Nothing was sent, so repeating it cannot do anything twice.
            Err(CallError::Disconnected { sent: false, .. }) => live,
            // The server is still there, only its answer got lost on the way. A program that died
            // over a call is not asked the same thing again.
            Err(CallError::Disconnected { sent: true, .. })
                if permit.may_repeat() && live.connection.outlives_a_call() =>
            {
                let again = live.connection.call(tool, arguments, origin, deadline);
                return again.await;
            }
            answer => return answer,
        };
        let next = board
            .wait(Need::ConnectionAfter(lost.number), deadline)
            .await?;
        if next.edition != lost.edition {
            // The call was decided on with annotations that may no longer hold.
            return Err(CallError::unavailable(
                "the server was connected anew and its tools have changed, nothing was called: decide again",
            ));
        }
        let again = next.connection.call(tool, arguments, origin, deadline);
        again.await
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Upstream")
            .field("name", self.name())
            .field("state", &self.state())
            .finish()
    }
}

// === impl CallSlot ===

impl CallSlot<'_> {
    /// Calls the tool the permit names. `arguments` is the text of a JSON object.
    ///
    /// A dropped future takes the call back as far as that is possible: the server is told
    /// that nobody waits any more.
    pub async fn call(
        mut self,
        permit: &Permit,
        arguments: &str,
        origin: Origin<'_>,
        deadline: impl Into<Instant>,
    ) -> Result<CallResult, CallError> {
        let shared = &self.upstream.0.shared;
        if permit.server() != &*shared.spec.name {
            return Err(CallError::unavailable(format!(
                "the permit is for server '{}' and this is '{}'",
                permit.server(),
                shared.spec.name
            )));
        }
        check_object(arguments)?;
        self.may_change = permit.operation() != Operation::Read;
        let answer = self
            .upstream
            .call_connected(permit, arguments, origin, deadline.into())
            .await
            .map_err(|error| error.masked(&shared.mask))?;
        CallResult::parse(answer)
            .ok_or_else(|| CallError::malformed("the result of the call is not an object"))
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        let shared = &self.upstream.0.shared;
        shared.touch();
        if self.may_change {
            shared.board.mark_stale_unless_announced();
        }
    }
}

/// Refuses arguments that are not one JSON object.
///
/// They are put into the message as they are. Text that is more than one value could name
/// another tool there than the one that was permitted.
fn check_object(arguments: &str) -> Result<(), CallError> {
    let is_object = serde_json::from_str::<&RawValue>(arguments)
        .is_ok_and(|value| value.get().starts_with('{'));
    if is_object {
        return Ok(());
    }
    Err(CallError::unavailable(
        "the arguments are not a JSON object, nothing was called",
    ))
}
