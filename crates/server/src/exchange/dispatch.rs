//! The one table of methods. Every adapter ends here; none knows a method by name.
//!
//! There are two protocols. In the session protocol `initialize` opens a session that later messages
//! belong to; in the stateless one every request carries its own context. Both are served at the same
//! time in the same place.

use std::sync::Arc;

use mcpproxy_gateway::Gateway;
use mcpproxy_wire::initialize::{self, ClientHello};
use mcpproxy_wire::rpc::{self, METHOD_NOT_FOUND, RpcError};
use mcpproxy_wire::{ListedKind, Method, Protocol, RequestId, ResultText, method, stateless};
use tokio_util::sync::CancellationToken;

use super::change_feed::{self, ChangeFeed};
use super::client_link::client_link;
use super::endpoint::Endpoint;
use super::in_flight::InFlight;
use super::prompts_resources;
use super::reply::{Delivery, NewSession, Outbound, Reply};
use super::request::{Incoming, Request};
use super::request_state;
use super::running_call::{CallFuture, RunningCall, SessionCall};
use super::session::Session;
use super::suspended_calls::{Binding, SuspendedCalls};
use super::tools;

/// Version that we give of ourselves.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Exchange with clients: what requests are answered with, and what all of them share.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) gateway: Arc<Gateway>,
    /// Calls of stateless clients that wait for their input.
    pub(crate) suspended: Arc<SuspendedCalls>,
    /// Cancelled when no client can be answered any more.
    pub(crate) closing: CancellationToken,
    /// Cancelled when the sessions of a stdio client end. Those of HTTP end with their credentials, and outlive the end
    /// of listening, so that what a client was asked can still be answered then.
    pub(crate) sessions_end: Option<CancellationToken>,
}

/// Text of the response to a request.
pub(crate) fn response(id: &RequestId, result: Result<ResultText, RpcError>) -> String {
    match result {
        Ok(result) => mcpproxy_wire::response::write(id.id(), &result),
        Err(error) => rpc::error_response(Some(id.id()), &error),
    }
}

/// Takes a message of a session that wants no answer; `in_flight` has the requests that it may cancel.
pub(crate) fn receive(session: &Session, in_flight: &InFlight, message: Incoming) {
    match message {
        Incoming::Notification { method, params } if method == method::CANCELLED => {
            in_flight.cancel(&params);
        }
        Incoming::Response { id, outcome } => {
            session.client_requests.respond(id.as_ref(), outcome);
        }
        Incoming::Notification { .. } | Incoming::Request(_) => {}
    }
}

/// Message that ends a stream of changes.
pub fn end_of_changes(id: &RequestId) -> String {
    rpc::response(id.id(), &stateless::subscription_ended(id.id(), VERSION))
}

impl Exchange {
    /// Exchange in front of a gateway, until `closing` is cancelled.
    pub(crate) fn new(gateway: Arc<Gateway>, closing: CancellationToken) -> Self {
        Self {
            gateway,
            suspended: SuspendedCalls::new(closing.clone()),
            closing,
            sessions_end: None,
        }
    }

    /// Answers a request.
    pub(crate) async fn dispatch(&self, request: Request, delivery: Delivery) -> Reply {
        let result = match (request.method, request.protocol, &request.session) {
            (Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead, ..) => {
                return self.run_call(request, delivery).await;
            }
            // All that is no call is boxed, so that the future of a call stays small.
            (Method::Initialize, Protocol::Session, _) => {
                return Box::pin(self.open_session(&request)).await;
            }
            (Method::SubscriptionsListen, Protocol::Stateless, _) => {
                return Box::pin(self.listen(request, delivery)).await;
            }
            (Method::ServerDiscover, Protocol::Stateless, _) => {
                Ok(discover(&request, &self.gateway))
            }
            (Method::Ping, Protocol::Session, _) => Ok("{}".to_owned()),
            (Method::LoggingSetLevel, Protocol::Session, Some(session)) => {
                session.set_log_level(&request.params)
            }
            (Method::ResourcesSubscribe, Protocol::Session, Some(session)) => {
                Box::pin(prompts_resources::subscribe(session, &request)).await
            }
            (Method::ResourcesUnsubscribe, Protocol::Session, Some(session)) => {
                prompts_resources::unsubscribe(session, &request.params)
            }
            (Method::CompletionComplete, ..) => {
                Box::pin(prompts_resources::complete(&self.gateway, &request)).await
            }
            _ => match ListedKind::listed_by(request.method) {
                Some(kind) => {
                    Box::pin(prompts_resources::list(&self.gateway, &request, kind)).await
                }
                None => Err(unknown_method(&request.method_name)),
            },
        };
        Reply::Result(result.map(ResultText::from))
    }

