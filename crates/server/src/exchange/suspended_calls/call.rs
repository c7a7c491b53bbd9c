//! One call of a stateless client whose upstream has something for it: read by the client, or suspended.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_gateway::client::{ClientMessage, ClientRequest};
use mcpproxy_wire::Json;
use mcpproxy_wire::input_required::input_required;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::{Binding, MOST_SUSPENDED, Resume, SuspendedCalls, SuspendedPlace};
use crate::exchange::client_requests::{answer_for_client, refuse_for_client, too_late};
use crate::exchange::reply::Outbound;
use crate::exchange::running_call::{CallStep, RunningCall, notification};

/// Most client requests that one call has open; beyond it the server is told that it is too much.
const MOST_REQUESTS: usize = 64;

const STOPPING: &str = "The gateway is stopping, so nobody can answer any more";

/// Call with its open client requests, each under the key that the client knows it by.
pub(super) struct SuspendableCall {
    pub(super) table: Arc<SuspendedCalls>,
    pub(super) call: RunningCall,
    pub(super) binding: Arc<Binding>,
    pub(super) limit: Duration,
    pub(super) open: Vec<(String, ClientRequest)>,
    /// Number of client requests so far.
    pub(super) requests: u64,
}

impl SuspendableCall {
    /// Goes on until the call ends, or is given up; then the call is dropped.
    pub(super) async fn run(mut self, first: ClientMessage, mut out: mpsc::Sender<Outbound>) {
        let mut waiting = VecDeque::new();
        self.take(first, &mut waiting);
        while let Some(()) = self.deliver(&out, std::mem::take(&mut waiting)).await {
            let Some(next) = self.require_input(out).await else {
                return;
            };
            out = next;
        }
    }

    /// Sends the client what there is, up to the first client request; nothing more is to be done
    /// where the call ended, or the client went away.
    async fn deliver(
        &mut self,
        out: &mpsc::Sender<Outbound>,
        mut waiting: VecDeque<String>,
    ) -> Option<()> {
        loop {
            if !self.open.is_empty() {
                return self.flush(out, waiting).await;
            }
            let has_room = waiting.is_empty();
            tokio::select! {
                () = out.closed() => return None,
                Ok(room) = out.reserve(), if !has_room => {
                    if let Some(message) = waiting.pop_front() {
                        room.send(Outbound::Message(message));
                    }
                }
                step = self.call.next(has_room) => match step {
                    CallStep::Message(message) => self.take(message, &mut waiting),
                    CallStep::Done(result) => {
                        self.flush(out, waiting).await?;
                        let _ = out.send(Outbound::Result(result)).await;
                        return None;
                    }
                }
            }
        }
    }

    /// Sends all messages, also those that are only queued; nothing if nobody reads them.
    async fn flush(
        &mut self,
        out: &mpsc::Sender<Outbound>,
        mut waiting: VecDeque<String>,
    ) -> Option<()> {
        while let Some(message) = self.call.messages.queued() {
            self.take(message, &mut waiting);
        }
        for message in waiting {
            out.send(Outbound::Message(message)).await.ok()?;
        }
        Some(())
    }

    fn take(&mut self, message: ClientMessage, waiting: &mut VecDeque<String>) {
        match message {
            ClientMessage::Notification(notice) => waiting.push_back(notification(&notice)),
            ClientMessage::Request(request) if self.table.stopping.is_cancelled() => {
                answer_for_client(request, STOPPING);
            }
            ClientMessage::Request(request) if self.open.len() >= MOST_REQUESTS => {
                let why =
                    format!("The client has {MOST_REQUESTS} other requests to answer already");
                refuse_for_client(request, &why);
            }
            ClientMessage::Request(request) => {
                self.requests += 1;
                self.open.push((format!("ask-{}", self.requests), request));
            }
        }
    }

    /// Sends the open client requests as the result, and waits for the client to come back with all
    /// responses, as often as it takes. Gives where messages go then; nothing if the call is over.
    async fn require_input(
        &mut self,
        mut out: mpsc::Sender<Outbound>,
    ) -> Option<mpsc::Sender<Outbound>> {
        let deadline = Instant::now() + self.limit;
        loop {
            self.open.retain(|(_, request)| !request.is_withdrawn());
            if self.open.is_empty() {
                return Some(out);
            }
            let Some((place, resumed)) = self.table.suspend(&self.binding) else {
                self.refuse();
                return Some(out);
            };
            let requests = self.open.iter();
            let requests =
                requests.map(|(key, request)| (&**key, request.kind.method(), &request.params));
            let result = input_required(requests, &place.state);
            // A client that closed its request in this moment has cancelled the call.
            out.send(Outbound::Result(Ok(result.into()))).await.ok()?;
            drop(out);
            let resume = self.wait_for_client(place, resumed, deadline).await?;
            self.respond(resume.responses);
            out = resume.out;
        }
    }

    /// Works on until the client comes back. After its time nobody waits for it, and the call goes
    /// on to its end without it.
    async fn wait_for_client(
        &mut self,
        place: SuspendedPlace,
        mut resumed: oneshot::Receiver<Resume>,
        deadline: Instant,
    ) -> Option<Resume> {
        let mut is_done = false;
        loop {
            tokio::select! {
                biased;
                Ok(resume) = &mut resumed => return Some(resume),
                () = self.table.stopping.cancelled() => return None,
                () = tokio::time::sleep_until(deadline) => {
                    if place.leave() {
                        self.finish_alone().await;
                        return None;
                    }
                    return resumed.await.ok();
                }
                step = self.call.next(true), if !is_done => match step {
                    // There is nobody to be notified.
                    CallStep::Message(ClientMessage::Notification(_)) => {}
                    CallStep::Message(message) => self.take(message, &mut VecDeque::new()),
                    CallStep::Done(result) => {
                        // It has to wait for the client first.
                        self.call.result = Some(result);
                        is_done = true;
                    }
                }
            }
        }
    }

    fn respond(&mut self, mut responses: HashMap<String, Json>) {
        for (key, request) in std::mem::take(&mut self.open) {
            match responses.remove(&key) {
                Some(response) => request.respond(Ok(response)),
                None => self.open.push((key, request)),
            }
        }
    }

    fn refuse(&mut self) {
        let why = format!(
            "{MOST_SUSPENDED} calls wait for answers of their clients already, so this client request cannot be sent; try again later"
        );
        for (_, request) in self.open.drain(..) {
            refuse_for_client(request, &why);
        }
    }

    async fn finish_alone(&mut self) {
        let why = too_late(self.limit);
        for (_, request) in self.open.drain(..) {
            answer_for_client(request, &why);
        }
        loop {
            tokio::select! {
                () = self.table.stopping.cancelled() => return,
                step = self.call.next(true) => match step {
                    CallStep::Message(ClientMessage::Request(request)) => answer_for_client(request, &why),
                    CallStep::Message(ClientMessage::Notification(_)) => {}
                    CallStep::Done(_) => return,
                }
            }
        }
    }
}
