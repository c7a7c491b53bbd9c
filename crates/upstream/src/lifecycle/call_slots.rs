//! Slots for the calls that a server gets at the same time.

use std::fmt;
use std::sync::Arc;

use mcpproxy_policy::{Caller, Operation, Permit};
use mcpproxy_wire::{CallResult, JsonObject};
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::readiness::Need;
use super::shared::SharedUpstream;
use crate::CallError;
use crate::client::ClientLink;
use crate::protocol::connection::UpstreamConnection;
use crate::transport::builtin;
use crate::transport::request::OutgoingParams;

/// Slot among the calls that a server gets at the same time.
///
/// Taken before a call is decided on: a caller may wait for it for long, and what the server says of
/// its tools can change meanwhile.
pub struct CallSlot<'a> {
    upstream: &'a SharedUpstream,
    _slot: SemaphorePermit<'a>,
    /// Whether the call may change the server's tools.
    may_change: bool,
}

impl<'a> CallSlot<'a> {
    /// Waits for a free slot.
    pub(crate) async fn acquire(
        upstream: &'a SharedUpstream,
        deadline: Instant,
    ) -> Result<Self, CallError> {
        let started = Instant::now();
        match timeout_at(deadline, upstream.slots.acquire()).await {
            Ok(Ok(slot)) => {
                upstream.touch();
                Ok(Self {
                    upstream,
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

    /// Calls the tool the permit names.
    ///
    /// Nothing is called twice: a call is repeated only where it was not sent, or may be repeated and
    /// the server is still there.
    ///
    /// A dropped future takes the call back as far as that is possible: the server is told
    /// that nobody waits any more.
    pub async fn call(
        mut self,
        permit: &Permit,
        arguments: &JsonObject,
        caller: &Arc<Caller>,
        request_id: Uuid,
        client: Option<&Arc<ClientLink>>,
        deadline: impl Into<Instant>,
    ) -> Result<CallResult, CallError> {
        let (deadline, name) = (deadline.into(), permit.tool());
        let SharedUpstream {
            spec, readiness, ..
        } = self.upstream;
        if permit.server() != &*spec.name {
            return Err(CallError::unavailable(format!(
                "the permit is for server '{}' and this is '{}'",
                permit.server(),
                spec.name
            )));
        }
        self.may_change = permit.operation() != Operation::Read;
        let attempt = async |connection: &UpstreamConnection| {
            if let Some(built_in) = connection.built_in() {
                let answer = built_in.call(name, arguments, caller, request_id);
                return builtin::wait_for(answer, deadline).await;
            }
            let params = OutgoingParams::CallTool { name, arguments };
            connection.call(params, client, deadline).await
        };
        let live = readiness.wait(Need::ConnectionAfter(0), deadline).await?;
        let mut response = attempt(&live.connection).await;
        match response {
            // Nothing was sent, so repeating it cannot do anything twice.
            Err(CallError::Disconnected { sent: false, .. }) => {
                let next = Need::ConnectionAfter(live.number);
                let next = readiness.wait(next, deadline).await?;
                if next.edition != live.edition {
                    // The call was decided on with annotations that may no longer hold.
                    return Err(CallError::unavailable(
                        "the server was connected anew and its tools have changed, nothing was called: decide again",
                    ));
                }
                response = attempt(&next.connection).await;
            }
            // The server is still there, only its response got lost on the way. A program that died
            // over a call is not asked the same thing again.
            Err(CallError::Disconnected { sent: true, .. })
                if permit.may_repeat() && live.connection.outlives_a_call() =>
            {
                response = attempt(&live.connection).await;
            }
            _ => {}
        }
        let result = response.map_err(|error| error.masked(&self.upstream.mask))?;
        CallResult::of(result)
            .ok_or_else(|| CallError::malformed("the result of the call is not an object"))
    }
}

impl fmt::Debug for CallSlot<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallSlot")
            .field("upstream", &self.upstream.spec.name)
            .finish_non_exhaustive()
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        self.upstream.touch();
        if self.may_change {
            self.upstream.readiness.mark_stale_unless_announced();
        }
    }
}
