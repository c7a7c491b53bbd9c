//! Requests that servers work on, over HTTP: the answer is plain, unless there is something for
//! the client before it; then it becomes the last event of a stream.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::StatusCode;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::{Id, KeptId, RpcError};
use mcpproxy_wire::sse;
use mcpproxy_wire::stateless::Params;
use tokio::sync::mpsc;

use crate::form::{Form, answered, empty, event_stream};
use crate::message::{self, Context};
use crate::parked::{Binding, Parked};
use crate::peer::{Peer, link_of};
use crate::relay::{Conversation, Running, Step, Told, WAITING_MESSAGES};
use crate::sessions::Session;
use crate::state;
use crate::stateless::{BEAT, KEEP_ALIVE};

/// What became of a request up to now.
pub(crate) enum Progress {
    /// All of it.
    Done(Result<String, RpcError>),
    /// It goes on elsewhere, and this is heard of it.
    Heard(mpsc::Receiver<Told>),
}

/// Answers a request of a session.
pub(crate) async fn in_session(
    context: Context<'_>,
    session: &Session,
    form: Form,
    (id, method, params): (Id<'_>, &str, &Params<'_>),
) -> Response {
    let has_stream = form.has_stream();
    let entered = session.in_flight.enter(id.text());
    let mut running = context.work_in_session(&session.peer, method, params, has_stream);
    let first = loop {
        match entered.unless_called_off(running.next(true)).await {
            None => return empty(StatusCode::ACCEPTED),
            Some(Step::Done(result)) => return plain(form, id, result),
            Some(Step::Event(first)) if has_stream => break first,
            // Nothing was declared that anything could be told or asked for.
            Some(Step::Event(_)) => {}
        }
    };
    let conversation = Conversation {
        running,
        peer: Arc::clone(&session.peer),
        limit: context.gateway.settings().input_timeout,
    };
    let (out, told) = mpsc::channel(WAITING_MESSAGES);
    // It must not depend on how fast its client reads, but ends when nobody does.
    tokio::spawn(async move {
        let held = conversation.hold(first, out);
        entered.unless_called_off(held).await;
    });
    written(form, id, Progress::Heard(told), plain).await
}

/// The response to a request, whose answer is written by `plain` unless something comes before it.
pub(crate) async fn written(
    form: Form,
    id: Id<'_>,
    progress: Progress,
    plain: impl Fn(Form, Id<'_>, Result<String, RpcError>) -> Response,
) -> Response {
    let mut told = match progress {
        Progress::Done(result) => return plain(form, id, result),
        Progress::Heard(told) => told,
    };
    match told.recv().await {
        Some(Told::Message(message)) => streamed(&message, id.keep(), told),
        Some(Told::Answer(result)) => plain(form, id, result),
        None => empty(StatusCode::ACCEPTED),
    }
}

fn plain(form: Form, id: Id<'_>, result: Result<String, RpcError>) -> Response {
    answered(form, Some(message::encode(id, result)))
}

/// A stream that begins with a message and ends with the answer.
fn streamed(first: &str, id: KeptId, told: mpsc::Receiver<Told>) -> Response {
    let event = |text: &str| Bytes::from(sse::encode(text));
    let first = stream::iter([Ok(event(first))]);
    let rest = stream::unfold((told, id), move |(mut told, id)| async move {
        let next = match tokio::time::timeout(KEEP_ALIVE, told.recv()).await {
            // Somebody may take his time to answer; until then the connection must not look dead.
            Err(_) => BEAT,
            Ok(Some(Told::Message(message))) => event(&message),
            Ok(Some(Told::Answer(result))) => event(&message::encode(id.id(), result)),
            Ok(None) => return None,
        };
        Some((Ok::<_, Infallible>(next), (told, id)))
    });
    event_stream(Body::from_stream(first.chain(rest)))
}

impl Context<'_> {
    /// The work of a request in a session.
    pub(crate) fn work_in_session(
        self,
        peer: &Peer,
        method: &str,
        params: &Params<'_>,
        has_stream: bool,
    ) -> Running {
        let link = if has_stream {
            peer.link(params)
        } else {
            peer.unreachable()
        };
        let (client, events) = link.open();
        Running::new(self.work(Protocol::Session, method, params, client), events)
    }

    /// Works on a request that stands for itself, until it is done or there is something for its
    /// client; or carries one on that was parked.
    pub(crate) async fn work_by_itself(
        self,
        parked: &Arc<Parked>,
        method: &str,
        params: &Params<'_>,
        has_stream: bool,
    ) -> Progress {
        let binding = || Binding::new(self.caller, self.endpoint, method, params);
        if let Some(state) = state::own(params) {
            return match parked.resume(&state, &binding(), params) {
                Ok(told) => Progress::Heard(told),
                Err(error) => Progress::Done(Err(error)),
            };
        }
        let link = link_of(params, has_stream);
        let (client, events) = link.open();
        let work = self.work(Protocol::Stateless, method, params, client);
        let mut running = Running::new(work, events);
        match running.next(true).await {
            Step::Done(result) => Progress::Done(result),
            Step::Event(first) => {
                let limit = self.gateway.settings().input_timeout;
                Progress::Heard(parked.hold(first, running, binding(), limit))
            }
        }
    }
}