    /// Runs a call until it is done, or its upstream has something for the client; or resumes one
    /// that was suspended.
    async fn run_call(&self, request: Request, delivery: Delivery) -> Reply {
        if request.protocol == Protocol::Stateless
            && let Some(state) = request_state::own(&request.params)
        {
            let binding = Binding::of(&request);
            let resumed = self.suspended.resume(&state, &binding, &request.params);
            return resumed.map_or_else(|error| Reply::Result(Err(error)), Reply::messages);
        }
        let (client, mut messages) = client_link(&request, delivery).open();
        // A call may be suspended for long, so it holds no more of its request than it needs.
        let (gateway, of_call) = (Arc::clone(&self.gateway), request.for_call());
        let mut future: CallFuture = match request.method {
            Method::ToolsCall => {
                Box::pin(async move { tools::call(&gateway, &of_call, &client).await })
            }
            _ => Box::pin(async move {
                let fetched = prompts_resources::fetch(&gateway, &of_call, &client).await;
                fetched.map(ResultText::from)
            }),
        };
        let has_way_back = delivery == Delivery::Stream || request.session.is_none();
        // Most calls end here, without a message in between.
        let (first, result) = loop {
            let (message, result) = tokio::select! {
                message = messages.next() => (Some(message), None),
                result = &mut future => (messages.queued(), Some(result)),
            };
            match (message, result) {
                (Some(first), result) if has_way_back => break (first, result),
                (_, Some(result)) => return Reply::Result(result),
                // Nothing was declared that anything could be sent or asked for.
                (_, None) => {}
            }
        };
        let call = RunningCall {
            future,
            messages,
            result,
        };
        let limit = self.gateway.settings().input_timeout;
        let Some(session) = &request.session else {
            let binding = Binding::of(&request);
            return Reply::messages(self.suspended.run(first, call, binding, limit));
        };
        let session = Arc::clone(session);
        let call = SessionCall {
            call,
            session,
            limit,
        };
        Reply::driven(|out| call.run(first, out))
    }

    /// Opens a session for the client that says hello.
    async fn open_session(&self, request: &Request) -> Reply {
        let Some(hello) = ClientHello::read(|name| request.params.given(name)) else {
            let error = RpcError::invalid_params("initialize needs a protocolVersion");
            return Reply::Result(Err(error));
        };
        let endpoint = &request.endpoint;
        let caller = &request.caller;
        let changes = ChangeFeed::of_session(endpoint, &self.gateway, &caller.rights).await;
        let ends_with = self.sessions_end.as_ref().unwrap_or(&request.ended);
        let session = Session::new(
            hello,
            (caller.rights.clone(), caller.peer),
            endpoint.clone(),
            changes,
            ends_with.child_token(),
        );
        let instructions = endpoint.instructions(&self.gateway, &caller.rights);
        let announces = endpoint.announces();
        let result = initialize::result(session.revision, VERSION, &instructions, announces);
        Reply::Opened(NewSession {
            session: Arc::new(session),
            result: result.to_string(),
        })
    }

    /// Opens a stream of changes: first what can be expected of it, at last that it ended.
    async fn listen(&self, request: Request, delivery: Delivery) -> Reply {
        if delivery == Delivery::AnswerOnly {
            let message = "This opens a stream: the Accept header must include text/event-stream";
            return Reply::Result(Err(RpcError::new(rpc::INVALID_REQUEST, message)));
        }
        let (endpoint, id, caller) = (&request.endpoint, &request.id, &request.caller);
        let wanted = request.params.given("notifications");
        let opened = change_feed::open_stream(endpoint, &self.gateway, caller, id, wanted).await;
        let (message, feed) = match opened {
            Ok(opened) => opened,
            Err(error) => return Reply::Result(Err(error)),
        };
        let (id, endpoint, closing) = (request.id, request.endpoint, self.closing.clone());
        let (gateway, ended) = (Arc::clone(&self.gateway), request.ended);
        Reply::driven(async move |out| {
            let mut next = message;
            while out.send(Outbound::Message(next)).await.is_ok() {
                let change = tokio::select! {
                    () = out.closed() => return,
                    () = ended.cancelled() => return,
                    () = closing.cancelled() => None,
                    change = feed.next() => Some(change),
                };
                let Some(change) = change.filter(|_| endpoint.is_offered(&gateway)) else {
                    let _ = out.send(Outbound::Message(end_of_changes(&id))).await;
                    return;
                };
                next = change.on_stream(&id);
            }
        })
    }
}

fn discover(request: &Request, gateway: &Gateway) -> String {
    let endpoint = &request.endpoint;
    let instructions = endpoint.instructions(gateway, &request.caller.rights);
    let freshness = Endpoint::instructions_freshness();
    stateless::discovery(VERSION, &instructions, endpoint.announces(), freshness)
}

fn unknown_method(method: &str) -> RpcError {
    let shown: String = method.chars().take(100).collect();
    RpcError::new(METHOD_NOT_FOUND, format!("Method '{shown}' not found"))
}
