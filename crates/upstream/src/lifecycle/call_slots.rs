//! Slots for the calls that a server gets at the same time.

use std::sync::Arc;

use mcpproxy_policy::{Caller, Operation, Permit};
use mcpproxy_wire::{CallResult, Json, JsonObject, RpcResult};
use tokio::time::Instant;

use super::fair_slots::HeldSlot;
use super::readiness::Need;
use super::shared::SharedUpstream;
use crate::call_error::until_deadline;
use crate::client::ClientLink;
use crate::protocol::connection::UpstreamConnection;
use crate::transport::TransportLink;
use crate::transport::request::OutgoingParams;
use crate::{CallError, CallHead, ReadRequest};

/// Slot among the calls that a server gets at the same time.
///
/// Taken before a call is decided on: a caller may wait for it for long, and what the server says of
/// its tools can change meanwhile.
pub struct CallSlot<'a> {
    upstream: &'a SharedUpstream,
    _slot: HeldSlot<'a>,
    /// Whether the call may change the server's tools.
    may_change: bool,
}

impl<'a> CallSlot<'a> {
    /// Waits for a slot of a caller.
    pub(crate) async fn acquire(
        upstream: &'a SharedUpstream,
        caller: &Caller,
        deadline: Instant,
    ) -> Result<Self, CallError> {
        let slot = until_deadline(deadline, false, upstream.slots.acquire(caller)).await;
        // Those before it may wait for the server to start.
        let slot = slot.map_err(|late| upstream.readiness.explained(late))?;
        upstream.touch();
        Ok(Self {
            upstream,
            _slot: slot,
            may_change: false,
        })
    }

    /// Calls the tool the permit names.
    ///
    /// Nothing is called twice, see `SharedUpstream::repeat_on`. A dropped future takes the call back as
    /// far as that is possible: the server is told that nobody waits any more.
    pub async fn call(
        mut self,
        permit: &Permit,
        arguments: &JsonObject,
        head: &CallHead<'_>,
        client: Option<&Arc<ClientLink>>,
        deadline: impl Into<Instant>,
    ) -> Result<CallResult, CallError> {
        let (deadline, name) = (deadline.into(), permit.tool());
        let upstream = self.upstream;
        if permit.server() != &*upstream.spec.name {
            return Err(CallError::unavailable(format!(
                "the permit is for server '{}' and this is '{}'",
                permit.server(),
                upstream.spec.name
            )));
        }
        self.may_change = permit.operation() != Operation::Read;
        if self.may_change {
            upstream.readiness.changes.write_begins();
        }
        let attempt = async |connection: &UpstreamConnection| {
            if let TransportLink::BuiltIn(built_in) = &*connection.link {
                let answer = built_in.call(name, arguments, head);
                let answer = until_deadline(deadline, true, answer).await?;
                return answer.map(RpcResult::unread).map_err(CallError::Rpc);
            }
            let params = OutgoingParams::CallTool {
                name,
                arguments,
                head: Some(head),
            };
            connection.call(params, client, deadline).await
        };
        let live = upstream.readiness.wait(Need::Connection, deadline).await?;
        let mut response = attempt(&live.connection).await;
        if let Err(failure) = &response
            && let Some(next) = upstream
                .repeat_on(&live, failure, permit.may_repeat(), deadline)
                .await?
        {
            if next.edition != live.edition {
                // The call was decided on with annotations that may no longer hold.
                return Err(CallError::unavailable(
                    "the server was connected anew and its tools have changed, nothing was called: decide again",
                ));
            }
            response = attempt(&next.connection).await;
        }
        let result = response.map_err(|error| error.masked(&upstream.mask))?;
        CallResult::of(result)
            .ok_or_else(|| CallError::malformed("the result of the call is not an object"))
    }

    /// Makes a request that reads and nothing else, so one that broke off is repeated where the server
    /// is still there.
    ///
    /// A dropped future takes the request back as far as that is possible.
    pub async fn read(
        self,
        request: &ReadRequest<'_>,
        client: Option<&Arc<ClientLink>>,
        deadline: impl Into<Instant>,
    ) -> Result<Json, CallError> {
        let deadline = deadline.into();
        let upstream = self.upstream;
        let attempt = async |connection: &UpstreamConnection| {
            let params = OutgoingParams::Read(request);
            match request.name() {
                Some(_) => {
                    let response = connection.call(params, client, deadline).await;
                    response.map(RpcResult::into_json)
                }
                // A completion is asked for at every key that is pressed, and relays nothing.
                None => connection.request(params, deadline).await,
            }
        };
        let live = upstream.readiness.wait(Need::Connection, deadline).await?;
        let mut response = attempt(&live.connection).await;
        if let Err(failure) = &response
            && let Some(next) = upstream.repeat_on(&live, failure, true, deadline).await?
        {
            response = attempt(&next.connection).await;
        }
        let result = response.map_err(|error| error.masked(&upstream.mask))?;
        if result.is_object() {
            return Ok(result);
        }
        Err(CallError::malformed("the result is not an object"))
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        self.upstream.touch();
        if self.may_change {
            self.upstream.readiness.changes.write_ended();
            self.upstream.readiness.mark_stale_unless_announced();
        }
    }
}
