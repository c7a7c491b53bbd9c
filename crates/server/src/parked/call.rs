//! One call that a server has something to ask or to tell for: heard by its client, or parked.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_gateway::client::{ClientMessage, ClientRequest};
use mcpproxy_wire::Json;
use mcpproxy_wire::input::input_required;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, RpcError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::{Binding, Entry, MOST_PARKED, Parked, Resume};
use crate::asked::{too_late, unanswered};
use crate::relay::{Running, Step, Told, told};

/// The most questions that one call has open; beyond it the server is told that it is too much.
const MOST_ASKS: usize = 64;

const STOPPING: &str = "The gateway is stopping, so nobody can answer any more";

/// A call, with the questions that are open, each under the key that the client knows it by.
pub(super) struct Call {
    table: Arc<Parked>,
    running: Running,
    binding: Arc<Binding>,
    limit: Duration,
    asks: Vec<(String, ClientRequest)>,
    asked: u64,
}

/// Why a client does not hear of a call any more.
enum Heard {
    /// The call ended, or the client went away.
    Everything,
    /// There are questions for it.
    Questions,
}

impl Call {
    pub(super) fn new(
        table: Arc<Parked>,
        running: Running,
        binding: Binding,
        limit: Duration,
    ) -> Self {
        Self {
            table,
            running,
            binding: Arc::new(binding),
            limit,
            asks: Vec::new(),
            asked: 0,
        }
    }

    /// Goes on until the call ends, or is given up; then the work is dropped.
    pub(super) async fn run(mut self, first: ClientMessage, mut out: mpsc::Sender<Told>) {
        let mut waiting = VecDeque::new();
        self.take(first, &mut waiting);
        while let Heard::Questions = self.tell(&out, std::mem::take(&mut waiting)).await {
            let Some(next) = self.ask(out).await else {
                return;
            };
            out = next;
        }
    }

    /// Tells the client what there is to tell, up to the answer or the first question.
    async fn tell(&mut self, out: &mpsc::Sender<Told>, mut waiting: VecDeque<String>) -> Heard {
        loop {
            if !self.asks.is_empty() {
                while let Some(event) = self.running.queued() {
                    self.take(event, &mut waiting);
                }
                return flush(out, waiting, Heard::Questions).await;
            }
            let has_room = waiting.is_empty();
            tokio::select! {
                () = out.closed() => return Heard::Everything,
                Ok(room) = out.reserve(), if !has_room => {
                    if let Some(message) = waiting.pop_front() {
                        room.send(Told::Message(message));
                    }
                }
                step = self.running.next(has_room) => match step {
                    Step::Event(event) => self.take(event, &mut waiting),
                    Step::Done(result) => {
                        while let Some(event) = self.running.queued() {
                            self.take(event, &mut waiting);
                        }
                        flush(out, waiting, Heard::Everything).await;
                        let _ = out.send(Told::Answer(result)).await;
                        return Heard::Everything;
                    }
                }
            }
        }
    }

    fn take(&mut self, event: ClientMessage, waiting: &mut VecDeque<String>) {
        match event {
            ClientMessage::Notification(notice) => waiting.push_back(told(&notice)),
            ClientMessage::Request(ask) if self.table.stopping.is_cancelled() => {
                unanswered(ask, STOPPING)
            }
            ClientMessage::Request(ask) if self.asks.len() >= MOST_ASKS => {
                let why = format!("The client is asked {MOST_ASKS} other questions already");
                ask.respond(Err(RpcError::new(INTERNAL_ERROR, why)));
            }
            ClientMessage::Request(ask) => {
                self.asked += 1;
                self.asks.push((format!("ask-{}", self.asked), ask));
            }
        }
    }

    /// Asks the client what is open, and waits for it to come back with all answers, as often as
    /// it takes. Gives who hears of the call then; nothing if the call is over.
    async fn ask(&mut self, mut out: mpsc::Sender<Told>) -> Option<mpsc::Sender<Told>> {
        let deadline = Instant::now() + self.limit;
        loop {
            self.asks.retain(|(_, ask)| !ask.is_withdrawn());
            if self.asks.is_empty() {
                return Some(out);
            }
            let Some((entry, resumed)) = self.table.enter(&self.binding) else {
                self.refuse();
                return Some(out);
            };
            let asks = self.asks.iter();
            let asks = asks.map(|(key, ask)| (&**key, ask.kind.method(), &ask.params));
            let answer = input_required(asks, &entry.state);
            // A client that closed its request in this moment has called the call off.
            out.send(Told::Answer(Ok(answer))).await.ok()?;
            drop(out);
            let resume = self.park(entry, resumed, deadline).await?;
            self.answer(resume.responses);
            out = resume.out;
        }
    }

    /// Works on until the client comes back. After its time nobody waits for it, and the call goes
    /// on to its end without it.
    async fn park(
        &mut self,
        entry: Entry,
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
                    if entry.leave() {
                        self.finish_alone().await;
                        return None;
                    }
                    return resumed.await.ok();
                }
                step = self.running.next(true), if !is_done => match step {
                    // There is nobody to be told.
                    Step::Event(ClientMessage::Notification(_)) => {}
                    Step::Event(event @ ClientMessage::Request(_)) => self.take(event, &mut VecDeque::new()),
                    Step::Done(result) => {
                        self.running.finished(result);
                        is_done = true;
                    }
                }
            }
        }
    }

    fn answer(&mut self, mut responses: HashMap<String, Json>) {
        for (key, ask) in std::mem::take(&mut self.asks) {
            match responses.remove(&key) {
                Some(response) => ask.respond(Ok(response)),
                None => self.asks.push((key, ask)),
            }
        }
    }

    fn refuse(&mut self) {
        let why = format!(
            "{MOST_PARKED} calls wait for answers of their clients already, so this question cannot be asked; try again later"
        );
        for (_, ask) in self.asks.drain(..) {
            ask.respond(Err(RpcError::new(INTERNAL_ERROR, &*why)));
        }
    }

    async fn finish_alone(&mut self) {
        let why = too_late(self.limit);
        for (_, ask) in self.asks.drain(..) {
            unanswered(ask, &why);
        }
        loop {
            tokio::select! {
                () = self.table.stopping.cancelled() => return,
                step = self.running.next(true) => match step {
                    Step::Event(ClientMessage::Request(ask)) => unanswered(ask, &why),
                    Step::Event(ClientMessage::Notification(_)) => {}
                    Step::Done(_) => return,
                }
            }
        }
    }
}

/// Sends all messages, and says what is next: nothing, if nobody hears them.
async fn flush(out: &mpsc::Sender<Told>, waiting: VecDeque<String>, next: Heard) -> Heard {
    for message in waiting {
        if out.send(Told::Message(message)).await.is_err() {
            return Heard::Everything;
        }
    }
    next
}
